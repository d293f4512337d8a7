// A feed of jobs over the server's own storage, whose work is done when a test says so.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/jobs/record/job_event.h"
#include "server/watching/job_feed.h"
#include "tests/support/server/failing_executor.h"
#include "tests/support/server/hooked_jobs.h"
#include "tests/support/server/test_storage.h"

namespace mercer::server {

// Runs what is posted when it is told to, on the thread that tells.
class StepExecutor final : public Executor {
 public:
  void Post(absl::AnyInvocable<void()> work) override {
    absl::MutexLock lock(&mutex_);
    work_.push_back(std::move(work));
  }
  bool RunOne() {
    absl::AnyInvocable<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      if (work_.empty()) {
        return false;
      }
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
    return true;
  }
  void RunAll() {
    while (RunOne()) {
    }
  }

 private:
  absl::Mutex mutex_;
  std::deque<absl::AnyInvocable<void()>> work_ ABSL_GUARDED_BY(mutex_);
};

class JobFeedTest : public ::testing::Test {
 protected:
  JobFeedTest() {
    auto hooked = std::make_unique<HookedStorage>(MakeTestStorage(), &hooks_);
    storage_ = std::make_unique<WatchedStorage>(std::move(hooked));
    MakeFeed({.page_jobs = 2});
    DatasetRecord dataset;
    dataset.id = "data";
    EXPECT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  }
  ~JobFeedTest() override {
    watch_.reset();
    executor_.RunAll();
  }

  void MakeFeed(JobFeed::Options options) {
    feed_.reset();
    feed_ = std::make_unique<JobFeed>(storage_.get(), &failing_, options);
  }
  void Submit(const std::string& id, const Labels& labels = {}, const std::string& request = "",
              JobKind kind = JobKind::kTraining) {
    NewJob job;
    job.id = id;
    job.kind = kind;
    job.dataset_ids = {"data"};
    job.model_name = kind == JobKind::kTraining ? "model" : "";
    job.labels = labels;
    job.request = request;
    job.event = StateEvent(JobState::kQueued);
    ASSERT_TRUE(storage_->jobs().CreateJob(job).ok());
  }
  // The oldest queued job.
  Lease Claim() {
    ClaimRequest claim;
    claim.worker = "w";
    claim.event = StateEvent(JobState::kRunning);
    const auto claimed = storage_->jobs().ClaimJob(claim);
    EXPECT_TRUE(claimed.ok() && claimed->has_value());
    return {(*claimed)->id, "w", (*claimed)->epoch};
  }
  void Progress(const Lease& lease, int64_t iteration) {
    JobEvent event;
    event.kind = JobEventKind::kProgress;
    event.state = JobState::kRunning;
    const auto stored = storage_->events().Append(lease, {{iteration, EncodeJobEvent(event)}},
                                                  absl::FromUnixSeconds(1));
    ASSERT_TRUE(stored.ok()) << stored.status();
  }
  void End(const Lease& lease, JobState state) {
    AttemptEnd end;
    end.lease = lease;
    end.state = state;
    end.events = {StateEvent(state)};
    ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
  }
  void Cancel(const std::string& id) {
    ASSERT_TRUE(storage_->jobs()
                    .CancelJob({id, absl::FromUnixSeconds(1), StateEvent(JobState::kCancelling),
                                StateEvent(JobState::kCancelled)})
                    .ok());
  }
  void Watch(JobFilter filter = {}, int64_t after = 0) {
    watch_ = feed_->Watch(std::move(filter), after, [this] { ++wakes_; });
  }

  // What there is to get: "id STATE iteration", with "+" before jobs that were there, "-" before those that
  // left; "|" after the last that was there. Runs the feed's work while there is any.
  std::vector<std::string> Take() {
    std::vector<std::string> taken;
    while (true) {
      const NextJob next = watch_->Next();
      if (next.kind == NextJob::kWait) {
        if (!executor_.RunOne()) {
          return taken;
        }
      } else if (next.kind == NextJob::kEnd) {
        taken.push_back(absl::StrCat("end ", GetReason(next.status)));
        return taken;
      } else {
        sequence_ = next.sequence;
        taken.push_back(next.kind == NextJob::kExistingSent ? "|" : Describe(next));
      }
    }
  }
  static std::string Describe(const NextJob& next) {
    const int64_t iteration = next.item->record.last_event->iteration;
    return absl::StrCat(next.existing ? "+" : "", next.left ? "-" : "", next.item->record.id, " ",
                        next.item->deleted ? "deleted " : "",
                        std::string(JobStateName(next.item->record.state)),
                        iteration > 0 ? absl::StrCat(" ", iteration) : "");
  }

  JobHooks hooks_;
  std::unique_ptr<WatchedStorage> storage_;
  StepExecutor executor_;
  FailingExecutor failing_{executor_};
  std::unique_ptr<JobFeed> feed_;
  std::unique_ptr<JobWatch> watch_;
  int64_t sequence_ = -1;  // of what was taken last
  std::atomic<int> wakes_{0};
};

}  // namespace mercer::server
