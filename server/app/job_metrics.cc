#include "server/app/job_metrics.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "core/training/contract/learner.h"

namespace mercer::server {
namespace {

// Seconds, from a worker that was free and a fit in a loop over parameters to a queue and a training of days.
const prometheus::Histogram::BucketBoundaries kSeconds = {0.01, 0.05, 0.25, 1,    5,      15,
                                                          60,   300,  1800, 7200, 28'800, 86'400};

}  // namespace

std::string StateLabel(JobState state) {
  const std::string_view name = JobStateName(state);
  return absl::AsciiStrToLower(absl::string_view(name.data(), name.size()));
}

struct JobMetrics::Families {
  prometheus::Registry registry;
  prometheus::Histogram& waits =
      prometheus::BuildHistogram()
          .Name("mercer_queue_wait_seconds")
          .Help("How long jobs were queued before a worker took them for the first time.")
          .Register(registry)
          .Add({}, kSeconds);
  prometheus::Family<prometheus::Histogram>& training =
      prometheus::BuildHistogram()
          .Name("mercer_training_seconds")
          .Help(
              "How long workers were busy with each attempt at a job, verification included, by "
              "learner.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& finished =
      prometheus::BuildCounter()
          .Name("mercer_jobs_finished_total")
          .Help("Jobs that have ended since the server started, by learner and state.")
          .Register(registry);
};

JobMetrics::JobMetrics(const std::vector<const LearnerEntry*>& learners)
    : families_(std::make_unique<Families>()) {
  for (const LearnerEntry* learner : learners) {
    learners_.insert(learner->name);
    families_->training.Add({{"learner", learner->name}}, kSeconds);
    for (const JobState state : {JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
      families_->finished.Add({{"learner", learner->name}, {"state", StateLabel(state)}});
    }
  }
}

JobMetrics::~JobMetrics() = default;

void JobMetrics::OnClaimed(const JobRecord& job) {
  // Whatever comes before a later attempt is no wait for a worker: a restart, or a pause after a failure.
  if (job.attempt == 1) {
    const double seconds = absl::ToDoubleSeconds(job.start_time - job.create_time);
    families_->waits.Observe(std::max(seconds, 0.0));  // of a clock that may have been set back
  }
}

void JobMetrics::OnWorked(const std::string& learner, absl::Duration time) {
  families_->training.Add({{"learner", LearnerLabel(learner)}}, kSeconds)
      .Observe(absl::ToDoubleSeconds(time));
}

void JobMetrics::OnEnded(const JobRecord& job) {
  families_->finished
      .Add({{"learner", LearnerLabel(job.learner)}, {"state", StateLabel(job.state)}})
      .Increment();
}

std::vector<prometheus::MetricFamily> JobMetrics::Collect() const {
  return families_->registry.Collect();
}

std::string JobMetrics::LearnerLabel(const std::string& learner) const {
  return learners_.contains(learner) ? learner : "other";
}

}  // namespace mercer::server
