// What Prometheus gets to see of jobs as they come and go; what they are now is read from the storage.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include <prometheus/metric_family.h>

#include "server/jobs/job_observer.h"

namespace mercer {
struct LearnerEntry;
}  // namespace mercer

namespace mercer::server {

// "queued", "running", ...
std::string StateLabel(JobState state);

// Counts since it was made. Thread-safe.
class JobMetrics final : public JobObserver {
 public:
  // `learners`: their names are the values of the label, all shown from the start. A job of another learner, which only
  // another version of the server can have taken, is counted as "other".
  explicit JobMetrics(const std::vector<const LearnerEntry*>& learners);
  ~JobMetrics() override;

  void OnClaimed(const JobRecord& job) override;
  void OnWorked(const std::string& learner, absl::Duration time) override;
  void OnEnded(const JobRecord& job) override;

  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  struct Families;

  std::string LearnerLabel(const std::string& learner) const;

  std::set<std::string> learners_;
  const std::unique_ptr<Families> families_;
};

}  // namespace mercer::server
