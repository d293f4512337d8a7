// A storage whose reads of jobs a test counts, fails, and lets changes happen behind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/status/errors.h"
#include "server/storage/forwarding_storage.h"
#include "tests/support/server/forwarding_jobs.h"

namespace mercer::server {

struct JobHooks {
  // Called after the read and before its answer, or before the change.
  std::function<void()> after_list;
  std::function<void()> after_held;
  std::function<void()> before_takeover;
  int lists = 0;          // so far
  int failing_lists = 0;  // of the next ones

  static absl::Status Failure() {
    return WithReason(absl::InternalError("the storage fails"), "TEST_FAILURE");
  }
};

class HookedJobStore final : public ForwardingJobStore {
 public:
  HookedJobStore(JobStore* real, JobHooks* hooks) : ForwardingJobStore(real), hooks_(hooks) {}

  void TakeOver(Lease lease, absl::Time now, OrphanJudge judge, Done<EndedAttempt> done) override {
    if (hooks_->before_takeover) {
      hooks_->before_takeover();
    }
    jobs_->TakeOver(std::move(lease), now, std::move(judge), std::move(done));
  }
  absl::StatusOr<std::vector<HeldJob>> HeldJobs() override {
    return Answer(jobs_->HeldJobs(), hooks_->after_held);
  }
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override {
    ++hooks_->lists;
    if (hooks_->failing_lists > 0) {
      --hooks_->failing_lists;
      return JobHooks::Failure();
    }
    return Answer(jobs_->ListJobs(filter, page), hooks_->after_list);
  }

 private:
  template <typename T>
  static T Answer(T answer, std::function<void()> hook) {
    if (hook) {
      hook();
    }
    return answer;
  }

  JobHooks* const hooks_;
};

class HookedStorage final : public ForwardingStorage {
 public:
  HookedStorage(std::unique_ptr<Storage> real, JobHooks* hooks)
      : ForwardingStorage(real.get()), real_(std::move(real)), jobs_(&real_->jobs(), hooks) {}

  JobStore& jobs() override { return jobs_; }

 private:
  const std::unique_ptr<Storage> real_;
  HookedJobStore jobs_;
};

}  // namespace mercer::server
