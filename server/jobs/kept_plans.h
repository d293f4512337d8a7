// What the requests of queued jobs mean, for the workers of the process that has accepted them: a job of before its start, or of
// another server, is translated by its worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/memory/lru_cache.h"
#include "server/jobs/job_planner.h"

namespace mercer::server {

// Thread-safe. Keeps the newest plans of so many bytes together.
class KeptPlans {
 public:
  explicit KeptPlans(int64_t most_bytes) : plans_(most_bytes) {}

  void Keep(const std::string& job_id, CompleteRequest complete) {
    // About: the lists of a plan take more than the bytes of the request that they are written in.
    const size_t bytes = sizeof(Plans::Entry) + 8 * complete.request.size();
    plans_.Put(job_id, std::move(complete), static_cast<int64_t>(bytes));
  }
  // That of the job as it is stored, which nobody finds here again.
  std::optional<JobPlan> Take(const std::string& job_id, const std::string& request) {
    Plans::Entries taken = plans_.Take(job_id);
    if (taken.empty() || taken.front().value.request != request) {
      return std::nullopt;
    }
    return std::move(taken.front().value.plan);
  }

  int64_t bytes() const { return plans_.bytes(); }

 private:
  using Plans = LruCache<CompleteRequest>;

  Plans plans_;
};

}  // namespace mercer::server
