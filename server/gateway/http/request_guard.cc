#include "server/gateway/http/request_guard.h"

#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include <boost/asio/ip/address_v4.hpp>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::gateway {
namespace {

// "localhost:7380" without its port.
std::string HostName(std::string_view host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  return absl::AsciiStrToLower(View(has_port ? host.substr(0, colon) : host));
}

bool IsNameOfThisMachine(const std::string& name) {
  boost::system::error_code error;
  return name == "localhost" || name == "[::1]" ||
         boost::asio::ip::make_address_v4(name, error).is_loopback();
}

bool Changes(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

// The types that a form or a script of any site may send without asking first.
bool IsSimpleType(const std::string& type) {
  return type.empty() || type == "application/x-www-form-urlencoded" ||
         type == "multipart/form-data" || type == "text/plain";
}

absl::Status CheckHost(const RequestHead& request, const GuardRules& rules) {
  const std::vector<std::string_view> hosts = request.FindAll("host");
  if (hosts.size() > 1 || (hosts.empty() && !request.http10)) {
    return WithReason(absl::InvalidArgumentError("a request has one Host header"), "BAD_HOST");
  }
  const std::string name = hosts.empty() ? "localhost" : HostName(hosts[0]);
  if (rules.loopback && !rules.tokens && !IsNameOfThisMachine(name)) {
    return WithReason(
        absl::PermissionDeniedError("this server takes requests for 127.0.0.1, [::1] and localhost "
                                    "only; with tokens it takes any name"),
        "FOREIGN_HOST");
  }
  return absl::OkStatus();
}

// What browsers themselves say of where a request comes from.
absl::Status CheckOrigin(const RequestHead& request) {
  const std::string_view site = request.Find("sec-fetch-site");
  const std::string_view origin = request.Find("origin");
  const size_t scheme = origin.find("://");
  const bool same_origin =
      origin.empty() ||
      (scheme != std::string_view::npos &&
       absl::EqualsIgnoreCase(View(origin.substr(scheme + 3)), View(request.Find("host"))));
  if (site == "cross-site" || site == "same-site" || !same_origin) {
    return WithReason(absl::PermissionDeniedError("another site may not use this server"),
                      "CROSS_SITE");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSite(const RequestHead& request, const GuardRules& rules) {
  MERCER_RETURN_IF_ERROR(CheckHost(request, rules));
  if (!Changes(request.method) && !absl::StartsWith(request.target, "/v1/")) {
    return absl::OkStatus();  // links to a page are for everybody
  }
  MERCER_RETURN_IF_ERROR(CheckOrigin(request));
  if (Changes(request.method) && request.Find("authorization").empty() &&
      request.Find("x-mercer").empty() && IsSimpleType(request.MediaType())) {
    return WithReason(
        absl::PermissionDeniedError(
            "a request that changes something needs the header 'Content-Type: application/json' or "
            "'X-Mercer: 1', which pages of other sites cannot send"),
        "CROSS_SITE_POSSIBLE");
  }
  return absl::OkStatus();
}

}  // namespace mercer::gateway
