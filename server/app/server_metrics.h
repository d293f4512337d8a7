// What Prometheus gets to see of the server.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/access/gate.h"
#include "server/app/job_metrics.h"
#include "server/gateway/metrics_source.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/call_tracker.h"
#include "server/rpc/rpc.h"
#include "server/storage/storage.h"

namespace mercer::server {

// What is looked at when somebody asks; all outlive the metrics.
struct MetricsDependencies {
  std::shared_ptr<const Gate> gate;
  bool open = false;  // for callers without a token, too
  Storage* storage = nullptr;
  const CallTracker* calls = nullptr;
  const ModelCache* cache = nullptr;
  const JobMetrics* jobs = nullptr;
};

// Counts calls as they end; the rest is read when it is asked for. Thread-safe.
class ServerMetrics final : public CallObserver, public gateway::MetricsSource {
 public:
  explicit ServerMetrics(MetricsDependencies dependencies);
  ~ServerMetrics() override;

  void OnCall(const char* method, absl::StatusCode code, absl::Duration duration) override;
  absl::Status Admit(const std::vector<std::string_view>& authorization) const override;
  std::string Text(const gateway::HttpCounts& counts) override;

 private:
  struct Counters;

  const MetricsDependencies dependencies_;
  const absl::Time started_;
  const std::unique_ptr<Counters> counters_;
};

}  // namespace mercer::server
