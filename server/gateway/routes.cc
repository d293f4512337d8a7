#include "server/gateway/routes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "core/base/status/errors.h"
#include "server/gateway/url.h"

namespace mercer::gateway {
namespace {

constexpr std::string_view kJob = "jobs/{job}";
constexpr std::string_view kDataset = "datasets/{dataset}";
constexpr std::string_view kUpload = "uploads/{upload}";
constexpr std::string_view kModel = "models/{model}";  // also "spam@production"
constexpr std::string_view kVersion = "models/{model}/versions/{version}";
constexpr std::string_view kAlias = "models/{model}@{alias}";

constexpr std::array kRoutes = {
    Route{"GET", "/v1/learners", "TrainingService/ListLearners", "", ""},

    Route{"POST", "/v1/jobs", "TrainingService/Train", "", ""},
    Route{"GET", "/v1/jobs", "TrainingService/ListJobs", "", ""},
    Route{"POST", "/v1/jobs:estimate", "TrainingService/EstimateCost", "", ""},
    Route{"GET", "/v1/jobs/{job}", "TrainingService/GetJob", "name", kJob},
    Route{"PATCH", "/v1/jobs/{job}", "TrainingService/UpdateJob", "job.name", kJob},
    Route{"DELETE", "/v1/jobs/{job}", "TrainingService/DeleteJob", "name", kJob},
    Route{"POST", "/v1/jobs/{job}:cancel", "TrainingService/CancelJob", "name", kJob},
    Route{"POST", "/v1/jobs/{job}:stop", "TrainingService/StopJob", "name", kJob},
    Route{"GET", "/v1/jobs/{job}/events", "TrainingService/StreamProgress", "job", kJob,
          CallKind::kProgress},

    Route{"GET", "/v1/datasets", "DatasetService/ListDatasets", "", ""},
    Route{"POST", "/v1/datasets:upload", "DatasetService/UploadDataset", "", "", CallKind::kUpload},
    Route{"GET", "/v1/datasets/{dataset}", "DatasetService/GetDataset", "name", kDataset},
    Route{"PATCH", "/v1/datasets/{dataset}", "DatasetService/UpdateDataset", "dataset.name",
          kDataset},
    Route{"DELETE", "/v1/datasets/{dataset}", "DatasetService/DeleteDataset", "name", kDataset},
    Route{"GET", "/v1/uploads", "DatasetService/ListUploads", "", ""},
    Route{"GET", "/v1/uploads/{upload}", "DatasetService/GetUpload", "name", kUpload},
    Route{"DELETE", "/v1/uploads/{upload}", "DatasetService/DeleteUpload", "name", kUpload},

    Route{"GET", "/v1/models", "ModelService/ListModels", "", ""},
    Route{"GET", "/v1/models/{model}", "ModelService/GetModel", "name", kModel},
    Route{"GET", "/v1/models/{model}/versions/{version}", "ModelService/GetModel", "name",
          kVersion},
    Route{"PATCH", "/v1/models/{model}", "ModelService/UpdateModel", "model.name", kModel},
    Route{"PATCH", "/v1/models/{model}/versions/{version}", "ModelService/UpdateModel",
          "model.name", kVersion},
    Route{"DELETE", "/v1/models/{model}", "ModelService/DeleteModel", "name", kModel},
    Route{"DELETE", "/v1/models/{model}/versions/{version}", "ModelService/DeleteModel", "name",
          kVersion},
    Route{"POST", "/v1/models/{model}:verify", "ModelService/VerifyModel", "name", kModel},
    Route{"POST", "/v1/models/{model}/versions/{version}:verify", "ModelService/VerifyModel",
          "name", kVersion},
    Route{"POST", "/v1/models/{model}:evaluate", "ModelService/EvaluateModel", "name", kModel},
    Route{"POST", "/v1/models/{model}/versions/{version}:evaluate", "ModelService/EvaluateModel",
          "name", kVersion},
    Route{"POST", "/v1/models/{model}:predict", "PredictionService/Predict", "model", kModel},
    Route{"POST", "/v1/models/{model}/versions/{version}:predict", "PredictionService/Predict",
          "model", kVersion},
    Route{"GET", "/v1/models/{model}:export", "ModelService/ExportModel", "name", kModel,
          CallKind::kExport},
    Route{"GET", "/v1/models/{model}/versions/{version}:export", "ModelService/ExportModel", "name",
          kVersion, CallKind::kExport},

    Route{"GET", "/v1/models/{model}/aliases", "ModelService/ListAliases", "model", kModel},
    Route{"GET", "/v1/models/{model}/aliases/{alias}", "ModelService/GetAlias", "name", kAlias},
    Route{"PUT", "/v1/models/{model}/aliases/{alias}", "ModelService/SetAlias", "name", kAlias},
    // Without a version it is removed.
    Route{"DELETE", "/v1/models/{model}/aliases/{alias}", "ModelService/SetAlias", "name", kAlias},
    Route{"GET", "/v1/models/{model}/aliases/{alias}/history", "ModelService/ListAliasHistory",
          "name", kAlias},
    Route{"POST", "/v1/models/{model}/aliases/{alias}:rollback", "ModelService/RollbackAlias",
          "name", kAlias},
    Route{"GET", "/v1/models/{model}/retention", "ModelService/GetRetention", "name", kModel},
    Route{"PUT", "/v1/models/{model}/retention", "ModelService/SetRetention", "name", kModel},

    Route{"GET", "/v1/server", "ServerService/GetServerInfo", "", ""},

    Route{"GET", "/v1/predictionStatistics", "PredictionService/ListPredictionStatistics", "", ""},
};

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Segment {
  absl::string_view name;    // "{job}" of "{job}:cancel"
  absl::string_view action;  // "cancel"; empty: none
};

Segment SplitAction(absl::string_view segment) {
  const size_t colon = segment.rfind(':');
  return colon == absl::string_view::npos
             ? Segment{segment, {}}
             : Segment{segment.substr(0, colon), segment.substr(colon + 1)};
}

bool IsVariable(absl::string_view name) {
  return name.size() > 2 && name.front() == '{' && name.back() == '}';
}

// A variable is never empty, and never more than one segment, however it is written.
bool MatchSegment(absl::string_view pattern, absl::string_view given, Variables& variables) {
  const Segment wanted = SplitAction(pattern);
  const Segment found = SplitAction(given);
  if (wanted.action != found.action) {
    return false;
  }
  if (!IsVariable(wanted.name)) {
    return wanted.name == found.name;
  }
  const auto value =
      DecodePercents({found.name.data(), found.name.size()}, /*plus_is_space=*/false);
  if (!value.has_value() || value->empty() || value->find('/') != std::string::npos) {
    return false;
  }
  variables.emplace_back(std::string(wanted.name), *value);
  return true;
}

bool MatchPath(const Route& route, const std::vector<absl::string_view>& given,
               Variables& variables) {
  const std::vector<absl::string_view> wanted =
      absl::StrSplit(absl::string_view(route.path.data(), route.path.size()), '/');
  if (wanted.size() != given.size()) {
    return false;
  }
  variables.clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!MatchSegment(wanted[i], given[i], variables)) {
      return false;
    }
  }
  return true;
}

std::string Substitute(std::string_view value, const Variables& variables) {
  return absl::StrReplaceAll(absl::string_view(value.data(), value.size()), variables);
}

}  // namespace

absl::Span<const Route> AllRoutes() { return kRoutes; }

absl::StatusOr<RouteMatch> FindRoute(std::string_view verb, std::string_view path) {
  const std::vector<absl::string_view> given =
      absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
  std::vector<std::string> others;
  Variables variables;
  for (const Route& route : kRoutes) {
    if (!MatchPath(route, given, variables)) {
      continue;
    }
    if (route.verb == verb) {
      return RouteMatch{&route, Substitute(route.value, variables)};
    }
    others.emplace_back(route.verb);
  }
  if (others.empty()) {
    return WithReason(absl::NotFoundError("the API has no such path"), "NO_SUCH_PATH");
  }
  const std::string allow = absl::StrJoin(others, ", ");
  return WithReason(absl::UnimplementedError(absl::StrCat("this path is for ", allow)),
                    "METHOD_NOT_ALLOWED", {{"allow", allow}});
}

}  // namespace mercer::gateway
