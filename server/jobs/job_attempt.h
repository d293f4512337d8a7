// One attempt at one job, from its claim to its end: plan, data, checkpoint, training, model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/cancellation.h"
#include "core/base/shared_cache.h"
#include "core/training/recipe.h"
#include "server/jobs/dataset_cache.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/progress_recorder.h"

namespace mercer::server {

// What all attempts of a manager share; outlives them.
struct AttemptEnvironment {
  JobManagerOptions options;
  JobManagerDependencies dependencies;
  DatasetCache* datasets = nullptr;
  std::shared_ptr<SharedCache> cache;
};

// Run() is called once, by a worker. The other methods are thread-safe.
class JobAttempt final : public RunObserver, public std::enable_shared_from_this<JobAttempt> {
 public:
  // `job` as it was claimed.
  JobAttempt(const AttemptEnvironment* environment, JobRecord job);

  // Returns when the attempt's end is stored, or when it was abandoned.
  void Run();

  void Cancel() { Interrupt(Interruption::kCancel); }
  void Drain() { Interrupt(Interruption::kDrain); }
  // Ends without writing anything more.
  void Abandon() { Interrupt(Interruption::kAbandon); }
  // Writes progress that was held back; extends the lease when a third of it has passed.
  void RunHousekeeping();

  const JobRecord& job() const { return job_; }

  // RunObserver
  void OnProgress(const ProgressEvent& event) override { recorder_.Record(event); }
  bool WantsCheckpoint() override;
  void OnCheckpoint(std::string state) override;
  void OnVerifying() override;

 private:
  // A later one outranks those before it.
  enum class Interruption : uint8_t { kNone = 0, kDrain = 1, kCancel = 2, kAbandon = 3 };

  struct Prepared {
    JobPlan plan;
    const LearnerEntry* entry = nullptr;
    OpenedDataset dataset;
  };

  void Interrupt(Interruption interruption);
  Interruption interruption() const { return interruption_.load(std::memory_order_acquire); }

  absl::StatusOr<Prepared> Prepare() const;
  // The state to continue from, empty for the start; tells watchers of a second attempt where it
  // begins.
  std::string LoadState();
  void TellResumed(int64_t iteration, std::string why);
  absl::StatusOr<TrainedModel> Train(const Prepared& prepared);
  absl::StatusOr<TrainedModel> RunRecipeSafely(const RecipeRun& run, const std::string& state,
                                               RunContext& context);

  void Succeed(const Prepared& prepared, const TrainedModel& trained);
  void EndWithError(const absl::Status& status);
  void End(AttemptEnd end);
  // One try, and CANCELLED instead of `end` when a cancellation came first.
  absl::StatusOr<EndedAttempt> StoreEnd(AttemptEnd end);
  AttemptEnd MakeEnd(JobState state, AttemptReason reason, std::string message);
  void Log(const std::string& what, const absl::Status& status) const;

  const AttemptEnvironment& environment_;
  const JobManagerDependencies& dependencies_;
  const JobRecord job_;
  const Lease lease_;
  const CancellationToken cancellation_;
  std::atomic<Interruption> interruption_{Interruption::kNone};
  std::atomic<int64_t> last_renewal_nanoseconds_;  // on the monotonic clock
  // Of the training thread alone.
  absl::Duration last_checkpoint_;
  ProgressRecorder recorder_;  // last: its destructor waits for callbacks that use the rest
};

}  // namespace mercer::server
