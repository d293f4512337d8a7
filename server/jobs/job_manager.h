// The durable queue and its workers: submit, run, cancel, resume, drain.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/process/cancellation.h"
#include "core/base/process/live_value.h"
#include "core/data/table/dataset.h"
#include "server/blobs/blob_store.h"
#include "server/blobs/disk_guard.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/job_planner.h"
#include "server/jobs/record/clock.h"
#include "server/jobs/upkeep/crash_notes.h"
#include "server/storage/storage.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

struct JobManagerOptions {
  std::string host;          // recorded with attempts
  std::string code_version;  // recorded with checkpoints and models; a checkpoint of another
                             // version starts again
  int num_workers = 2;       // jobs that run at the same time, >= 1
  int64_t memory_budget_bytes = int64_t{4} << 30;  // for the estimates of all running jobs together
  // The largest budget of all servers that share the storage; 0: there is no other. What exceeds this server's and not that one is
  // accepted here and left to the others.
  LiveValue<int64_t> largest_budget_bytes = int64_t{0};
  int64_t cache_bytes = int64_t{256} << 20;  // shared by runs, for kernels and the like
  // An existing folder for tables that are too large for memory; see job_scratch.h. Empty: all are in memory.
  std::string scratch_folder;
  int64_t least_scratch_bytes = int64_t{64} << 20;  // tables of no more are never written there
  absl::Duration checkpoint_interval = absl::Seconds(5);
  absl::Duration event_interval =
      absl::Milliseconds(250);  // progress events of one job are at least this far apart
  // Progress of an attempt's first moments waits for their end, or for the end of an attempt that takes no longer: see
  // progress_recorder.h. Without progress afterwards housekeeping writes it.
  absl::Duration quiet_start = absl::Milliseconds(20);
  absl::Duration lease_duration = absl::Seconds(30);
  // So many attempts of a job may be lost with the process for an unknown reason, and as many fail for
  // reasons of the server (see retry_policy.h), without a new checkpoint; the job then fails (see
  // orphans.h). Raise it where machines are taken away often.
  LiveValue<int> max_lost_attempts = 10;
  LiveValue<QueueLimits> queue_limits = QueueLimits();
  LiveValue<int64_t> max_running_jobs_per_caller = int64_t{0};  // 0: no limit
  // A thread renews leases and writes progress that was held back. Tests turn it off and call
  // RunHousekeeping.
  bool housekeeping_thread = true;
};

class AttemptFrame;  // attempt_frame.h
class JobWork;       // job_work.h
// The frame outlives the work.
using JobWorkMaker = std::function<std::unique_ptr<JobWork>(AttemptFrame& frame)>;

// All must outlive the manager.
struct JobManagerDependencies {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  const JobPlanner* planner = nullptr;
  LearnerLookup find_learner;
  Clock* clock = nullptr;
  // Of the kinds that are no trainings. With any, one worker more than num_workers takes jobs of these kinds alone, so that
  // they do not wait for the end of trainings that have all others.
  std::map<JobKind, JobWorkMaker> other_works = {};
  const DiskGuard* disk = nullptr;      // may be null: jobs are taken however full the disk is
  CrashNotes* crash_notes = nullptr;    // may be null: a crash of the process is blamed on no job
  JobObserver* observer = nullptr;      // may be null; told of the time that attempts take
  std::shared_ptr<spdlog::logger> log;  // may be null
};

// The limits that may change while jobs run.
struct JobLimits {
  int max_lost_attempts = 10;
  QueueLimits queue;
  int64_t max_running_jobs_per_caller = 0;
};

struct JobSubmission {
  JobKind kind = JobKind::kTraining;
  std::string request;  // trainings: what JobPlanner::Plan reads; equal content must be equal bytes
  // Trainings: what the request means, of whoever has translated it; null: the planner is asked.
  std::shared_ptr<const JobPlan> plan = nullptr;
  std::string request_id;  // may be empty
  std::string model_name;  // trainings alone; empty: "model-" and the job's id
  std::string caller;      // who owns it, and whose quota and turn it takes; may be empty
  std::string trace_id;    // of the call; may be empty
  int32_t priority = 0;
  Labels labels;
  OwnerCheck check = nullptr;  // of NewJob
};

// What a job of another kind than a training is stored with.
struct AdmittedJob {
  std::string request;  // that the work reads: names resolved, defaults written out
  std::vector<std::string> dataset_ids;
  int64_t memory_bytes = 0;
};
// Looks at what the request names, and refuses what the work would fail on.
using JobAdmitter = absl::FunctionRef<absl::StatusOr<AdmittedJob>()>;

struct JobEstimate {
  int64_t memory_bytes = 0;
};

// What a job would cost, without waiting for its turn.
struct JobCost {
  int64_t memory_bytes = 0;  // upper bound
  absl::Duration time;  // on this machine, when nothing else runs; about right within a factor of 3
  int64_t memory_budget_bytes = 0;  // of all running jobs; one that needs more is refused
  std::string request;              // as it would be stored, see JobPlanner::Complete
};

struct StoredModel;  // model_verification.h

// Thread-safe. Methods block on SQL and files: call them from a pool of I/O threads. Common errors:
// those of the storage.
class JobManager {
 public:
  JobManager(JobManagerOptions options, JobManagerDependencies dependencies);
  // Without Drain before: as if the process had died (no state is written; the next Start
  // recovers).
  ~JobManager();
  JobManager(const JobManager&) = delete;
  JobManager& operator=(const JobManager&) = delete;

  // Recover and StartWorkers. Call once.
  absl::Status Start();
  // The two halves of Start, for a server that has something to do in between: whatever fails before StartWorkers has
  // claimed no job. All other methods may be called after Recover; what is submitted waits for the workers.
  // Recovers the jobs of a dead process, deletes those that its calls have waited for, and collects unreferenced blobs.
  absl::Status Recover();
  // After an error some workers may run: call Drain.
  absl::Status StartWorkers();

  // Plans, estimates, stores. Errors: those of JobPlanner::Plan, ValidateRecipe and the learner;
  // kNotFound (reason DATASET_NOT_FOUND); kAlreadyExists (reason REQUEST_ID_REUSED);
  // kResourceExhausted (reason JOB_TOO_LARGE, metadata estimate_bytes and budget_bytes; reasons QUOTA_EXCEEDED,
  // DISK_NEARLY_FULL); kUnavailable (reason DRAINING); those of the check.
  // Rows are looked at: a submission that is cancelled meanwhile ends with kCancelled, and is not stored.
  absl::StatusOr<CreatedJob> Submit(const JobSubmission& submission,
                                    const CancellationToken& cancellation = CancellationToken());

  // The same of a job of another kind, which `admit` is asked for unless the submission repeats an earlier one.
  absl::StatusOr<CreatedJob> SubmitOther(const JobSubmission& submission, JobAdmitter admit);

  // Errors: kNotFound, kFailedPrecondition (reason JOB_IS_FINAL), those of `check`, which is asked of the job's caller. A
  // running job ends soon after; its state says CANCELLING at once.
  absl::StatusOr<JobRecord> Cancel(const std::string& job_id, const OwnerCheck& check = nullptr);

  // Ends the job with the best model so far, or CANCELLED (reason NO_MODEL) when there is none; see JobStore::StopJob. The
  // request survives the process. Errors: as Cancel.
  absl::StatusOr<JobRecord> Stop(const std::string& job_id, const OwnerCheck& check = nullptr);

  // Deletes a job, which is cancelled before if it has not ended; answers it as it last was. Errors: kNotFound; kFailedPrecondition
  // (reason JOB_NOT_FINAL), when a worker holds it still: what cannot be deleted now is deleted later.
  absl::StatusOr<JobRecord> Forget(const std::string& job_id);

  // Of the submission's request. Makes no job; also while draining. The first call measures the machine, for about 80 ms.
  // Errors: those of Submit that are about the request and its data.
  absl::StatusOr<JobCost> Estimate(const JobSubmission& submission,
                                   const CancellationToken& cancellation = CancellationToken());

  // The data set with its rows mapped, verified by this call; shared by all that use it. Errors: kNotFound, kDataLoss,
  // kCancelled.
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const std::string& id,
                                                             const CancellationToken& cancellation);

  // To look at its shape and its first row: the file may have rotted since it was verified. Errors: kNotFound, kDataLoss.
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenShape(const std::string& id);

  // The memory of a verification. Errors: those of PrepareVerification.
  absl::StatusOr<int64_t> VerificationBytes(const StoredModel& stored,
                                            const CancellationToken& cancellation);

  // Refuses new jobs, checkpoints the running ones, sends them back to the queue, stops the
  // workers. Idempotent.
  void Drain();
  bool draining() const;

  // From now on. Jobs that wait or run beyond a lower limit stay where they are.
  void SetLimits(const JobLimits& limits);

  // One round of what the housekeeping thread does about every 100 ms.
  void RunHousekeeping();

  // Blocks until no job runs and none that fits is queued. For tests and orderly tools.
  void WaitUntilIdle();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mercer::server
