#include "server/jobs/job_manager.h"

#include <optional>
#include <pthread.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <spdlog/logger.h>

#include "core/base/process/background.h"
#include "core/base/process/crash_note.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/orphans.h"
#include "server/jobs/record/job_event.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/storage/new_id.h"

namespace mercer::server {
namespace {

// Of the plans of jobs that wait.
constexpr int64_t kKeptPlanBytes = int64_t{16} << 20;
// After a claim that the storage refused.
constexpr absl::Duration kClaimPause = absl::Seconds(1);
// For so long others are not woken for jobs that are due: less, so that whoever is not refused is woken before the next refusal.
constexpr absl::Duration kClaimRest = absl::Milliseconds(700);
// When the manager stops: how long, and how often, ends of attempts are tried that the storage has
// refused. Afterwards the next start recovers the jobs.
constexpr absl::Duration kSettleLimit = absl::Seconds(3);
constexpr absl::Duration kSettlePause = absl::Milliseconds(100);

}  // namespace

JobManager::JobManager(JobManagerOptions options, JobManagerDependencies dependencies)
    : environment_{std::move(options), std::move(dependencies)},
      worker_prefix_(absl::StrCat(environment_.options.host, "/", NewId(), "/")),
      signal_(num_workers()) {
  const JobManagerOptions& made = environment_.options;
  environment_.datasets = std::make_unique<DatasetCache>(
      &storage(), environment_.dependencies.blobs, kKeptDatasetBytes);
  environment_.cache = std::make_shared<SharedCache>(static_cast<size_t>(made.cache_bytes));
  environment_.scratch =
      std::make_unique<JobScratch>(made.scratch_folder, made.least_scratch_bytes,
                                   made.memory_budget_bytes, environment_.dependencies.disk);
  environment_.writers = std::make_unique<ThreadPool>(made.num_workers);
  environment_.plans = std::make_unique<KeptPlans>(kKeptPlanBytes);
}

absl::Status JobManager::Recover() {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  MERCER_RETURN_IF_ERROR(RecoverOrphans(environment_));
  if (const absl::Status forgotten = ForgetOfCalls();
      !forgotten.ok() && dependencies.log != nullptr) {
    dependencies.log->warn("jobs of calls of a dead process stay: {}", forgotten.ToString());
  }
  return CollectUnreferencedBlobs(storage(), *dependencies.blobs).status();
}

absl::Status JobManager::StartWorkers() {
  return RunSafely("starting the workers", [this] {
    absl::MutexLock lock(&threads_mutex_);
    for (int i = 0; i < num_workers(); ++i) {
      threads_.emplace_back([this, i] { Work(i); });
    }
    if (environment_.options.housekeeping_thread) {
      threads_.emplace_back([this] { KeepHouse(); });
    }
    return absl::OkStatus();
  });
}

void JobManager::SetLimits(const JobManagerOptions& limits) {
  environment_.options.max_lost_attempts = limits.max_lost_attempts;
  environment_.options.queue_limits = limits.queue_limits;
  environment_.options.max_running_jobs_per_caller = limits.max_running_jobs_per_caller;
  signal_.Tell();  // a caller may have been passed over
}

void JobManager::Work(int worker) {
  EnterBackground();
  pthread_setname_np(pthread_self(), absl::StrCat("mercer-job-", worker).c_str());
  const CrashStack crash_stack;
  while (!signal_.stopped()) {
    const int64_t generation = signal_.generation();
    const absl::StatusOr<AttemptPointer> attempt =
        RunSafely("claiming a job", [this, worker] { return Claim(worker); });
    if (!attempt.ok()) {
      claims_rest_until_ = absl::ToInt64Nanoseconds(clock().Monotonic() + kClaimRest);
    }
    if (attempt.ok() && *attempt != nullptr) {
      (*attempt)->Run();
      Finish(worker, **attempt);
    } else if (!signal_.Wait(generation, attempt.ok() ? absl::InfiniteDuration() : kClaimPause)) {
      return;
    }
  }
}

void JobManager::Finish(int worker, const JobAttempt& attempt) {
  running_.Finish(attempt);
  if (!TakesTrainings(worker)) {
    absl::MutexLock claim_lock(&claim_mutex_);
    SetBeside(false, 0);
  }
  signal_.Tell();  // memory is free
}

absl::StatusOr<AttemptPointer> JobManager::Claim(int worker) {
  absl::MutexLock claim_lock(&claim_mutex_);
  const bool takes_trainings = TakesTrainings(worker);
  if (signal_.stopped() || (!takes_trainings && head_waits_)) {
    return nullptr;
  }
  ClaimRequest request;
  request.jobs = JobsOf(worker);
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
    if (takes_trainings) {
      MERCER_ASSIGN_OR_RETURN(const bool waits, FindWaiting());
      SetHeadWaits(waits);
    }
    return nullptr;
  }
  if (takes_trainings) {
    SetHeadWaits(false);
  } else {
    SetBeside(true, job->memory_bytes > request.memory_budget_bytes ? 0 : job->memory_bytes);
  }
  absl::StatusOr<AttemptPointer> begun = RunSafely(
      "beginning an attempt", [&]() -> absl::StatusOr<AttemptPointer> { return Begin(*job); });
  if (!begun.ok()) {
    if (!takes_trainings) {
      SetBeside(false, 0);
    }
    GiveUp(*job, begun.status());
  } else if (!takes_trainings) {
    signal_.Tell();  // the others have left this job to it, and may take the next one
  }
  return begun;
}

void JobManager::SetHeadWaits(bool waits) {
  if (std::exchange(head_waits_, waits) && !waits) {
    signal_.Tell();  // the worker that takes no trainings may claim again
  }
}

void JobManager::SetBeside(bool busy, int64_t bytes) {
  busy_beside_ = busy;
  bytes_beside_ = bytes;
}

absl::StatusOr<bool> JobManager::FindWaiting() const {
  if (bytes_beside_ == 0) {
    return false;
  }
  JobFilter queued;
  queued.states = {JobState::kQueued};
  MERCER_ASSIGN_OR_RETURN(const Page<JobRecord> jobs, storage().jobs().ListJobs(queued, {1, ""}));
  // A page that ends in the midst of jobs of other kinds may be empty.
  return !jobs.items.empty() || !jobs.next_token.empty();
}

AttemptPointer JobManager::Begin(const JobRecord& job) {
  auto attempt = std::make_shared<JobAttempt>(&environment_, job);
  // One that exceeds the whole budget ends at once, without taking memory.
  const bool fits = job.memory_bytes <= environment_.options.memory_budget_bytes;
  running_.Add(attempt, fits ? job.memory_bytes : 0);
  if (signal_.stopped()) {  // End may have looked at running_ before
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

void JobManager::End(void (JobAttempt::*end_attempt)()) {
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

void JobManager::SettleEnds() {
  const absl::Duration limit = RealClock().Monotonic() + kSettleLimit;
  for (const AttemptPointer& attempt : running_.All()) {
    while (!attempt->TryEnd() && RealClock().Monotonic() < limit) {
      absl::SleepFor(kSettlePause);
    }
  }
  running_.ForgetEnded();
  EndGivenUp();
}

}  // namespace mercer::server
