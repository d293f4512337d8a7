#include "client/cpp/cli/model_versions.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include <google/protobuf/util/time_util.h>

#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr size_t kShownNames = 5;

// "models/spam/versions/1" is "models/spam".
std::string ModelOf(const std::string& version) {
  return version.substr(0, version.find("/versions/"));
}

bool WasTrainedOn(const v1::ModelVersion& model, const std::string& dataset,
                  const std::string& digest) {
  const v1::Lineage& lineage = model.lineage();
  for (int i = 0; i < lineage.request().data_size(); ++i) {
    const std::string trained = i < lineage.data_digests_size() ? lineage.data_digests(i) : "";
    // A name may have been given anew, to other data; content is known where both have digests.
    if (trained.empty() || digest.empty() ? lineage.request().data(i).dataset() == dataset
                                          : trained == digest) {
      return true;
    }
  }
  return false;
}

std::string DigestOf(Session& session, const std::string& dataset) {
  const absl::StatusOr<v1::Dataset> found =
      session.client().GetDataset(dataset, v1::DATASET_VIEW_BASIC);
  return found.ok() ? found->digest() : "";
}

// Smaller is better; errors of numbers fall with quality, shares and correlations rise with it.
std::tuple<bool, std::string, double> Rank(const v1::ModelVersion& model) {
  const v1::Metric* const metric = MainMetric(model);
  if (metric == nullptr) {
    return {true, "", 0.0};
  }
  // Without "held_out." or "folds.": both estimate the quality on new rows.
  const std::string kind = metric->name().substr(metric->name().find('.') + 1);
  return {false, kind, absl::EndsWith(kind, "rmse") ? metric->value() : -metric->value()};
}

template <typename Key>
void SortBy(std::vector<v1::ModelVersion>& models, const Key& key) {
  std::stable_sort(
      models.begin(), models.end(),
      [&key](const v1::ModelVersion& a, const v1::ModelVersion& b) { return key(a) < key(b); });
}

}  // namespace

absl::StatusOr<std::vector<v1::ModelVersion>> ListAllVersions(Session& session,
                                                              v1::ListModelVersionsRequest filter) {
  filter.set_model("models/-");
  filter.set_order_by("name");
  return session.client().ListModelVersions(std::move(filter), kMaxListed);
}

// The validation's metrics come before all others.
const v1::Metric* MainMetric(const v1::ModelVersion& model) {
  const bool validated =
      !model.metrics().empty() && (absl::StartsWith(model.metrics(0).name(), "held_out.") ||
                                   absl::StartsWith(model.metrics(0).name(), "folds."));
  return validated ? &model.metrics(0) : nullptr;
}

bool Mentions(const v1::ModelVersion& model, const std::string& text) {
  std::string all = absl::StrCat(model.name(), "\n", model.target(), "\n", model.learner(), "\n",
                                 model.description());
  for (const auto& [name, value] : model.labels()) {
    absl::StrAppend(&all, "\n", name, "=", value);
  }
  return absl::StrContains(absl::AsciiStrToLower(all), absl::AsciiStrToLower(text));
}

void SortModels(const std::string& order, std::vector<v1::ModelVersion>& models) {
  if (order == "name") {
    SortBy(models, [](const v1::ModelVersion& model) { return ModelOf(model.name()); });
  } else if (order == "created") {
    SortBy(models, [](const v1::ModelVersion& model) {
      return -google::protobuf::util::TimeUtil::TimestampToNanoseconds(model.create_time());
    });
  } else if (order == "gap") {
    SortBy(models, [](const v1::ModelVersion& model) { return model.certificate().accuracy(); });
  } else if (order == "quality") {
    SortBy(models, Rank);
  }
}

std::vector<std::string> ModelsTrainedOn(Session& session, const std::string& dataset) {
  const absl::StatusOr<std::vector<v1::ModelVersion>> all = ListAllVersions(session, {});
  if (!all.ok()) {
    return {};
  }
  const std::string digest = DigestOf(session, dataset);
  std::vector<std::string> names;
  for (const v1::ModelVersion& model : *all) {
    if (WasTrainedOn(model, dataset, digest)) {
      names.push_back(model.name());
    }
  }
  return names;
}

bool IsTrainedOn(Session& session, const std::string& model, const std::string& dataset) {
  const absl::StatusOr<v1::ModelVersion> found =
      session.client().GetModelVersion(model, v1::MODEL_VERSION_VIEW_BASIC);
  return found.ok() && WasTrainedOn(*found, dataset, DigestOf(session, dataset));
}

std::vector<std::string> GroupByModel(const std::vector<std::string>& versions) {
  std::vector<std::pair<std::string, int>> models;
  std::vector<std::string> groups;
  for (const std::string& name : versions) {
    const std::string model = ModelOf(name);
    if (models.empty() || models.back().first != model) {
      models.emplace_back(model, 0);
      groups.push_back(name);
    }
    if (++models.back().second > 1) {
      groups.back() = absl::StrCat(model, " (", models.back().second, " versions)");
    }
  }
  return groups;
}

std::string ShortList(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kShownNames);
  return absl::StrCat(
      absl::StrJoin(absl::MakeConstSpan(names).first(shown), ", "),
      shown < names.size() ? absl::StrCat(" and ", names.size() - shown, " more") : "");
}

}  // namespace mercer::client
