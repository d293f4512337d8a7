#include "server/jobs/kept_plans.h"

#include <iterator>
#include <utility>

namespace mercer::server {

int64_t KeptPlans::BytesOf(const CompleteRequest& complete) {
  return static_cast<int64_t>(sizeof(Kept) + 8 * complete.request.size());
}

void KeptPlans::Keep(const std::string& job_id, CompleteRequest complete) {
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

std::optional<JobPlan> KeptPlans::Take(const std::string& job_id, const std::string& request) {
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

int64_t KeptPlans::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

void KeptPlans::Erase(std::list<Kept>::iterator kept) {
  bytes_ -= BytesOf(kept->complete);
  by_job_.erase(kept->job_id);
  plans_.erase(kept);
}

}  // namespace mercer::server
