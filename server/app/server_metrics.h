// What Prometheus gets to see of the server.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "server/access/gate.h"
#include "server/gateway/gateway.h"
#include "server/jobs/job_observer.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/call_tracker.h"
#include "server/rpc/rpc.h"
#include "server/storage/storage.h"

namespace mercer {
struct LearnerEntry;
}  // namespace mercer

namespace mercer::server {

// What is looked at when somebody asks.
struct MetricsDependencies {
  std::shared_ptr<const Gate> gate;
  bool open = false;  // for callers without a token, too
  Storage* storage = nullptr;
  const CallTracker* calls = nullptr;
  const ModelCache* cache = nullptr;
};

// Counts calls as they end, and jobs as they come and go, since it was made; the rest is read when it is asked for. Thread-safe.
class ServerMetrics final : public JobObserver, public CallObserver, public gateway::MetricsSource {
 public:
  // `learners`: their names are the values of the label of trainings, all shown from the start, as the other kinds of jobs are. A training
  // of another learner, which only another version of the server can have taken, is counted as "other".
  explicit ServerMetrics(const std::vector<const LearnerEntry*>& learners);

  // Once, before anybody asks. All are there as long as somebody may.
  void SetDependencies(MetricsDependencies dependencies) {
    dependencies_ = std::move(dependencies);
  }

  void OnClaimed(const JobRecord& job) override;
  void OnWorked(const JobRecord& job, absl::Duration time) override;
  void OnEnded(const JobRecord& job) override;
  void OnCall(const char* method, absl::StatusCode code, absl::Duration duration) override;

  absl::Status Admit(const std::vector<std::string_view>& authorization) const override;
  std::string Text(int64_t open_event_streams) override;
  // What is counted.
  std::vector<prometheus::MetricFamily> Counted() const { return registry_.Collect(); }

 private:
  // By what jobs are told apart: their kinds, and trainings by their learners.
  prometheus::Labels LabelsOf(JobKind kind, const std::string& learner) const;
  prometheus::Counter& FinishedOf(JobKind kind, const std::string& learner, JobState state);

  const absl::Time started_;
  MetricsDependencies dependencies_;
  std::set<std::string> learners_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Family<prometheus::Histogram>& call_seconds_;
  prometheus::Family<prometheus::Counter>& finished_;
  prometheus::Family<prometheus::Histogram>& training_;
  prometheus::Histogram& waits_;
};

}  // namespace mercer::server
