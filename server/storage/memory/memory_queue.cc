#include "server/storage/memory/memory_queue.h"

#include <algorithm>
#include <tuple>

#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

bool IsHeld(const JobRecord& job) { return job.state != JobState::kQueued && !IsFinal(job.state); }

std::map<std::string, int64_t> CountHeldJobs(const std::map<std::string, MemoryJob>& jobs) {
  std::map<std::string, int64_t> held;
  for (const auto& [id, job] : jobs) {
    held[job.record.caller] += IsHeld(job.record) ? 1 : 0;
  }
  return held;
}

bool BecomesReady(JobRecord& job, absl::Time now) {
  if (job.not_before <= now || job.not_before > now + kLongestDelay) {
    job.not_before = absl::InfinitePast();
  }
  return job.not_before == absl::InfinitePast();
}

}  // namespace

absl::Status CheckMemoryQuota(const std::map<std::string, MemoryJob>& jobs, const NewJob& job) {
  int64_t queued = 0;
  int64_t of_caller = 0;
  for (const auto& [id, other] : jobs) {
    const bool waits = other.record.state == JobState::kQueued;
    queued += waits ? 1 : 0;
    of_caller += waits && other.record.caller == job.caller ? 1 : 0;
  }
  const QueueLimits& limits = job.limits;
  if (limits.queued_jobs > 0 && queued >= limits.queued_jobs) {
    return QuotaExceeded("queued_jobs", limits.queued_jobs, queued);
  }
  if (limits.queued_jobs_per_caller > 0 && of_caller >= limits.queued_jobs_per_caller) {
    return QuotaExceeded("queued_jobs_per_caller", limits.queued_jobs_per_caller, of_caller);
  }
  return absl::OkStatus();
}

MemoryJob* FindMemoryHead(std::map<std::string, MemoryJob>& jobs,
                          const std::map<std::string, int64_t>& turns,
                          const ClaimRequest& request) {
  const std::map<std::string, int64_t> held = CountHeldJobs(jobs);
  const auto rank = [&](const JobRecord& job) {
    const auto turn = turns.find(job.caller);
    return std::tuple(-int64_t{job.priority}, held.at(job.caller),
                      turn == turns.end() ? 0 : turn->second, job.number);
  };
  MemoryJob* head = nullptr;
  for (auto& [id, job] : jobs) {
    JobRecord& record = job.record;
    const bool eligible = request.max_running_per_caller == 0 ||
                          held.at(record.caller) < request.max_running_per_caller;
    if (record.state == JobState::kQueued && BecomesReady(record, request.now) && eligible &&
        (head == nullptr || rank(record) < rank(head->record))) {
      head = &job;
    }
  }
  return head;
}

absl::Time FindMemoryReadyTime(const std::map<std::string, MemoryJob>& jobs) {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, job] : jobs) {
    if (job.record.state == JobState::kQueued && job.record.not_before != absl::InfinitePast()) {
      next = std::min(next, job.record.not_before);
    }
  }
  return next;
}

}  // namespace mercer::server
