#include "client/cpp/cli/suggestions.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/errors.h"
#include "core/base/status/near_names.h"

namespace mercer::client {
namespace {

constexpr int kAskedNames = 500;

// "models/spam/versions/1" is "models/spam", as is "models/spam/aliases/best".
std::string WithoutVersion(const std::string& name) {
  const size_t collection = name.find('/');
  return name.substr(0, name.find('/', collection + 1));
}

// "rows.columns[3].name": a column of the file to predict.
bool IsUnknownColumn(const FieldViolation& violation) {
  return absl::StartsWith(violation.field, "rows.columns[") &&
         absl::EndsWith(violation.field, "].name");
}

template <typename Items>
std::vector<std::string> NamesOf(const absl::StatusOr<Items>& items) {
  std::vector<std::string> names;
  if (items.ok()) {
    for (const auto& item : *items) {
      names.push_back(WithoutVersion(item.name()));
    }
  }
  return names;
}

std::vector<std::string> KnownNames(Session& session, const std::string& wrong) {
  if (absl::StartsWith(wrong, "models/")) {
    return NamesOf(session.client().ListModels({}, kAskedNames));
  }
  if (absl::StartsWith(wrong, "datasets/")) {
    return NamesOf(session.client().ListDatasets(kAskedNames));
  }
  return {};
}

}  // namespace

std::string Suggest(Session& session, const absl::Status& status) {
  const ErrorReport report = ReadErrorReport(status);
  if (session.json()) {
    return "";
  }
  if (std::any_of(report.fields.begin(), report.fields.end(), IsUnknownColumn)) {
    return "Columns that the model does not know are left out with --ignore NAME,NAME";
  }
  const std::string wrong = WithoutVersion(report.resource);
  if (!absl::IsNotFound(status) || wrong.empty()) {
    return "";
  }
  const std::vector<std::string> near = NearNames(wrong, KnownNames(session, wrong));
  return near.empty() ? "" : absl::StrCat("Did you mean ", absl::StrJoin(near, " or "), "?");
}

}  // namespace mercer::client
