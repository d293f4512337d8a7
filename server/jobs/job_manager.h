// The durable queue and its workers: submit, run, cancel, resume, drain.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/process/cancellation.h"
#include "core/data/table/dataset.h"
#include "core/training/run/machine_rates.h"
#include "server/jobs/attempt_environment.h"
#include "server/jobs/job_planner.h"
#include "server/jobs/queue_signal.h"
#include "server/jobs/record/steady_sleep.h"
#include "server/jobs/running_jobs.h"
#include "server/storage/storage.h"

namespace mercer::server {

struct JobSubmission {
  JobKind kind = JobKind::kTraining;
  std::string request;  // trainings: what JobPlanner::Plan reads; equal content must be equal bytes
  // Trainings: what the request means, of whoever has translated it; null: the planner is asked.
  std::shared_ptr<const JobPlan> plan = nullptr;
  std::string request_id;    // may be empty
  std::string display_name;  // may be empty
  std::string model_name;    // trainings alone; empty: "model-" and the job's id
  std::string caller;        // who owns it, and whose quota and turn it takes; may be empty
  std::string trace_id;      // of the call; may be empty
  int32_t priority = 0;
  Labels labels;
  OwnerCheck check = nullptr;  // of NewJob
};

// What a job of another kind than a training is stored with.
struct AdmittedJob {
  std::string request;  // that the work reads: names resolved, defaults written out
  std::vector<std::string> dataset_ids;
  int64_t memory_bytes = 0;
  std::string model = {};  // of the version that the work uses
  int64_t version = 0;
};
// Looks at what the request names, and refuses what the work would fail on.
using JobAdmitter = absl::FunctionRef<absl::StatusOr<AdmittedJob>()>;

// What a job would cost, without waiting for its turn.
struct JobCost {
  int64_t memory_bytes = 0;  // upper bound
  absl::Duration time;  // on this machine, when nothing else runs; about right within a factor of 3
  int64_t memory_budget_bytes = 0;  // of all running jobs; one that needs more is refused
  std::string request;              // as it would be stored, see JobPlanner::Complete
};

struct StoredModel;  // model_verification.h

// kResourceExhausted, reason JOB_TOO_LARGE.
absl::Status JobTooLarge(int64_t estimate_bytes, int64_t budget_bytes);

// The jobs that workers hold, of this server or of another, are looked at so often, in a round of the housekeeping: a job that another
// process cancels or stops hears of it within a second.
inline constexpr absl::Duration kLeaseLookInterval = absl::Milliseconds(900);

// Thread-safe. Methods block on SQL and files: call them from a pool of I/O threads. Common errors:
// those of the storage.
class JobManager {
 public:
  JobManager(JobManagerOptions options, JobManagerDependencies dependencies);
  // Without Drain before: as if the process had died (no state is written; the next Recover
  // does).
  ~JobManager() { End(&JobAttempt::Abandon); }
  JobManager(const JobManager&) = delete;
  JobManager& operator=(const JobManager&) = delete;

  // Call both once. Whatever fails before StartWorkers has claimed no job. All other methods may be called after Recover; what is
  // submitted waits for the workers.
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
  void Drain() { End(&JobAttempt::Drain); }
  bool draining() const { return signal_.stopped(); }

  // Takes those of the limits that may change while jobs run: of lost attempts, of the queue, and of the running jobs of a caller. Jobs
  // that wait or run beyond a lower one stay where they are.
  void SetLimits(const JobManagerOptions& limits);

  // One round of what the housekeeping thread does about every 100 ms: writes progress that was held back, renews leases, looks at
  // those of others, stores ends that could not be stored, wakes the workers for jobs whose time has come, and deletes jobs that are
  // to be forgotten and data sets that nothing needs any more. One thread at a time.
  void RunHousekeeping();

  // Blocks until no job runs and none that fits is queued. For tests and orderly tools.
  void WaitUntilIdle() { signal_.WaitUntilIdle(); }

 private:
  // A job that was claimed and whose attempt could not be begun.
  struct GivenUpJob {
    JobRecord job;
    absl::Status why;
  };

  Storage& storage() const { return *environment_.dependencies.storage; }
  Clock& clock() const { return *environment_.dependencies.clock; }
  // The last one, if it is beyond those of the options, takes no trainings.
  int num_workers() const {
    return environment_.options.num_workers +
           (environment_.dependencies.other_works.empty() ? 0 : 1);
  }
  bool TakesTrainings(int worker) const { return worker < environment_.options.num_workers; }
  // Those that take trainings help with other kinds while the one that does not is busy: no training waits for them because of a job
  // that this one could have taken.
  ClaimedJobs JobsOf(int worker) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(claim_mutex_) {
    if (!TakesTrainings(worker)) {
      return ClaimedJobs::kAllButTrainings;
    }
    const bool others_are_left = num_workers() > environment_.options.num_workers && !busy_beside_;
    return others_are_left ? ClaimedJobs::kTrainings : ClaimedJobs::kAll;
  }

  // The earlier job of this submission, or a new one of what `admit` answers, once the server takes jobs. Fills in what is the same
  // for all kinds.
  absl::StatusOr<CreatedJob> SubmitOnce(const JobSubmission& submission,
                                        absl::FunctionRef<absl::StatusOr<NewJob>()> admit);

  // Applies `end_attempt` to all running attempts and joins the threads.
  void End(void (JobAttempt::*end_attempt)());
  void SettleEnds();

  void Work(int worker);
  // Claims the next job; null when there is none to run now. Errors: those of the storage.
  absl::StatusOr<AttemptPointer> Claim(int worker) ABSL_LOCKS_EXCLUDED(claim_mutex_);
  // The worker is done with the attempt.
  void Finish(int worker, const JobAttempt& attempt) ABSL_LOCKS_EXCLUDED(claim_mutex_);
  // The worker that takes no trainings has a job of so many bytes now, or none.
  void SetBeside(bool busy, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(claim_mutex_);
  // After a claim of a worker that takes trainings, which found no job: whether one waits, perhaps for the memory of the job beside them.
  absl::StatusOr<bool> FindWaiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(claim_mutex_);
  void SetHeadWaits(bool waits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(claim_mutex_);
  AttemptPointer Begin(const JobRecord& job) ABSL_LOCKS_EXCLUDED(stop_mutex_);

  void KeepHouse();
  // Tells the attempts what their rows say, and ends those of others whose leases have expired, unless it has just done so. Answers
  // whether it has ended any. Errors: those of the storage; the next look does what this one has not.
  absl::StatusOr<bool> LookAtLeases();
  // Ends it; an end that the storage refuses now waits for the housekeeping. Without it the job would count as running until its lease
  // has expired.
  void GiveUp(const JobRecord& job, const absl::Status& why) ABSL_LOCKS_EXCLUDED(given_up_mutex_);
  // Whether an end was stored, or was not needed any more.
  bool EndGivenUp() ABSL_LOCKS_EXCLUDED(given_up_mutex_);

  absl::StatusOr<JobRecord> TryToForget(const std::string& job_id);
  // Deletes the jobs that are to be forgotten and that no worker holds any more.
  void ForgetLeft() ABSL_LOCKS_EXCLUDED(left_mutex_);
  // Forgets all jobs that calls of dead processes have waited for.
  absl::Status ForgetOfCalls() ABSL_LOCKS_EXCLUDED(left_mutex_);
  void DeleteReleased(const EndedAttempt& ended) const;
  void DropPlanOf(const JobRecord& job) const;  // which nobody asks for any more, if it is over
  void Warn(const JobRecord& job, const char* what, const absl::Status& status) const;

  MachineRates rates_;
  AttemptEnvironment environment_;
  const std::string worker_prefix_;
  absl::Mutex claim_mutex_;  // one claim at a time, so that two do not count on the same memory
  // The last claim for trainings found that the job of the worker that takes none may keep memory from the head of the queue:
  // that worker begins no other one until a claim finds a job or nothing in its way, so that predictions one after the other starve
  // no job.
  bool head_waits_ ABSL_GUARDED_BY(claim_mutex_) = false;
  int64_t bytes_beside_ ABSL_GUARDED_BY(claim_mutex_) = 0;  // of the job of that worker
  bool busy_beside_ ABSL_GUARDED_BY(claim_mutex_) = false;  // that worker has a job
  RunningJobs running_;
  QueueSignal signal_;
  absl::Mutex given_up_mutex_;
  std::list<GivenUpJob> given_up_ ABSL_GUARDED_BY(given_up_mutex_);  // whose ends wait
  absl::Mutex left_mutex_;
  std::set<std::string> left_ ABSL_GUARDED_BY(left_mutex_);  // jobs to be forgotten
  absl::Duration next_look_ = -absl::InfiniteDuration();     // of LookAtLeases
  std::atomic<int64_t> claims_rest_until_{0};                // nanoseconds of the monotonic clock
  absl::Mutex stop_mutex_;
  void (JobAttempt::*stop_action_)() ABSL_GUARDED_BY(stop_mutex_) =
      nullptr;        // for attempts that begin after the end was asked for
  SteadySleep rest_;  // of the housekeeping; ended by End
  absl::Mutex threads_mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(threads_mutex_);
};

}  // namespace mercer::server
