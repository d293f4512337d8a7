// The HTTP side of the server: the API as JSON, events, health, and the dashboard. What it answers comes from the same
// handlers as over gRPC, which it calls over a channel within the process; so validation, limits, tokens and
// errors are the same.
//
//   MERCER_ASSIGN_OR_RETURN(auto gateway, Gateway::Open(options, {channel, peer_key, gate, about}));
//   gateway->Start();  ...  gateway->BeginDrain();  ...  gateway->Stop(grace);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "mercer/v1/server_service.pb.h"
#include "server/access/gate.h"
#include "server/gateway/assets.h"
#include "server/gateway/http/http_server.h"

namespace grpc {
class Channel;
}  // namespace grpc
namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::gateway {

struct GatewayOptions {
  HttpServerOptions http;
  bool loopback = true;  // the address is reached from this machine alone
  int64_t max_body_bytes = int64_t{64} << 20;
  int64_t all_body_bytes = int64_t{512} << 20;  // of all that are read or answered at a time
  int64_t max_event_streams = 2000;
};

// What /metrics shows. Thread-safe; outlives the gateway.
class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  // Whether a caller may see them, by the values of his header "authorization". Errors: kUnauthenticated, kPermissionDenied.
  virtual absl::Status Admit(const std::vector<std::string_view>& authorization) const = 0;
  // In Prometheus' text form. May block.
  virtual std::string Text(int64_t open_event_streams) = 0;
};

struct GatewayDependencies {
  std::shared_ptr<grpc::Channel> channel;  // within the process
  std::string peer_key;                    // as in server::PeerOf
  std::shared_ptr<const server::Gate> gate = std::make_shared<const server::Gate>();
  v1::ServerInfo about;  // of which everybody is told a part
  AssetFinder find_asset = FindBuiltInAsset;
  MetricsSource* metrics = nullptr;     // null: /metrics is not there
  std::shared_ptr<spdlog::logger> log;  // may be null
};

// Thread-safe.
class Gateway {
 public:
  // Takes the port. Errors: those of ListeningSockets::Open.
  static absl::StatusOr<std::unique_ptr<Gateway>> Open(const GatewayOptions& options,
                                                       GatewayDependencies dependencies);
  // Cancels what runs, and waits for its end.
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // For connections from now on; the first time before Start. Errors: kFailedPrecondition with reason BAD_CERTIFICATE; nothing
  // changes then.
  absl::Status SetTls(const TlsIdentity& identity);
  // From now on requests are answered; call once.
  void Start();
  // /readyz says so.
  void BeginDrain();
  // Takes no further requests; those that run have `grace` to end. Idempotent.
  void Stop(absl::Duration grace);

  int port() const;

 private:
  class Impl;
  explicit Gateway(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mercer::gateway
