// What an attempt offers to the work that is done in it: the job, why it is to end, its progress, and patience with disks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/process/cancellation.h"
#include "server/jobs/attempt_environment.h"
#include "server/jobs/progress_recorder.h"
#include "server/jobs/record/retry_policy.h"
#include "server/jobs/record/steady_sleep.h"

namespace mercer::server {

// Between tries of what a disk or a storage refuses: doubled after each.
inline constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
inline constexpr absl::Duration kLongestPause = absl::Seconds(30);
// Of what a job begins with: about 1.5 seconds. What lasts longer is left to the next attempt, so that the worker can do
// something else. What a job has made is not given up.
inline constexpr int kReadTries = 5;
inline constexpr int kEndlessTries = std::numeric_limits<int>::max();

// A later one outranks those before it.
enum class AttemptInterruptionKind : uint8_t { kNone = 0, kDrain = 1, kCancel = 2, kAbandon = 3 };

// Why an attempt is to end before its time. Shared by the attempt and by callbacks that may outlive it. Thread-safe.
class AttemptInterruption {
 public:
  void Request(AttemptInterruptionKind kind) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      kind_ = std::max(kind_, kind);
      token_.Cancel();
      token_of_all_.Cancel();
    }
    pause_.End();
  }
  AttemptInterruptionKind kind() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return kind_;
  }
  // Apart from the interruptions: the run is to end now and keep the best model so far.
  void RequestStop() {
    stop_requested_.store(true, std::memory_order_relaxed);
    token_of_all_.Cancel();
  }
  bool stop_requested() const { return stop_requested_.load(std::memory_order_relaxed); }
  // A time of the clock of the jobs, from which on the work has had its time. What a deadline leaves is up to the work.
  void SetDeadline(absl::Duration deadline) {
    deadline_nanoseconds_.store(absl::ToInt64Nanoseconds(deadline), std::memory_order_relaxed);
  }
  // Whether the deadline has passed `now`: then token_of_all is cancelled.
  bool HeedDeadline(absl::Duration now) const {
    const bool passed = absl::ToInt64Nanoseconds(now) >= deadline_nanoseconds_.load();
    if (passed) {
      token_of_all_.Cancel();
    }
    return passed;
  }
  // Cancelled by the first request, but not by that of a stop.
  const CancellationToken& token() const { return token_; }
  // By either, and by the deadline: for work of which neither keeps anything.
  const CancellationToken& token_of_all() const { return token_of_all_; }

  // Sleeps; answers at once, and true, when there is a request.
  bool WaitFor(absl::Duration limit) const { return pause_.For(limit); }

 private:
  const CancellationToken token_;
  const CancellationToken token_of_all_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<int64_t> deadline_nanoseconds_{std::numeric_limits<int64_t>::max()};
  SteadySleep pause_;
  mutable absl::Mutex mutex_;
  AttemptInterruptionKind kind_ ABSL_GUARDED_BY(mutex_) = AttemptInterruptionKind::kNone;
};

// Thread-safe, but for KeepTrying, which belongs to the thread that works.
class AttemptFrame {
 public:
  // `job` as it was claimed.
  AttemptFrame(const AttemptEnvironment* environment, JobRecord job);
  AttemptFrame(const AttemptFrame&) = delete;
  AttemptFrame& operator=(const AttemptFrame&) = delete;

  const AttemptEnvironment& environment() const { return environment_; }
  const JobManagerDependencies& dependencies() const { return environment_.dependencies; }
  const JobRecord& job() const { return job_; }
  const Lease& lease() const { return lease_; }
  ProgressRecorder& recorder() { return recorder_; }

  // Held by callbacks that may outlive the attempt.
  const std::shared_ptr<AttemptInterruption>& interruption() const { return interruption_; }
  const CancellationToken& token() const { return interruption_->token(); }
  // Ends without writing anything more.
  void Abandon() { interruption_->Request(AttemptInterruptionKind::kAbandon); }

  // What `operation` answers, once it succeeds, fails for good, or has failed `tries` times. Disk and database may be
  // full, busy or out of handles for a while: that must not cost what was done, so it is tried ever more rarely.
  // kCancelled when the attempt is interrupted meanwhile.
  template <typename Operation>
  std::invoke_result_t<Operation> KeepTrying(const char* failure, int tries, Operation operation) {
    absl::Duration pause = kFirstPause;
    for (int tried = 1;; ++tried) {
      auto result = operation();
      if (result.ok() || IsForGood(result.status()) || absl::IsCancelled(result.status())) {
        return result;
      }
      Log(failure, result.status());
      if (tried == tries) {
        server_failed_ = true;
        return result;
      }
      if (interruption_->WaitFor(pause)) {
        return absl::CancelledError("interrupted before a disk or a storage worked again");
      }
      pause = std::min(2 * pause, kLongestPause);
    }
  }
  // Tells watchers where this attempt begins, another than the first, and if from the start, why.
  void TellResumed(int64_t iteration, std::string why);

  // Disk or storage has failed the work, and not the job: KeepTrying has given up, or BlameServer was called. Of the thread that
  // works, and of others once it is done.
  bool server_failed() const { return server_failed_; }
  // Answers `status`, an error of a disk or a storage that cannot be asked again within the attempt, if it is one.
  absl::Status BlameServer(absl::Status status) {
    server_failed_ |= !status.ok() && !IsForGood(status);
    return status;
  }

  void Log(const std::string& what, const absl::Status& status) const;

 private:
  const AttemptEnvironment& environment_;
  const JobRecord job_;
  const Lease lease_;
  const std::shared_ptr<AttemptInterruption> interruption_ =
      std::make_shared<AttemptInterruption>();
  bool server_failed_ = false;
  ProgressRecorder recorder_;  // last: its destructor waits for callbacks that use the rest
};

}  // namespace mercer::server
