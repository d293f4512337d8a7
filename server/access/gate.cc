#include "server/access/gate.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/access/ownership.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxTokenBytes = 512;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto unreadable = [&path](std::string_view why) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "the token file '", path, "' cannot be read: ", std::string(why))),
                      "TOKEN_FILE_UNREADABLE");
  };
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return unreadable(error ? error.message() : "not a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return unreadable(std::strerror(errno));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::Status Refuse(const char* message, const char* reason) {
  return WithReason(absl::UnauthenticatedError(message), reason);
}

// The token of "Bearer TOKEN"; the scheme's name has no case (RFC 9110).
absl::StatusOr<std::string_view> TokenOf(const std::vector<std::string_view>& authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.empty()) {
    return Refuse(
        "this server wants a token: send 'authorization: Bearer TOKEN', over HTTP as a header, "
        "over gRPC as metadata of the call",
        "TOKEN_MISSING");
  }
  const std::string_view value = authorization.front();
  const std::string_view token = value.substr(std::min(value.size(), kScheme.size()));
  if (authorization.size() > 1 || value.size() <= kScheme.size() ||
      value.size() > kScheme.size() + kMaxTokenBytes ||
      !absl::EqualsIgnoreCase(absl::string_view(value.data(), kScheme.size()), "Bearer ") ||
      token.find_first_of(" \t\r\n") != std::string_view::npos) {
    return Refuse(
        "'authorization', a header over HTTP and metadata over gRPC, must be there once, as "
        "'Bearer TOKEN'",
        "TOKEN_MALFORMED");
  }
  return token;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gate>> Gate::FromFile(const std::string& path) {
  auto gate = std::unique_ptr<Gate>(new Gate(path));
  MERCER_RETURN_IF_ERROR(gate->Reload().status());
  return gate;
}

absl::StatusOr<bool> Gate::Reload() {
  if (open()) {
    return false;
  }
  MERCER_ASSIGN_OR_RETURN(std::string text, ReadFile(*path_));
  absl::MutexLock lock(&mutex_);
  if (tokens_ != nullptr && text == text_) {
    return false;
  }
  // A file that is being written, or was cut off, may parse as well as a whole one that admits fewer.
  if (!text.empty() && text.back() != '\n') {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the token file ", *path_,
            " does not end with a newline: it is being written, or its last line is cut off")),
        "TOKEN_FILE_CUT_OFF");
  }
  MERCER_ASSIGN_OR_RETURN(TokenTable table, TokenTable::Parse(text));
  tokens_ = std::make_shared<const TokenTable>(std::move(table));
  text_ = std::move(text);
  return true;
}

absl::StatusOr<Caller> Gate::Admit(const std::vector<std::string_view>& authorization, Scope needed,
                                   absl::Time now) const {
  if (open()) {
    return Caller{std::string(kAnyone), ScopeSet::All(), {}};
  }
  MERCER_ASSIGN_OR_RETURN(const std::string_view token, TokenOf(authorization));
  std::shared_ptr<const TokenTable> tokens;
  {
    absl::MutexLock lock(&mutex_);
    tokens = tokens_;
  }
  MERCER_ASSIGN_OR_RETURN(Caller caller, tokens->Find(token, now));
  if (!caller.scopes.Allows(needed)) {
    return WithReason(
        absl::PermissionDeniedError(absl::StrCat("the token of ", caller.name, " has no scope '",
                                                 std::string(ScopeName(needed)), "'")),
        "SCOPE_MISSING", {{"caller", caller.name}, {"scope", std::string(ScopeName(needed))}});
  }
  return caller;
}

}  // namespace mercer::server
