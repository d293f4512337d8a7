#include "client/cpp/security.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return absl::NotFoundError(absl::StrCat("'", path, "' cannot be read or is empty"));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Leaves an empty path empty.
absl::StatusOr<std::string> ReadOptional(const std::string& path) {
  return path.empty() ? std::string() : ReadText(path);
}

absl::StatusOr<std::string> ReadToken(const SecurityFiles& files) {
  std::string token = files.token;
  if (!files.token_file.empty()) {
    MERCER_ASSIGN_OR_RETURN(const std::string text, ReadText(files.token_file));
    token = text.substr(0, text.find_first_of("\r\n"));
  }
  // What HTTP/2 and the server's "Bearer TOKEN" can hold.
  const bool is_good =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_good || (token.empty() && !files.token_file.empty())) {
    return absl::InvalidArgumentError(
        files.token_file.empty()
            ? "the token in MERCER_TOKEN holds a blank or a letter beyond ASCII"
            : absl::StrCat("the first line of '", files.token_file, "' is not a token"));
  }
  return token;
}

bool IsLoopback4(const std::string& host) {
  const std::vector<std::string> parts = absl::StrSplit(host, '.');
  return parts.size() == 4 && parts[0] == "127" &&
         std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           int value = -1;
           return absl::SimpleAtoi(part, &value) && value >= 0 && value <= 255;
         });
}

// Whether what is sent to `address` stays on this machine.
bool IsLocal(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || IsLoopback4(host) ||
         absl::StartsWith(address, "unix:");
}

}  // namespace

absl::StatusOr<Security> LoadSecurity(const SecurityFiles& files) {
  Security security;
  MERCER_ASSIGN_OR_RETURN(security.token, ReadToken(files));
  MERCER_ASSIGN_OR_RETURN(security.authorities, ReadOptional(files.authorities));
  MERCER_ASSIGN_OR_RETURN(security.certificate, ReadOptional(files.certificate));
  MERCER_ASSIGN_OR_RETURN(security.key, ReadOptional(files.key));
  if (security.certificate.empty() != security.key.empty()) {
    return absl::InvalidArgumentError("--cert and --key belong together: one of them is missing");
  }
  security.server_name = files.server_name;
  security.tls = files.tls || !security.authorities.empty() || !security.certificate.empty();
  if (!security.tls && !security.server_name.empty()) {
    return absl::InvalidArgumentError("--server-name is for TLS: add --tls or --ca FILE");
  }
  return security;
}

absl::Status CheckSecurity(const std::string& address, const Security& security) {
  if (security.token.empty() || security.tls || IsLocal(address)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the token is not sent to ", address,
                   " in plain text, where others could read it: use TLS, with --tls or --ca FILE"));
}

}  // namespace mercer::client
