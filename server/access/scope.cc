#include "server/access/scope.h"

#include <array>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace mercer::server {
namespace {

constexpr std::array kScopes = {Scope::kRead, Scope::kPredict, Scope::kTrain, Scope::kAdmin};

}  // namespace

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kRead:
      return "read";
    case Scope::kPredict:
      return "predict";
    case Scope::kTrain:
      return "train";
    case Scope::kAdmin:
      return "admin";
    case Scope::kAny:
      return "any";
  }
  return "";
}

absl::StatusOr<ScopeSet> ParseScopes(std::string_view text) {
  ScopeSet scopes;
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
  for (const std::string& word : words) {
    bool known = false;
    for (const Scope scope : kScopes) {
      if (word == ScopeName(scope)) {
        scopes.Add(scope);
        known = true;
      }
    }
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", word, "' is not a scope; there are read, predict, train and admin, with commas"));
    }
  }
  return scopes;
}

std::string FormatScopes(ScopeSet scopes) {
  std::vector<std::string> words;
  for (const Scope scope : kScopes) {
    if (scopes.Allows(scope) && (scope == Scope::kAdmin || !scopes.Allows(Scope::kAdmin))) {
      words.emplace_back(ScopeName(scope));
    }
  }
  return absl::StrJoin(words, ",");
}

}  // namespace mercer::server
