// What the requests of queued jobs mean, for the workers of the process that has accepted them: a job of before its start, or of
// another server, is translated by its worker.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/job_planner.h"

namespace mercer::server {

// Thread-safe. Keeps the newest plans of so many bytes together.
class KeptPlans {
 public:
  explicit KeptPlans(int64_t most_bytes) : most_bytes_(most_bytes) {}

  void Keep(const std::string& job_id, CompleteRequest complete) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (const auto earlier = by_job_.find(job_id); earlier != by_job_.end()) {
      Erase(earlier->second);
    }
    bytes_ += BytesOf(complete);
    plans_.push_back({job_id, std::move(complete)});
    by_job_[job_id] = std::prev(plans_.end());
    while (bytes_ > most_bytes_) {
      Erase(plans_.begin());
    }
  }
  // That of the job as it is stored, which nobody finds here again.
  std::optional<JobPlan> Take(const std::string& job_id, const std::string& request)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_job_.find(job_id);
    if (found == by_job_.end()) {
      return std::nullopt;
    }
    CompleteRequest& complete = found->second->complete;
    std::optional<JobPlan> plan;
    if (complete.request == request) {
      plan = std::move(complete.plan);
    }
    Erase(found->second);
    return plan;
  }

  int64_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  struct Kept {
    std::string job_id;
    CompleteRequest complete;
  };

  // About: the lists of a plan take more than the bytes of the request that they are written in.
  static int64_t BytesOf(const CompleteRequest& complete) {
    return static_cast<int64_t>(sizeof(Kept) + 8 * complete.request.size());
  }
  void Erase(std::list<Kept>::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bytes_ -= BytesOf(kept->complete);
    by_job_.erase(kept->job_id);
    plans_.erase(kept);
  }

  const int64_t most_bytes_;
  mutable absl::Mutex mutex_;
  std::list<Kept> plans_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::map<std::string, std::list<Kept>::iterator> by_job_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mercer::server
