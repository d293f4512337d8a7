#include "server/access/scope.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace mercer::server {
namespace {

constexpr std::pair<Scope, std::string_view> kNames[] = {{Scope::kRead, "read"},
                                                         {Scope::kPredict, "predict"},
                                                         {Scope::kTrain, "train"},
                                                         {Scope::kAdmin, "admin"}};

}  // namespace

std::string_view ScopeName(Scope scope) {
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [scope](const auto& entry) { return entry.first == scope; });
  return found == std::end(kNames) ? "any" : found->second;
}

absl::StatusOr<ScopeSet> ParseScopes(std::string_view text) {
  ScopeSet scopes;
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
  for (const std::string& word : words) {
    const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                    [&word](const auto& entry) { return entry.second == word; });
    if (found == std::end(kNames)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", word, "' is not a scope; there are read, predict, train and admin, with commas"));
    }
    scopes.Add(found->first);
  }
  return scopes;
}

std::string FormatScopes(ScopeSet scopes) {
  std::vector<std::string> words;
  for (const auto& [scope, name] : kNames) {
    if (scopes.Allows(scope) && (scope == Scope::kAdmin || !scopes.Allows(Scope::kAdmin))) {
      words.emplace_back(name);
    }
  }
  return absl::StrJoin(words, ",");
}

}  // namespace mercer::server
