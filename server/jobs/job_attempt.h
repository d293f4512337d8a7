// One attempt at one job, from its claim to its end: the lease, what interrupts it, and the end of its work, stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/process/crash_note.h"
#include "server/jobs/attempt_frame.h"
#include "server/jobs/job_work.h"

namespace mercer::server {

// Run() is called once, by a worker. The other methods are thread-safe.
class JobAttempt final : public AttemptFrame {
 public:
  // `job` as it was claimed.
  JobAttempt(const AttemptEnvironment* environment, JobRecord job);

  // Does the work and tries once to store the attempt's end. Whatever goes wrong, exceptions and
  // lack of memory included, becomes the job's error.
  void Run();
  // Whether there is nothing left to do: the end is stored, the lease lost, or the attempt
  // abandoned. When a storage that fails is the reason, RunHousekeeping tries again, ever more
  // rarely.
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // Tries now; answers ended().
  bool TryEnd() ABSL_LOCKS_EXCLUDED(end_mutex_);

  // Ends soon, with the best model so far.
  void Stop() { interruption()->RequestStop(); }
  void Cancel() { interruption()->Request(Interruption::kCancel); }
  void Drain() { interruption()->Request(Interruption::kDrain); }
  // What the job's row says that others have asked for; kAborted: the lease is no longer its own.
  void Heed(const absl::StatusOr<RenewedLease>& row) { Heed(*interruption(), row); }
  // Writes progress that was held back; heeds the deadline; extends the lease when a third of it has
  // passed; stores an end that could not be stored before.
  void RunHousekeeping();

 private:
  using Interruption = AttemptInterruptionKind;

  static void Heed(AttemptInterruption& interruption, const absl::StatusOr<RenewedLease>& row);

  // By the kind of the job.
  absl::StatusOr<WorkOutcome> Work();
  // How the attempt ends, from what Work has answered. Errors: those of the storage, which is asked for earlier attempts.
  absl::StatusOr<AttemptEnd> MakeEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(end_mutex_);
  absl::StatusOr<AttemptEnd> MakeErrorEnd(const absl::Status& status) const;
  // One try, see EndOrCancel.
  absl::Status StoreEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(end_mutex_);
  // Of the job as it is left.
  void LogEnd(const JobRecord& left) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(end_mutex_);

  std::optional<CrashNote> note_;  // what the worker leaves when it takes the process down
  std::atomic<int64_t> last_renewal_nanoseconds_;  // on the monotonic clock
  std::atomic<bool> worked_{false};                // outcome_ is there
  std::atomic<bool> ended_{false};
  absl::Mutex end_mutex_;                                            // held while the end is stored
  absl::StatusOr<WorkOutcome> outcome_ ABSL_GUARDED_BY(end_mutex_);  // of Work
  std::optional<AttemptEnd> end_ ABSL_GUARDED_BY(end_mutex_);        // made of it
  std::vector<BlobDigest> unused_ ABSL_GUARDED_BY(end_mutex_);       // that another end leaves
  bool end_tells_verifying_ ABSL_GUARDED_BY(end_mutex_) = false;     // in its last event but one
  absl::Duration end_pause_ ABSL_GUARDED_BY(end_mutex_);             // before the next try
  std::atomic<int64_t> next_try_nanoseconds_{0};                     // on the monotonic clock
};

}  // namespace mercer::server
