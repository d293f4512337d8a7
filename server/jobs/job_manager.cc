#include "server/jobs/job_manager.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include <spdlog/logger.h>

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "server/blobs/sha256.h"
#include "server/jobs/blob_collector.h"
#include "server/jobs/job_attempt.h"

namespace mercer::server {
namespace {

constexpr absl::Duration kHousekeepingPeriod = absl::Milliseconds(100);
// After a claim that the storage refused.
constexpr absl::Duration kClaimPause = absl::Seconds(1);

// 80 random bits in Crockford's alphabet, lower case: no letters that look alike.
std::string MakeId() {
  constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::random_device device;
  std::string id;
  for (int i = 0; i < 16; ++i) {
    id.push_back(kAlphabet[device() % 32]);
  }
  return id;
}

absl::Status Draining() {
  return WithReason(absl::UnavailableError("the server is shutting down and takes no new jobs"),
                    "DRAINING");
}

absl::Status TooLarge(int64_t estimate, int64_t budget) {
  return WithReason(
      absl::ResourceExhaustedError(
          absl::StrCat("the job needs up to ", estimate,
                       " bytes of memory, more than the server's budget of ", budget, " bytes")),
      "JOB_TOO_LARGE",
      {{"estimate_bytes", absl::StrCat(estimate)}, {"budget_bytes", absl::StrCat(budget)}});
}

}  // namespace

class JobManager::Impl {
 public:
  Impl(JobManagerOptions options, JobManagerDependencies dependencies)
      : datasets_(dependencies.storage, dependencies.blobs),
        environment_{std::move(options), std::move(dependencies), &datasets_, nullptr},
        worker_prefix_(absl::StrCat(environment_.options.host, "/", MakeId(), "/")) {
    environment_.cache =
        std::make_shared<SharedCache>(static_cast<size_t>(environment_.options.cache_bytes));
  }
  ~Impl() { Stop(&JobAttempt::Abandon); }

  absl::Status Start();
  absl::StatusOr<CreatedJob> Submit(const JobSubmission& submission);
  absl::StatusOr<JobRecord> Cancel(const std::string& job_id);
  absl::StatusOr<JobEstimate> Estimate(const JobPlan& plan);
  void Drain() { Stop(&JobAttempt::Drain); }
  void RunHousekeeping();
  void WaitUntilIdle();

  bool draining() const {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }
  DatasetCache& datasets() { return datasets_; }
  const JobPlanner& planner() const { return *environment_.dependencies.planner; }

 private:
  // What can be checked without data.
  absl::StatusOr<const LearnerEntry*> ValidatePlan(const JobPlan& plan) const;

  Storage& storage() const { return *environment_.dependencies.storage; }
  Clock& clock() const { return *environment_.dependencies.clock; }
  ProgressHub& hub() const { return *environment_.dependencies.hub; }

  absl::Status RecoverOrphans();
  absl::Status RecoverOrphan(const JobRecord& job);
  // Applies `end_attempt` to all running attempts and joins the threads.
  void Stop(void (JobAttempt::*end_attempt)());

  void Work(int worker);
  // Claims the next job; null when there is none to run now. `failed`: the storage refused.
  std::shared_ptr<JobAttempt> Claim(int worker, bool* failed)
      ABSL_LOCKS_EXCLUDED(claim_mutex_, mutex_);
  void Finish(const JobAttempt& attempt) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until there may be something new to claim; false when the worker must end.
  bool WaitForWork(int64_t seen_generation, absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);
  void TellWorkers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepHouse();
  std::vector<std::shared_ptr<JobAttempt>> Running() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || idle_workers_ == environment_.options.num_workers;
  }

  DatasetCache datasets_;
  AttemptEnvironment environment_;
  const std::string worker_prefix_;
  absl::Mutex claim_mutex_ ABSL_ACQUIRED_BEFORE(
      mutex_);  // one claim at a time, so that two do not count on the same memory
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<JobAttempt>> running_ ABSL_GUARDED_BY(mutex_);  // by job id
  int64_t running_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // estimates of the running jobs
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;     // counts reasons to look at the queue
  int idle_workers_ ABSL_GUARDED_BY(mutex_) = 0;       // that found nothing in this generation
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  void (JobAttempt::*stop_action_)()
      ABSL_GUARDED_BY(mutex_) = nullptr;  // for attempts that begin while stopping_
  absl::Mutex threads_mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(threads_mutex_);
};

absl::Status JobManager::Impl::Start() {
  MERCER_RETURN_IF_ERROR(RecoverOrphans());
  MERCER_RETURN_IF_ERROR(
      CollectUnreferencedBlobs(storage(), *environment_.dependencies.blobs).status());
  absl::MutexLock lock(&threads_mutex_);
  for (int i = 0; i < environment_.options.num_workers; ++i) {
    threads_.emplace_back([this, i] { Work(i); });
  }
  if (environment_.options.housekeeping_thread) {
    threads_.emplace_back([this] { KeepHouse(); });
  }
  return absl::OkStatus();
}

// One process uses the storage, so whoever held a lease before this process started is dead.
absl::Status JobManager::Impl::RecoverOrphans() {
  const JobFilter orphans{{JobState::kRunning, JobState::kCancelling, JobState::kVerifying}, {}};
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const Page<JobRecord> page,
                            storage().jobs().ListJobs(orphans, PageRequest()));
    if (page.items.empty()) {
      return absl::OkStatus();
    }
    for (const JobRecord& job : page.items) {
      MERCER_RETURN_IF_ERROR(RecoverOrphan(job));
    }
  }
}

absl::Status JobManager::Impl::RecoverOrphan(const JobRecord& job) {
  const bool cancelled = job.state == JobState::kCancelling;
  AttemptEnd end;
  end.lease = {job.id, job.lease_worker, job.epoch};
  end.state = cancelled ? JobState::kCancelled : JobState::kQueued;
  end.reason = cancelled ? AttemptReason::kCancelled : AttemptReason::kWorkerLost;
  end.now = clock().Now();
  end.events = {StateEvent(end.state, cancelled ? "" : "the server was restarted")};
  MERCER_ASSIGN_OR_RETURN(const EndedAttempt ended, storage().jobs().EndAttempt(std::move(end)));
  hub().Publish(job.id, ended.events);
  return absl::OkStatus();
}

absl::StatusOr<const LearnerEntry*> JobManager::Impl::ValidatePlan(const JobPlan& plan) const {
  const LearnerEntry* entry = environment_.dependencies.find_learner(plan.recipe.learner);
  if (entry == nullptr) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("there is no learner '", plan.recipe.learner, "'")),
        "UNKNOWN_LEARNER", {{"learner", plan.recipe.learner}});
  }
  if (plan.dataset_ids.size() != 1) {
    return absl::UnimplementedError(
        absl::StrCat("a job takes exactly one data set, this one names ", plan.dataset_ids.size()));
  }
  MERCER_RETURN_IF_ERROR(ValidateRecipe(*entry, plan.recipe));
  return entry;
}

absl::StatusOr<JobEstimate> JobManager::Impl::Estimate(const JobPlan& plan) {
  MERCER_ASSIGN_OR_RETURN(const LearnerEntry* entry, ValidatePlan(plan));
  MERCER_ASSIGN_OR_RETURN(const OpenedDataset opened, datasets_.Open(plan.dataset_ids[0]));
  MERCER_ASSIGN_OR_RETURN(const size_t bytes,
                          EstimateRecipeMemory(*entry, plan.recipe, *opened.dataset));
  return JobEstimate{static_cast<int64_t>(bytes)};
}

absl::StatusOr<CreatedJob> JobManager::Impl::Submit(const JobSubmission& submission) {
  MERCER_ASSIGN_OR_RETURN(const JobPlan plan, planner().Plan(submission.request));
  MERCER_RETURN_IF_ERROR(ValidatePlan(plan).status());
  const std::string digest = Sha256Hex(submission.request);
  if (!submission.request_id.empty()) {
    // A retry gets its job also when the data set is gone by now or the server is draining.
    MERCER_ASSIGN_OR_RETURN(std::optional<JobRecord> earlier,
                            storage().jobs().FindRequest(submission.request_id, digest));
    if (earlier.has_value()) {
      return CreatedJob{*std::move(earlier), false};
    }
  }
  if (draining()) {
    return Draining();
  }
  MERCER_ASSIGN_OR_RETURN(const JobEstimate estimate, Estimate(plan));
  if (estimate.memory_bytes > environment_.options.memory_budget_bytes) {
    return TooLarge(estimate.memory_bytes, environment_.options.memory_budget_bytes);
  }
  NewJob job;
  job.id = MakeId();
  job.priority = submission.priority;
  job.request = submission.request;
  job.request_id = submission.request_id;
  job.request_digest = digest;
  job.learner = plan.recipe.learner;
  job.dataset_ids = plan.dataset_ids;
  job.labels = submission.labels;
  job.model_name =
      submission.model_name.empty() ? absl::StrCat("model-", job.id) : submission.model_name;
  job.memory_bytes = estimate.memory_bytes;
  job.now = clock().Now();
  job.event = StateEvent(JobState::kQueued);
  MERCER_ASSIGN_OR_RETURN(CreatedJob created, storage().jobs().CreateJob(std::move(job)));
  absl::MutexLock lock(&mutex_);
  TellWorkers();
  return created;
}

absl::StatusOr<JobRecord> JobManager::Impl::Cancel(const std::string& job_id) {
  MERCER_ASSIGN_OR_RETURN(
      EndedAttempt ended,
      storage().jobs().CancelJob({job_id, clock().Now(), StateEvent(JobState::kCancelling),
                                  StateEvent(JobState::kCancelled)}));
  std::shared_ptr<JobAttempt> attempt;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = running_.find(job_id);
    if (found != running_.end()) {
      attempt = found->second;
    }
    TellWorkers();  // the head of the queue may be another now
  }
  hub().Publish(job_id, ended.events);
  if (attempt != nullptr) {
    attempt->Cancel();
  }
  const auto deleted =
      DeleteReleasedBlobs(storage(), *environment_.dependencies.blobs, ended.released_blobs);
  if (!deleted.ok() && environment_.dependencies.log != nullptr) {
    environment_.dependencies.log->warn("job={} cannot delete the checkpoint: {}", job_id,
                                        deleted.status().ToString());
  }
  return std::move(ended.job);
}

void JobManager::Impl::Work(int worker) {
  while (true) {
    int64_t generation = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) {
        return;
      }
      generation = generation_;
    }
    bool failed = false;
    const std::shared_ptr<JobAttempt> attempt = Claim(worker, &failed);
    if (attempt != nullptr) {
      attempt->Run();
      Finish(*attempt);
    } else if (!WaitForWork(generation, failed ? kClaimPause : absl::InfiniteDuration())) {
      return;
    }
  }
}

std::shared_ptr<JobAttempt> JobManager::Impl::Claim(int worker, bool* failed) {
  absl::MutexLock claim_lock(&claim_mutex_);
  ClaimRequest request;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) {
      return nullptr;
    }
    request.free_memory_bytes = environment_.options.memory_budget_bytes - running_bytes_;
  }
  request.worker = absl::StrCat(worker_prefix_, worker);
  request.host = environment_.options.host;
  request.now = clock().Now();
  request.lease_until = request.now + environment_.options.lease_duration;
  request.event = StateEvent(JobState::kRunning);
  absl::StatusOr<std::optional<JobRecord>> job = storage().jobs().ClaimJob(std::move(request));
  if (!job.ok() || !job->has_value()) {
    *failed = !job.ok();
    return nullptr;
  }
  auto attempt = std::make_shared<JobAttempt>(&environment_, **std::move(job));
  {
    absl::MutexLock lock(&mutex_);
    running_[attempt->job().id] = attempt;
    running_bytes_ += attempt->job().memory_bytes;
    if (stopping_) {
      ((*attempt).*stop_action_)();
    }
  }
  if (attempt->job().last_event.has_value()) {
    hub().Publish(attempt->job().id, {*attempt->job().last_event});
  }
  // A cancellation that came between the claim and the entry in running_ found nobody to tell.
  const absl::StatusOr<JobRecord> now = storage().jobs().GetJob(attempt->job().id);
  if (now.ok() && now->state == JobState::kCancelling) {
    attempt->Cancel();
  }
  return attempt;
}

void JobManager::Impl::Finish(const JobAttempt& attempt) {
  absl::MutexLock lock(&mutex_);
  running_bytes_ -= attempt.job().memory_bytes;
  running_.erase(attempt.job().id);
  TellWorkers();  // memory is free
}

bool JobManager::Impl::WaitForWork(int64_t seen_generation, absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  if (generation_ == seen_generation) {
    ++idle_workers_;
    const auto news = [this, seen_generation]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || generation_ != seen_generation;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&news), limit)) {
      --idle_workers_;  // still the same generation
    }
  }
  return !stopping_;
}

void JobManager::Impl::TellWorkers() {
  ++generation_;
  idle_workers_ = 0;
}

std::vector<std::shared_ptr<JobAttempt>> JobManager::Impl::Running() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<JobAttempt>> attempts;
  for (const auto& [id, attempt] : running_) {
    attempts.push_back(attempt);
  }
  return attempts;
}

void JobManager::Impl::RunHousekeeping() {
  for (const std::shared_ptr<JobAttempt>& attempt : Running()) {
    attempt->RunHousekeeping();
  }
}

void JobManager::Impl::KeepHouse() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kHousekeepingPeriod)) {
        return;
      }
    }
    RunHousekeeping();
  }
}

void JobManager::Impl::WaitUntilIdle() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Impl::IsIdle));
}

void JobManager::Impl::Stop(void (JobAttempt::*end_attempt)()) {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    stop_action_ = end_attempt;
  }
  for (const std::shared_ptr<JobAttempt>& attempt : Running()) {
    ((*attempt).*end_attempt)();
  }
  absl::MutexLock lock(&threads_mutex_);
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

JobManager::JobManager(JobManagerOptions options, JobManagerDependencies dependencies)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(dependencies))) {}

JobManager::~JobManager() = default;

absl::Status JobManager::Start() { return impl_->Start(); }

absl::StatusOr<CreatedJob> JobManager::Submit(const JobSubmission& submission) {
  return impl_->Submit(submission);
}

absl::StatusOr<JobRecord> JobManager::Cancel(const std::string& job_id) {
  return impl_->Cancel(job_id);
}

absl::StatusOr<JobEstimate> JobManager::Estimate(std::string_view request) {
  MERCER_ASSIGN_OR_RETURN(const JobPlan plan, impl_->planner().Plan(request));
  return impl_->Estimate(plan);
}

absl::StatusOr<std::shared_ptr<const Dataset>> JobManager::OpenDataset(const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(OpenedDataset opened, impl_->datasets().Open(id));
  return std::move(opened.dataset);
}

void JobManager::Drain() { impl_->Drain(); }

bool JobManager::draining() const { return impl_->draining(); }

void JobManager::RunHousekeeping() { impl_->RunHousekeeping(); }

void JobManager::WaitUntilIdle() { impl_->WaitUntilIdle(); }

}  // namespace mercer::server
