// The standard health checks of gRPC (grpc.health.v1), which everybody may ask: gRPC's own read
// messages of any size before they look at them.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.pb.h"

#include "core/base/numeric/hash_table.h"
#include "server/budget/budget.h"
#include "server/rpc/rpc_service.h"

namespace mercer::server {

// Thread-safe. Outlives its calls.
class HealthService final : public RpcService {
 public:
  // `services`: the names that may be asked for, besides the empty one of the whole server. All are
  // serving.
  HealthService(const RpcEnvironment& environment, std::vector<std::string> services);

  // Watchers hear of it.
  void SetServing(bool serving) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class HealthCall;
  friend class HealthCheck;
  friend class HealthWatch;

  // SERVING, NOT_SERVING or SERVICE_UNKNOWN.
  grpc::health::v1::HealthCheckResponse::ServingStatus StatusOf(const std::string& service) const;
  template <typename Call>
  ServerCall* Open(grpc::CallbackServerContext* context) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::string> services_;
  std::atomic<bool> serving_{true};
  // Of each connection, the calls that run. Strangers may not have any number of them, but a connection's only one is always
  // admitted: those who flood the server with checks keep none from whoever asks how it is.
  const Budget calls_;
  absl::Mutex mutex_;
  HashSet<class HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
