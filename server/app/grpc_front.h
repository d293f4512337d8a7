// The port of gRPC: who listens there, with which services and limits, and what its health checks say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <grpcpp/grpcpp.h>

#include "server/api/health_service.h"
#include "server/app/listener.h"
#include "server/app/server_options.h"
#include "server/rpc/rpc_service.h"

namespace mercer::server {

// Bytes for what clients have sent and no call has taken yet, with answers on their way; and as many for requests that have
// been parsed.
int64_t ReceiveMemory(const ServerOptions& options);

// A builder with limits and keep-alive; with reflection and channelz, which pass by the
// door, where `options` want them.
std::unique_ptr<grpc::ServerBuilder> NewServerBuilder(const ServerOptions& options);

// Thread-safe.
class GrpcFront {
 public:
  using Services = std::vector<std::unique_ptr<grpc::Service>>;

  // Listens, and answers from now on. `options` are resolved; `environment` and `services` outlive the front. Errors: those of
  // Listener::Open, kInternal.
  static absl::StatusOr<std::unique_ptr<GrpcFront>> Open(
      const ServerOptions& options, const std::shared_ptr<grpc::ServerCredentials>& credentials,
      const RpcEnvironment& environment, const Services& services);
  // Cancels what runs.
  ~GrpcFront();
  GrpcFront(const GrpcFront&) = delete;
  GrpcFront& operator=(const GrpcFront&) = delete;

  // Health says NOT_SERVING; calls are answered as before.
  void BeginDrain();
  // Takes no further connections and calls; those that run have `grace` to end. Blocks until all have. Idempotent.
  void Stop(absl::Duration grace);

  int port() const { return listener_->port(); }
  // "127.0.0.1:7345", with the port that is really used.
  const std::string& address() const { return address_; }
  // A channel that needs no network.
  std::shared_ptr<grpc::Channel> InProcessChannel(const grpc::ChannelArguments& arguments) {
    return server_->InProcessChannel(arguments);
  }

 private:
  explicit GrpcFront(const RpcEnvironment& environment);

  HealthService health_;
  UnknownMethods unknown_methods_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
  std::string address_;
};

}  // namespace mercer::server
