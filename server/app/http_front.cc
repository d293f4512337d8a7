#include "server/app/http_front.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/app/listener.h"

namespace mercer::server {
namespace {

// gRPC may take half of the files that the process may open; its connections come first.
constexpr size_t kConnectionsShare = 2;

gateway::TlsIdentity IdentityOf(const TlsTexts& texts) {
  return {texts.certificate, texts.key, texts.client_ca};
}

gateway::GatewayOptions GatewayOptionsOf(const ServerOptions& options) {
  gateway::GatewayOptions result;
  result.http.address = options.http;
  result.loopback = IsLoopback(options.http);
  const ConnectionLimits connections = LimitsOfConnections(result.loopback);
  result.http.max_connections = std::max<size_t>(connections.total / kConnectionsShare, 1);
  result.http.max_connections_per_host =
      std::max<size_t>(connections.per_peer / kConnectionsShare, 1);
  result.max_body_bytes = options.max_message_bytes;
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpFront>> HttpFront::Open(
    const ServerOptions& options, AccessControl& access,
    gateway::GatewayDependencies dependencies) {
  dependencies.gate = access.gate();
  MERCER_ASSIGN_OR_RETURN(
      std::unique_ptr<gateway::Gateway> gateway,
      gateway::Gateway::Open(GatewayOptionsOf(options), std::move(dependencies)));
  const TlsCertificates* certificates = access.certificates();
  if (certificates != nullptr) {
    MERCER_RETURN_IF_ERROR(gateway->SetTls(IdentityOf(certificates->texts())));
  }
  std::string url =
      absl::StrCat(certificates != nullptr ? "https://" : "http://",
                   options.http.substr(0, options.http.rfind(':')), ":", gateway->port());
  gateway->Start();
  return std::unique_ptr<HttpFront>(new HttpFront(access, std::move(gateway), std::move(url)));
}

HttpFront::HttpFront(AccessControl& access, std::unique_ptr<gateway::Gateway> gateway,
                     std::string url)
    : access_(access), gateway_(std::move(gateway)), url_(std::move(url)) {
  // Broken certificates do not get here; should these be refused all the same, those in use stay.
  access_.SetCertificateListener(
      [this](const TlsTexts& texts) { gateway_->SetTls(IdentityOf(texts)).IgnoreError(); });
}

}  // namespace mercer::server
