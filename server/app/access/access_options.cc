#include "server/app/access/access_options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

// 127.0.0.0/8, written with four numbers.
bool IsLoopback4(const std::string& host) {
  const std::vector<std::string> parts = absl::StrSplit(host, '.');
  if (parts.size() != 4 || parts[0] != "127") {
    return false;
  }
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    int value = -1;
    return absl::SimpleAtoi(part, &value) && value >= 0 && value <= 255;
  });
}

std::string HostOf(const std::string& listen) { return listen.substr(0, listen.rfind(':')); }

}  // namespace

bool IsLoopback(const std::string& listen) {
  const std::string host = HostOf(listen);
  return host == "localhost" || host == "[::1]" || IsLoopback4(host);
}

absl::Status CheckListenAddress(const std::string& flag, const std::string& listen,
                                const AccessOptions& access) {
  const size_t colon = listen.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(listen.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": must be ADDRESS:PORT, is '", listen, "'"));
  }
  const bool guarded = !access.tls.empty() && !access.tokens.empty();
  if (IsLoopback(listen) || guarded || access.insecure) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          flag, ": '", HostOf(listen),
          "' is not a loopback address, so that other machines could call: give both TLS "
          "(--tls-cert, --tls-key) and tokens (--tokens), or listen on 127.0.0.1, localhost or "
          "[::1]; --insecure lets everybody in")),
      "NOT_LOOPBACK");
}

}  // namespace mercer::server
