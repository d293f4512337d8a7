// Models by what they hold: of which data, with which words, in which order.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "client/cpp/cli/session.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::client {

// All versions of all models that carry the labels of `filter` and are of its learner (the rest of it is not read), model by model.
absl::StatusOr<std::vector<v1::ModelVersion>> ListAllVersions(Session& session,
                                                              v1::ListModelVersionsRequest filter);

// The first metric of the validation; null when there was none.
const v1::Metric* MainMetric(const v1::ModelVersion& model);

// Whether `text` occurs, in capitals or small letters, in the name, target, learner, labels or description.
bool Mentions(const v1::ModelVersion& model, const std::string& text);

// By "name", "created" (newest first), "gap" (smallest first) or "quality" (the better validation first, models without one
// last); any other order leaves them as they are. Equal ones stay as they were.
void SortModels(const std::string& order, std::vector<v1::ModelVersion>& models);

// Names of the versions that were trained on `dataset` or on one with the same content. A remark, so that errors are no models.
std::vector<std::string> ModelsTrainedOn(Session& session, const std::string& dataset);

// Whether the version `model` was; false after errors.
bool IsTrainedOn(Session& session, const std::string& model, const std::string& dataset);

// Of names of versions, those of one model together: "models/spam (3 versions)", and the name itself where it is the only one.
std::vector<std::string> GroupByModel(const std::vector<std::string>& versions);

// "a, b, c and 4 more"
std::string ShortList(const std::vector<std::string>& names);

}  // namespace mercer::client
