// HTTP beside gRPC: which port, whose certificates, what it says of the server.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "mercer/v1/server_service.pb.h"
#include "server/app/access/access_control.h"
#include "server/app/server_options.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::gateway {
class Gateway;
class MetricsSource;
}  // namespace mercer::gateway

namespace mercer::server {

// What HTTP stands on.
struct HttpDependencies {
  AccessControl* access = nullptr;         // outlives the front
  std::shared_ptr<grpc::Channel> channel;  // within the process
  std::string peer_key;                    // of PeerOf
  v1::ServerInfo about;
  gateway::MetricsSource* metrics = nullptr;  // outlives the front
  std::shared_ptr<spdlog::logger> log;
};

// Thread-safe.
class HttpFront {
 public:
  // Listens, and answers by calls over the channel. `options` are resolved and want HTTP. Errors: those of
  // HttpServer::Open, kFailedPrecondition with reason BAD_CERTIFICATE.
  static absl::StatusOr<std::unique_ptr<HttpFront>> Open(const ServerOptions& options,
                                                         HttpDependencies dependencies);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  void BeginDrain();
  // As Gateway::Stop.
  void Stop(absl::Duration grace);
  int port() const;
  // "http://127.0.0.1:7380".
  const std::string& url() const { return url_; }

 private:
  HttpFront(AccessControl& access, std::unique_ptr<gateway::Gateway> gateway, std::string url);

  AccessControl& access_;
  const std::unique_ptr<gateway::Gateway> gateway_;
  const std::string url_;
};

}  // namespace mercer::server
