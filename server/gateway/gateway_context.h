// What the parts of the gateway share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "mercer/v1/server_service.pb.h"
#include "server/access/gate.h"
#include "server/budget/budget.h"
#include "server/gateway/assets.h"
#include "server/gateway/metrics_source.h"
#include "server/gateway/rpc_channel.h"
#include "server/jobs/executor.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::gateway {

// Outlives all exchanges.
struct GatewayContext {
  GatewayContext(std::shared_ptr<grpc::Channel> to_server, std::string peer_key,
                 int64_t event_stream_limit, int64_t body_bytes_limit)
      : channel(std::move(to_server), std::move(peer_key)),
        max_event_streams(event_stream_limit),
        all_body_bytes(body_bytes_limit) {}

  RpcChannel channel;
  std::shared_ptr<const server::Gate> gate;
  server::Executor* workers = nullptr;  // for JSON that takes its time
  v1::ServerInfo about;                 // for those who may not ask the server
  AssetFinder find_asset;
  MetricsSource* metrics = nullptr;  // null: there are none to show
  int64_t max_body_bytes = 0;
  bool loopback = true;  // the port is reached from this machine alone
  const server::Budget event_streams;
  const int64_t max_event_streams;
  const server::Budget bodies;
  const int64_t all_body_bytes;
  std::atomic<bool> ready = false;
  std::shared_ptr<spdlog::logger> log;
};

}  // namespace mercer::gateway
