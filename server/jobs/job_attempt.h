// One attempt at one job, from its claim to its end: plan, data, checkpoint, training, model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/memory/shared_cache.h"
#include "core/base/process/crash_note.h"
#include "core/training/recipe/recipe.h"
#include "server/jobs/attempt_interruption.h"
#include "server/jobs/dataset_cache.h"
#include "server/jobs/executor.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/job_scratch.h"
#include "server/jobs/progress_recorder.h"
#include "server/jobs/training_data.h"

namespace mercer::server {

// What all attempts of a manager share; outlives them.
struct AttemptEnvironment {
  JobManagerOptions options;
  JobManagerDependencies dependencies;
  DatasetCache* datasets = nullptr;
  std::shared_ptr<SharedCache> cache = nullptr;
  std::unique_ptr<JobScratch> scratch = nullptr;
  // Of files, beside the threads that train.
  std::unique_ptr<Executor> writers = nullptr;
};

// Run() is called once, by a worker. The other methods are thread-safe.
class JobAttempt final : public RunObserver {
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
  void Stop() { interruption_->RequestStop(); }
  void Cancel() { Interrupt(Interruption::kCancel); }
  void Drain() { Interrupt(Interruption::kDrain); }
  // Ends without writing anything more.
  void Abandon() { Interrupt(Interruption::kAbandon); }
  // Writes progress that was held back; extends the lease when a third of it has passed; stores an
  // end that could not be stored before.
  void RunHousekeeping();

  const JobRecord& job() const { return job_; }

  // RunObserver
  void OnProgress(const ProgressEvent& event) override { recorder_.Record(event); }
  void OnStage(const ProgressEvent& event) override { recorder_.Record(event); }
  bool WantsCheckpoint() override;
  bool WantsLastCheckpoint() override;
  void OnCheckpoint(std::string state) override;
  void OnVerifying() override;
  bool StopRequested() override { return interruption_->stop_requested(); }

 private:
  using Interruption = AttemptInterruptionKind;

  struct Prepared {
    JobPlan plan;
    const LearnerEntry* entry = nullptr;
    TrainingData data;
    const ScratchSpace* scratch = nullptr;
  };

  // What a trained model leaves for the attempt's end.
  struct Success {
    std::vector<NewVersion> versions;  // the last is the best
    std::vector<PinnedBlob> blobs;     // that they name; not collected while they are here
  };

  void Interrupt(Interruption interruption) { interruption_->Request(interruption); }
  Interruption interruption() const { return interruption_->kind(); }

  // What `operation` answers, once it succeeds, fails for good, or has failed `tries` times. Disk and database may be
  // full, busy or out of handles for a while: that must not cost what was trained, so it is tried ever more rarely.
  // kCancelled when the attempt is interrupted meanwhile.
  template <typename Operation>
  std::invoke_result_t<Operation> KeepTrying(const char* failure, int tries, Operation operation);

  absl::StatusOr<Prepared> Prepare();
  // The state to continue from, empty for the start; tells watchers of a second attempt where it
  // begins. Errors: kCancelled; those of disk and storage.
  absl::StatusOr<std::string> LoadState();
  void TellResumed(int64_t iteration, std::string why);
  absl::StatusOr<TrainedModel> Train(const Prepared& prepared);

  // The attempt from plan to model.
  absl::StatusOr<Success> Work();
  absl::StatusOr<Success> StoreModels(const Prepared& prepared, const TrainedModel& trained);
  // `labels`: beside those of the job.
  absl::Status StoreModel(const Prepared& prepared, const Model& model, const std::string& witness,
                          Labels labels, Success& success);

  // How the attempt ends, from what Work has answered. Errors: those of the storage, which is asked for earlier attempts.
  absl::StatusOr<AttemptEnd> MakeEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(end_mutex_);
  absl::StatusOr<AttemptEnd> MakeErrorEnd(const absl::Status& status) const;
  // One try, and CANCELLED instead of `end` when a cancellation came first.
  absl::Status StoreEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(end_mutex_);
  void LogEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(end_mutex_);
  void Log(const std::string& what, const absl::Status& status) const;

  const AttemptEnvironment& environment_;
  const JobManagerDependencies& dependencies_;
  const JobRecord job_;
  const Lease lease_;
  std::optional<CrashNote> note_;  // what the worker leaves when it takes the process down
  // Held by the renewal of the lease, too: the attempt itself must not be, because its destructor waits for the thread
  // that runs such callbacks.
  const std::shared_ptr<AttemptInterruption> interruption_ =
      std::make_shared<AttemptInterruption>();
  std::atomic<int64_t> last_renewal_nanoseconds_;  // on the monotonic clock
  // Of the training thread alone.
  absl::Duration last_checkpoint_;
  bool server_failed_ = false;  // disk or storage, and not the job; read by others once worked_
  std::atomic<bool> worked_{false};  // outcome_ is there
  std::atomic<bool> ended_{false};
  absl::Mutex end_mutex_;                                         // held while the end is stored
  absl::StatusOr<Success> outcome_ ABSL_GUARDED_BY(end_mutex_);   // of Work
  std::optional<AttemptEnd> end_ ABSL_GUARDED_BY(end_mutex_);     // made of it
  bool end_tells_verifying_ ABSL_GUARDED_BY(end_mutex_) = false;  // in its last event but one
  absl::Duration end_pause_ ABSL_GUARDED_BY(end_mutex_);          // before the next try
  std::atomic<int64_t> next_try_nanoseconds_{0};                  // on the monotonic clock
  ProgressRecorder recorder_;  // last: its destructor waits for callbacks that use the rest
};

}  // namespace mercer::server
