// What the parts of the gateway share.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "server/budget/budget.h"
#include "server/gateway/gateway.h"
#include "server/gateway/rpc_channel.h"
#include "server/jobs/executor.h"

namespace mercer::gateway {

// Outlives all exchanges.
struct GatewayContext {
  GatewayContext(const GatewayOptions& given, GatewayDependencies dependencies)
      : options(given), parts(std::move(dependencies)), channel(parts.channel, parts.peer_key) {
    options.all_body_bytes = std::max(options.all_body_bytes, 2 * options.max_body_bytes);
  }

  GatewayOptions options;
  const GatewayDependencies parts;
  RpcChannel channel;
  std::unique_ptr<server::ThreadPool> workers;  // for JSON that takes its time
  const server::Budget event_streams;
  const server::Budget bodies;
  std::atomic<bool> ready = false;
};

}  // namespace mercer::gateway
