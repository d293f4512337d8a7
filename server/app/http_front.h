// HTTP beside gRPC: which port, whose certificates, what it says of the server.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "server/app/access/access_control.h"
#include "server/app/server_options.h"
#include "server/gateway/gateway.h"

namespace mercer::server {

// Thread-safe.
class HttpFront {
 public:
  // Listens, and answers by calls over the channel of `dependencies`, as the gate of `access`, which outlives the front, lets it.
  // `options` are resolved and want HTTP. Errors: those of HttpServer::Open, kFailedPrecondition with reason BAD_CERTIFICATE.
  static absl::StatusOr<std::unique_ptr<HttpFront>> Open(const ServerOptions& options,
                                                         AccessControl& access,
                                                         gateway::GatewayDependencies dependencies);
  ~HttpFront() { access_.SetCertificateListener(nullptr); }
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  gateway::Gateway& gateway() { return *gateway_; }
  // "http://127.0.0.1:7380".
  const std::string& url() const { return url_; }

 private:
  HttpFront(AccessControl& access, std::unique_ptr<gateway::Gateway> gateway, std::string url);

  AccessControl& access_;
  const std::unique_ptr<gateway::Gateway> gateway_;
  const std::string url_;
};

}  // namespace mercer::server
