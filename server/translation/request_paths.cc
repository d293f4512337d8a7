#include "server/translation/request_paths.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>

#include "core/base/status/errors.h"
#include "server/translation/option_translator.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;

// The core's names of fields, and where they stand in a request, but for those of the learner.
struct PathRule {
  std::string_view core;
  std::string_view request;
};
constexpr std::array<PathRule, 7> kPathRules = {{
    {"validation.fraction", "validation.hold_out.fraction"},
    {"validation.folds", "validation.folds.count"},
    {"limits.max_time", "stopping.time_limit"},
    {"limits", "stopping"},
    {"kind", "target_kind"},
    {"class_weighting", "class_weights.weighting"},
    {"class_weights[", "class_weights.weights["},
}};

bool IsRequestField(std::string_view path) {
  const size_t end = path.find_first_of(".[");
  return v1::TrainRequest::descriptor()->FindFieldByName(std::string(path.substr(0, end))) !=
         nullptr;
}

std::string RequestPath(std::string_view path, std::string_view chosen) {
  for (const PathRule& rule : kPathRules) {
    if (!IsBelow(path, rule.core) || IsBelow(path, rule.request)) {
      continue;
    }
    return absl::StrCat(std::string(rule.request), std::string(path.substr(rule.core.size())));
  }
  constexpr std::string_view kOptions = "options";
  if (IsBelow(path, kOptions)) {
    return LearnerPath(chosen, path.substr(std::min(path.size(), kOptions.size() + 1)));
  }
  return IsRequestField(path) || path.empty() ? std::string(path) : LearnerPath(chosen, path);
}

}  // namespace

const FieldDescriptor* ChosenField(const v1::Learner& learner) {
  return learner.GetReflection()->GetOneofFieldDescriptor(learner,
                                                          learner.GetDescriptor()->oneof_decl(0));
}

std::string ChosenLearner(const v1::TrainRequest& request) {
  if (request.learner().has_other()) {
    return request.learner().other().name();
  }
  const FieldDescriptor* field = ChosenField(request.learner());
  return field == nullptr ? "" : field->name();
}

absl::Status WithRequestPaths(const absl::Status& status, const v1::Learner& learner) {
  const std::vector<FieldViolation> violations = GetFieldViolations(status);
  if (violations.empty()) {
    return status;
  }
  const FieldDescriptor* const field = ChosenField(learner);
  const std::string chosen = field == nullptr ? "" : field->name();
  FieldViolations renamed;
  for (const FieldViolation& violation : violations) {
    renamed.Add(RequestPath(violation.field, chosen), violation.description);
  }
  return WithReason(renamed.ToStatus(), GetReason(status), GetErrorMetadata(status));
}

}  // namespace mercer::server
