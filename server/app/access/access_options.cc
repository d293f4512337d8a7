#include "server/app/access/access_options.h"

#include <arpa/inet.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

std::string HostOf(const std::string& listen) { return listen.substr(0, listen.rfind(':')); }

}  // namespace

bool IsLoopback(const std::string& listen) {
  const std::string host = HostOf(listen);
  in_addr address = {};
  return host == "localhost" || host == "[::1]" ||
         (inet_pton(AF_INET, host.c_str(), &address) == 1 &&
          ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET);
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
