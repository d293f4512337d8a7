#include "client/cpp/cli/suggestions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/errors.h"

namespace mercer::client {
namespace {

constexpr int kAskedNames = 500;
constexpr size_t kMaxNames = 3;
constexpr int kMaxDistance = 2;

// "models/spam/versions/1" is "models/spam", as is "models/spam@best".
std::string WithoutVersion(const std::string& name) {
  const size_t collection = name.find('/');
  return name.substr(0, name.find_first_of("/@", collection + 1));
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
    return NamesOf(session.client().ListModels("", kAskedNames));
  }
  if (absl::StartsWith(wrong, "datasets/")) {
    return NamesOf(session.client().ListDatasets(kAskedNames));
  }
  return {};
}

}  // namespace

// Row by row through the table of the distances from the beginnings of `a` to those of `b`.
int EditDistance(const std::string& a, const std::string& b) {
  std::vector<int> before_last(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
      }
    }
  }
  return row.back();
}

std::vector<std::string> NearNames(const std::string& wrong,
                                   const std::vector<std::string>& known) {
  const size_t letters = wrong.size() - (wrong.find('/') + 1);  // of the part that people choose
  const int farthest = std::min(kMaxDistance, (static_cast<int>(letters) + 1) / 3);
  std::vector<std::pair<int, std::string>> near;
  for (const std::string& name : known) {
    const int distance = EditDistance(wrong, name);
    if (distance <= farthest && distance > 0) {
      near.emplace_back(distance, name);
    }
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(near.size(), kMaxNames); ++i) {
    names.push_back(near[i].second);
  }
  return names;
}

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
