// What the parts of the gateway share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"

#include "server/access/gate.h"
#include "server/gateway/assets.h"
#include "server/gateway/metrics_source.h"
#include "server/gateway/rpc_channel.h"
#include "server/jobs/executor.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::gateway {

// What the server says of itself to everybody, so that a page knows whether to ask for a token.
struct ServerFacts {
  std::string version;
  absl::Time started;
  bool tokens = false;  // callers need one
  int num_learners = 0;
};

// Places for a limited number of things of one kind. Thread-safe.
class Places {
 public:
  // One of them, as long as it lives.
  class Place {
   public:
    explicit Place(std::atomic<int64_t>& taken) : taken_(taken) {}
    ~Place() { --taken_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    std::atomic<int64_t>& taken_;
  };

  explicit Places(int64_t limit) : limit_(limit) {}
  // Null: all are taken. Outlived by the places.
  std::unique_ptr<Place> Take() {
    if (taken_.fetch_add(1) >= limit_) {
      --taken_;
      return nullptr;
    }
    return std::make_unique<Place>(taken_);
  }
  int64_t taken() const { return taken_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> taken_ = 0;
};

// Outlives all exchanges.
struct GatewayContext {
  GatewayContext(std::shared_ptr<grpc::Channel> to_server, std::string peer_key,
                 int64_t max_event_streams, int64_t all_body_bytes)
      : channel(std::move(to_server), std::move(peer_key)),
        event_streams(max_event_streams),
        bodies(all_body_bytes) {}

  RpcChannel channel;
  std::shared_ptr<const server::Gate> gate;
  server::Executor* workers = nullptr;  // for JSON that takes its time
  ServerFacts facts;
  AssetFinder find_asset;
  MetricsSource* metrics = nullptr;  // null: there are none to show
  int64_t max_body_bytes = 0;
  bool loopback = true;  // the port is reached from this machine alone
  Places event_streams;
  BodyBudget bodies;
  std::atomic<bool> ready = false;
  std::shared_ptr<spdlog::logger> log;
};

}  // namespace mercer::gateway
