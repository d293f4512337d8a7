#include "server/jobs/job_manager.h"

#include <optional>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include <spdlog/logger.h>

#include "core/base/process/background.h"
#include "core/base/process/crash_note.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/run/machine_rates.h"
#include "server/jobs/given_up_jobs.h"
#include "server/jobs/housekeeper.h"
#include "server/jobs/job_admission.h"
#include "server/jobs/job_attempt.h"
#include "server/jobs/job_ender.h"
#include "server/jobs/model_verification.h"
#include "server/jobs/queue_signal.h"
#include "server/jobs/record/job_errors.h"
#include "server/jobs/record/steady_sleep.h"
#include "server/jobs/running_jobs.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/jobs/upkeep/orphans.h"

namespace mercer::server {
namespace {

// Of the plans of jobs that wait.
constexpr int64_t kKeptPlanBytes = int64_t{16} << 20;
constexpr absl::Duration kHousekeepingPeriod = absl::Milliseconds(100);
// After a claim that the storage refused.
constexpr absl::Duration kClaimPause = absl::Seconds(1);
// When the manager stops: how long, and how often, ends of attempts are tried that the storage has
// refused. Afterwards the next start recovers the jobs.
constexpr absl::Duration kSettleLimit = absl::Seconds(3);
constexpr absl::Duration kSettlePause = absl::Milliseconds(100);

}  // namespace

class JobManager::Impl {
 public:
  Impl(JobManagerOptions options, JobManagerDependencies dependencies)
      : datasets_(dependencies.storage, dependencies.blobs, kKeptDatasetBytes),
        environment_{std::move(options), std::move(dependencies), &datasets_},
        worker_prefix_(absl::StrCat(environment_.options.host, "/", MakeJobId(), "/")),
        signal_(num_workers()) {
    environment_.cache =
        std::make_shared<SharedCache>(static_cast<size_t>(environment_.options.cache_bytes));
    environment_.scratch = std::make_unique<JobScratch>(
        environment_.options.scratch_folder, environment_.options.least_scratch_bytes,
        environment_.options.memory_budget_bytes, environment_.dependencies.disk);
    environment_.writers = std::make_unique<ThreadPool>(environment_.options.num_workers);
    environment_.plans = std::make_unique<KeptPlans>(kKeptPlanBytes);
  }
  ~Impl() { Stop(&JobAttempt::Abandon); }

  absl::Status Recover();
  absl::Status StartWorkers();
  absl::StatusOr<CreatedJob> Submit(const JobSubmission& submission,
                                    absl::FunctionRef<absl::StatusOr<NewJob>()> admit);
  MachineRates& rates() { return rates_; }
  void Drain() { Stop(&JobAttempt::Drain); }
  void SetLimits(const JobLimits& limits) {
    environment_.options.max_lost_attempts = limits.max_lost_attempts;
    environment_.options.queue_limits = limits.queue;
    environment_.options.max_running_jobs_per_caller = limits.max_running_jobs_per_caller;
    signal_.Tell();  // a caller may have been passed over
  }
  void RunHousekeeping() { housekeeper_.DoRound(); }
  void WaitUntilIdle() { signal_.WaitUntilIdle(); }
  bool draining() const { return signal_.stopped(); }
  const AttemptEnvironment& environment() const { return environment_; }
  DatasetCache& datasets() { return datasets_; }
  JobEnder& ender() { return ender_; }
  // The last one, if it is beyond those of the options, takes no trainings.
  int num_workers() const {
    return environment_.options.num_workers +
           (environment_.dependencies.other_works.empty() ? 0 : 1);
  }
  ClaimedJobs JobsOf(int worker) const {
    return worker < environment_.options.num_workers ? ClaimedJobs::kAll
                                                     : ClaimedJobs::kAllButTrainings;
  }

 private:
  Storage& storage() const { return *environment_.dependencies.storage; }
  Clock& clock() const { return *environment_.dependencies.clock; }

  void StartThreads() ABSL_LOCKS_EXCLUDED(threads_mutex_);
  // Applies `end_attempt` to all running attempts and joins the threads.
  void Stop(void (JobAttempt::*end_attempt)());
  void SettleEnds();

  void Work(int worker);
  // Claims the next job; null when there is none to run now. Errors: those of the storage.
  absl::StatusOr<AttemptPointer> Claim(int worker) ABSL_LOCKS_EXCLUDED(claim_mutex_);
  // The worker is done with the attempt.
  void Finish(int worker, const JobAttempt& attempt) ABSL_LOCKS_EXCLUDED(claim_mutex_);
  // After a claim of all kinds that found no job: whether one waits, perhaps for the memory of the job beside the trainings.
  absl::StatusOr<bool> FindWaiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(claim_mutex_);
  void SetHeadWaits(bool waits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(claim_mutex_);
  AttemptPointer Begin(const JobRecord& job) ABSL_LOCKS_EXCLUDED(stop_mutex_);
  void KeepHouse();

  DatasetCache datasets_;
  MachineRates rates_;
  AttemptEnvironment environment_;
  const std::string worker_prefix_;
  absl::Mutex claim_mutex_;  // one claim at a time, so that two do not count on the same memory
  // The last claim of all kinds found that the job of the worker that takes no trainings may keep memory from the head of the queue:
  // that worker begins no other one until a claim finds a job or nothing in its way, so that predictions one after the other starve
  // no job.
  bool head_waits_ ABSL_GUARDED_BY(claim_mutex_) = false;
  int64_t bytes_beside_ ABSL_GUARDED_BY(claim_mutex_) = 0;  // of the job of that worker
  RunningJobs running_;
  GivenUpJobs given_up_{&environment_};
  QueueSignal signal_;
  JobEnder ender_{&environment_, &running_, &signal_};
  Housekeeper housekeeper_{&environment_, &running_, &given_up_, &ender_, &signal_};
  absl::Mutex stop_mutex_;
  void (JobAttempt::*stop_action_)() ABSL_GUARDED_BY(stop_mutex_) =
      nullptr;        // for attempts that begin after the end was asked for
  SteadySleep rest_;  // of the housekeeping; ended by Stop
  absl::Mutex threads_mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(threads_mutex_);
};

absl::Status JobManager::Impl::Recover() {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  MERCER_RETURN_IF_ERROR(
      RecoverOrphans(MakeOrphanRecovery(environment_), dependencies.crash_notes));
  if (const absl::Status forgotten = ender_.ForgetOfCalls();
      !forgotten.ok() && dependencies.log != nullptr) {
    dependencies.log->warn("jobs of calls of a dead process stay: {}", forgotten.ToString());
  }
  return CollectUnreferencedBlobs(storage(), *dependencies.blobs).status();
}

absl::Status JobManager::Impl::StartWorkers() {
  return RunSafely("starting the workers", [this] {
    StartThreads();
    return absl::OkStatus();
  });
}

void JobManager::Impl::StartThreads() {
  absl::MutexLock lock(&threads_mutex_);
  for (int i = 0; i < num_workers(); ++i) {
    threads_.emplace_back([this, i] { Work(i); });
  }
  if (environment_.options.housekeeping_thread) {
    threads_.emplace_back([this] { KeepHouse(); });
  }
}

absl::StatusOr<CreatedJob> JobManager::Impl::Submit(
    const JobSubmission& submission, absl::FunctionRef<absl::StatusOr<NewJob>()> admit) {
  MERCER_ASSIGN_OR_RETURN(CreatedJob created,
                          SubmitJob(
                              environment_, submission, [this] { return draining(); }, admit));
  signal_.Tell();
  return created;
}

void JobManager::Impl::Work(int worker) {
  EnterBackground();
  pthread_setname_np(pthread_self(), absl::StrCat("mercer-job-", worker).c_str());
  const CrashStack crash_stack;
  while (!signal_.stopped()) {
    const int64_t generation = signal_.generation();
    const absl::StatusOr<AttemptPointer> attempt =
        RunSafely("claiming a job", [this, worker] { return Claim(worker); });
    if (attempt.ok() && *attempt != nullptr) {
      (*attempt)->Run();
      Finish(worker, **attempt);
    } else if (!signal_.Wait(generation, attempt.ok() ? absl::InfiniteDuration() : kClaimPause)) {
      return;
    }
  }
}

void JobManager::Impl::Finish(int worker, const JobAttempt& attempt) {
  running_.Finish(attempt);
  if (JobsOf(worker) != ClaimedJobs::kAll) {
    absl::MutexLock claim_lock(&claim_mutex_);
    bytes_beside_ = 0;
  }
  signal_.Tell();  // memory is free
}

absl::StatusOr<AttemptPointer> JobManager::Impl::Claim(int worker) {
  absl::MutexLock claim_lock(&claim_mutex_);
  const ClaimedJobs jobs = JobsOf(worker);
  const bool takes_all = jobs == ClaimedJobs::kAll;
  if (signal_.stopped() || (!takes_all && head_waits_)) {
    return nullptr;
  }
  ClaimRequest request;
  request.jobs = jobs;
  request.free_memory_bytes = environment_.options.memory_budget_bytes - running_.bytes();
  request.memory_budget_bytes = environment_.options.memory_budget_bytes;
  request.worker = absl::StrCat(worker_prefix_, worker);
  request.host = environment_.options.host;
  request.now = clock().Now();
  request.lease = environment_.options.lease_duration;
  request.largest_budget_bytes = environment_.options.largest_budget_bytes;
  request.event = StateEvent(JobState::kRunning);
  request.max_running_per_caller = environment_.options.max_running_jobs_per_caller;
  MERCER_ASSIGN_OR_RETURN(const std::optional<JobRecord> job,
                          storage().jobs().ClaimJob(std::move(request)));
  if (!job.has_value()) {
    MERCER_ASSIGN_OR_RETURN(const absl::Time next, storage().jobs().NextReadyTime());
    signal_.SetNextReady(next);
    if (takes_all) {
      MERCER_ASSIGN_OR_RETURN(const bool waits, FindWaiting());
      SetHeadWaits(waits);
    }
    return nullptr;
  }
  if (takes_all) {
    SetHeadWaits(false);
  }
  bytes_beside_ = takes_all || job->memory_bytes > request.memory_budget_bytes ? bytes_beside_
                                                                               : job->memory_bytes;
  absl::StatusOr<AttemptPointer> begun = RunSafely(
      "beginning an attempt", [&]() -> absl::StatusOr<AttemptPointer> { return Begin(*job); });
  if (!begun.ok()) {
    bytes_beside_ = takes_all ? bytes_beside_ : 0;
    given_up_.GiveUp(*job, begun.status());
  }
  return begun;
}

void JobManager::Impl::SetHeadWaits(bool waits) {
  if (std::exchange(head_waits_, waits) && !waits) {
    signal_.Tell();  // the worker that takes no trainings may claim again
  }
}

absl::StatusOr<bool> JobManager::Impl::FindWaiting() const {
  if (bytes_beside_ == 0) {
    return false;
  }
  JobFilter queued;
  queued.states = {JobState::kQueued};
  MERCER_ASSIGN_OR_RETURN(const Page<JobRecord> jobs, storage().jobs().ListJobs(queued, {1, ""}));
  // A page that ends in the midst of jobs of other kinds may be empty.
  return !jobs.items.empty() || !jobs.next_token.empty();
}

AttemptPointer JobManager::Impl::Begin(const JobRecord& job) {
  auto attempt = std::make_shared<JobAttempt>(&environment_, job);
  // One that exceeds the whole budget ends at once, without taking memory.
  const bool fits = job.memory_bytes <= environment_.options.memory_budget_bytes;
  running_.Add(attempt, fits ? job.memory_bytes : 0);
  if (signal_.stopped()) {  // Stop may have looked at running_ before
    absl::MutexLock lock(&stop_mutex_);
    ((*attempt).*stop_action_)();
  }
  const absl::Status told = RunSafely("telling of an attempt", [&] {
    // A cancellation or stop that came between the claim and the entry in running_ found nobody to tell.
    const absl::StatusOr<JobRecord> now = storage().jobs().GetJob(job.id);
    if (now.ok() && now->state == JobState::kCancelling) {
      attempt->Cancel();
    }
    if (now.ok() && now->stop_requested) {
      attempt->Stop();
    }
    return absl::OkStatus();
  });
  told.IgnoreError();  // the renewal of the lease learns of them, too
  return attempt;
}

void JobManager::Impl::KeepHouse() {
  while (!rest_.For(kHousekeepingPeriod)) {
    RunSafely("housekeeping", [this] {
      RunHousekeeping();
      datasets_.DropUnused(clock().Monotonic());
      return absl::OkStatus();
    }).IgnoreError();  // the next round does what this one has not
  }
}

void JobManager::Impl::Stop(void (JobAttempt::*end_attempt)()) {
  {
    absl::MutexLock lock(&stop_mutex_);
    stop_action_ = end_attempt;
  }
  signal_.Stop();
  rest_.End();
  for (const AttemptPointer& attempt : running_.All()) {
    ((*attempt).*end_attempt)();
  }
  absl::MutexLock lock(&threads_mutex_);
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  SettleEnds();
}

void JobManager::Impl::SettleEnds() {
  const absl::Duration limit = RealClock().Monotonic() + kSettleLimit;
  for (const AttemptPointer& attempt : running_.All()) {
    while (!attempt->TryEnd() && RealClock().Monotonic() < limit) {
      absl::SleepFor(kSettlePause);
    }
  }
  running_.ForgetEnded();
  given_up_.TryAgain();
}

JobManager::JobManager(JobManagerOptions options, JobManagerDependencies dependencies)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(dependencies))) {}

JobManager::~JobManager() = default;

absl::Status JobManager::Start() {
  MERCER_RETURN_IF_ERROR(Recover());
  return StartWorkers();
}

absl::Status JobManager::Recover() { return impl_->Recover(); }

absl::Status JobManager::StartWorkers() { return impl_->StartWorkers(); }

absl::StatusOr<CreatedJob> JobManager::Submit(const JobSubmission& submission,
                                              const CancellationToken& cancellation) {
  const AttemptEnvironment& environment = impl_->environment();
  // A request that is wrong in itself is refused also when it repeats one.
  std::optional<JobPlan> asked;
  MERCER_ASSIGN_OR_RETURN(const JobPlan* plan, PlanOf(environment, submission, asked));
  MERCER_RETURN_IF_ERROR(ValidatePlan(environment.dependencies.find_learner, *plan).status());
  const RunContext context(cancellation, 1, nullptr);
  return impl_->Submit(submission,
                       [&] { return AdmitTraining(environment, submission, *plan, context); });
}

absl::StatusOr<CreatedJob> JobManager::SubmitOther(const JobSubmission& submission,
                                                   JobAdmitter admit) {
  return impl_->Submit(submission, [&] { return AdmitOther(impl_->environment(), admit); });
}

absl::StatusOr<JobRecord> JobManager::Cancel(const std::string& job_id, const OwnerCheck& check) {
  return impl_->ender().Cancel(job_id, check);
}

absl::StatusOr<JobRecord> JobManager::Stop(const std::string& job_id, const OwnerCheck& check) {
  return impl_->ender().Stop(job_id, check);
}

absl::StatusOr<JobRecord> JobManager::Forget(const std::string& job_id) {
  return impl_->ender().Forget(job_id);
}

absl::StatusOr<JobCost> JobManager::Estimate(const JobSubmission& submission,
                                             const CancellationToken& cancellation) {
  return EstimateCost(impl_->environment(), impl_->rates(), submission,
                      RunContext(cancellation, 1, nullptr));
}

absl::StatusOr<std::shared_ptr<const Dataset>> JobManager::OpenDataset(
    const std::string& id, const CancellationToken& cancellation) {
  return IfVisible(impl_->datasets().OpenVerified(id, cancellation));
}

absl::StatusOr<std::shared_ptr<const Dataset>> JobManager::OpenShape(const std::string& id) {
  return IfVisible(impl_->datasets().Open(id));
}

absl::StatusOr<int64_t> JobManager::VerificationBytes(const StoredModel& stored,
                                                      const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(
      const PreparedVerification prepared,
      PrepareVerification(impl_->environment(), stored, OpenedFor::kShape, cancellation));
  return prepared.choice.memory_bytes;
}

void JobManager::Drain() { impl_->Drain(); }

bool JobManager::draining() const { return impl_->draining(); }

void JobManager::SetLimits(const JobLimits& limits) { impl_->SetLimits(limits); }

void JobManager::RunHousekeeping() { impl_->RunHousekeeping(); }

void JobManager::WaitUntilIdle() { impl_->WaitUntilIdle(); }

}  // namespace mercer::server
