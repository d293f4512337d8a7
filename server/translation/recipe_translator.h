// From a TrainRequest to what the core trains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_defaults.h"
#include "mercer/v1/training.pb.h"
#include "server/jobs/job_planner.h"

namespace mercer::server {

// Writes what was decided into the request that left it open, and the scaling of numeric targets. Stored requests of earlier versions,
// which did not know that field, mean none.
void WriteDecisions(const CompletedRecipe& completed, v1::TrainRequest& request);
// What the request says by then that its recipe, which CompleteRecipe has answered, does not say yet: the scaling of targets and the
// kernels. Errors: those of ReadTrainRequest.
absl::Status ReadDecisions(const v1::TrainRequest& request, const LearnerEntry& entry,
                           TrainingRecipe& recipe);
v1::Warning WriteWarning(const TrainingWarning& warning);

// What a client sent, in stored bytes: equal content gives equal bytes. The request_id is left out.
std::string EncodeTrainRequest(const v1::TrainRequest& request);
// Errors: kDataLoss.
absl::StatusOr<v1::TrainRequest> DecodeTrainRequest(std::string_view bytes);

// Translates and validates everything that can be checked without the data. `default_threads` is
// what threads = 0 means. `learners` are those that are told where an unknown one is asked for; none:
// they are not told. Errors: kInvalidArgument that names every bad field with its full path in the
// request.
absl::StatusOr<JobPlan> ReadTrainRequest(const v1::TrainRequest& request,
                                         const LearnerLookup& find_learner, int default_threads,
                                         absl::Span<const LearnerEntry* const> learners = {});

// Rules of labels, request ids and names for people, shared by all requests; violations name
// `field`.
void CheckLabels(const google::protobuf::Map<std::string, std::string>& labels,
                 FieldViolations& violations);
// The rule of a job's labels, of which the server has its own, that of jobs that calls wait for; a training's path that keeps all
// has two for the versions that it makes.
void CheckLabelsOfJob(const google::protobuf::Map<std::string, std::string>& labels,
                      FieldViolations& violations);
void CheckLabelsOfTraining(const google::protobuf::Map<std::string, std::string>& labels,
                           const v1::OptionPath& path, FieldViolations& violations);
void CheckPriority(int32_t priority, FieldViolations& violations);
void CheckRequestId(std::string_view request_id, FieldViolations& violations);
void CheckDisplayName(std::string_view display_name, FieldViolations& violations);
void CheckTimeLimit(const google::protobuf::Duration& limit, const std::string& field,
                    FieldViolations& violations);

}  // namespace mercer::server
