#include "server/jobs/job_attempt.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include <spdlog/logger.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/crash_note.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/blob_collector.h"
#include "server/jobs/job_errors.h"
#include "server/jobs/job_log.h"
#include "server/jobs/retry_policy.h"

namespace mercer::server {
namespace {

// Between tries of what a disk or a storage refuses: doubled after each.
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(30);
// Of what a job begins with: about 1.5 seconds. What lasts longer is left to the next attempt, so that the worker can do
// something else. A trained model is not given up.
constexpr int kReadTries = 5;
constexpr int kEndlessTries = std::numeric_limits<int>::max();

// Puts bytes on another thread; on this one where there is no memory to ask another.
class PutBeside {
 public:
  // All must stay until this is gone.
  PutBeside(Executor& writers, BlobStore& blobs, const std::string& bytes)
      : task_(std::make_shared<Task>([&blobs, &bytes] {
          return RunSafely("storing a file", [&] { return blobs.Put(bytes); });
        })),
        answer_(task_->get_future()) {
    const absl::Status posted = RunSafely("storing a file on another thread", [&] {
      writers.Post([task = task_] { (*task)(); });
      return absl::OkStatus();
    });
    if (!posted.ok()) {
      (*task_)();
    }
  }
  ~PutBeside() {
    if (answer_.valid()) {
      answer_.wait();
    }
  }
  PutBeside(const PutBeside&) = delete;
  PutBeside& operator=(const PutBeside&) = delete;

  // Once.
  absl::StatusOr<PinnedBlob> Get() { return answer_.get(); }

 private:
  using Task = std::packaged_task<absl::StatusOr<PinnedBlob>()>;
  const std::shared_ptr<Task> task_;
  std::future<absl::StatusOr<PinnedBlob>> answer_;
};

}  // namespace

JobAttempt::JobAttempt(const AttemptEnvironment* environment, JobRecord job)
    : environment_(*environment),
      dependencies_(environment->dependencies),
      job_(std::move(job)),
      lease_{job_.id, job_.lease_worker, job_.epoch},
      last_renewal_nanoseconds_(absl::ToInt64Nanoseconds(dependencies_.clock->Monotonic())),
      last_checkpoint_(dependencies_.clock->Monotonic()),
      outcome_(absl::UnknownError("the attempt has not ended")),
      end_pause_(kFirstPause),
      recorder_({&dependencies_.storage->events(), dependencies_.clock,
                 [this](const absl::Status& status) {
                   if (absl::IsAborted(status)) {
                     Abandon();
                   }
                   Log("cannot write progress", status);
                 },
                 &dependencies_.storage->jobs()},
                lease_, environment_.options.event_interval, environment_.options.quiet_start) {
  if (job_.stop_requested) {
    Stop();
  }
  if (dependencies_.crash_notes != nullptr) {
    note_ = dependencies_.crash_notes->NoteOf(job_.id, job_.attempt);
  }
}

void JobAttempt::Run() {
  {
    const ScopedCrashNote scope(note_.has_value() ? &*note_ : nullptr);
    const absl::Duration begin = dependencies_.clock->Monotonic();
    absl::StatusOr<Success> outcome = RunSafely("the training", [this] { return Work(); });
    if (dependencies_.observer != nullptr) {
      dependencies_.observer->OnWorked(job_.learner, dependencies_.clock->Monotonic() - begin);
    }
    const absl::MutexLock lock(&end_mutex_);
    outcome_ = std::move(outcome);
  }
  worked_.store(true, std::memory_order_release);
  TryEnd();
}

absl::StatusOr<JobAttempt::Success> JobAttempt::Work() {
  MERCER_ASSIGN_OR_RETURN(const Prepared prepared, Prepare());
  MERCER_ASSIGN_OR_RETURN(const TrainedModel trained, Train(prepared));
  return StoreModels(prepared, trained);
}

template <typename Operation>
std::invoke_result_t<Operation> JobAttempt::KeepTrying(const char* failure, int tries,
                                                       Operation operation) {
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

void JobAttempt::RunHousekeeping() {
  recorder_.Flush();
  const absl::Duration now = dependencies_.clock->Monotonic();
  if (worked_.load(std::memory_order_acquire) && !ended() &&
      now >= absl::Nanoseconds(next_try_nanoseconds_.load())) {
    TryEnd();
  }
  if (now - absl::Nanoseconds(last_renewal_nanoseconds_.load()) <
      environment_.options.lease_duration / 3) {
    return;
  }
  last_renewal_nanoseconds_.store(absl::ToInt64Nanoseconds(now));
  dependencies_.storage->jobs().RenewLease(
      lease_, dependencies_.clock->Now() + environment_.options.lease_duration,
      [interruption = interruption_](const absl::StatusOr<RenewedLease>& renewed) {
        if (absl::IsAborted(renewed.status())) {
          interruption->Request(Interruption::kAbandon);
        } else if (renewed.ok() && renewed->state == JobState::kCancelling) {
          interruption->Request(Interruption::kCancel);
        } else if (renewed.ok() && renewed->stop_requested) {
          interruption->RequestStop();
        }
      });
}

absl::StatusOr<JobAttempt::Prepared> JobAttempt::Prepare() {
  // The budget may have been lowered since the job was accepted.
  if (job_.memory_bytes > environment_.options.memory_budget_bytes) {
    return JobTooLarge(job_.memory_bytes, environment_.options.memory_budget_bytes);
  }
  Prepared prepared;
  MERCER_ASSIGN_OR_RETURN(prepared.plan, dependencies_.planner->Plan(job_.request));
  prepared.entry = dependencies_.find_learner(prepared.plan.recipe.learner);
  if (prepared.entry == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("this version of the server has no learner '",
                                                      prepared.plan.recipe.learner, "'"));
  }
  MERCER_ASSIGN_OR_RETURN(
      OpenedData opened, KeepTrying("cannot open the data set", kReadTries, [&] {
        return OpenVerifiedData(*environment_.datasets, prepared.plan.dataset_ids,
                                interruption_->token());
      }));
  const RunContext context(interruption_->token(), 1, nullptr);
  MERCER_ASSIGN_OR_RETURN(prepared.data, JoinContents(opened.contents, context));
  prepared.data.records = std::move(opened.records);
  const TrainingRecipe& recipe = prepared.plan.recipe;
  MERCER_ASSIGN_OR_RETURN(const ScratchChoice choice,
                          environment_.scratch->Choose(*prepared.entry, recipe, *prepared.data.rows,
                                                       job_.memory_bytes, context));
  prepared.scratch = choice.space;
  return prepared;
}

absl::StatusOr<std::string> JobAttempt::LoadState() {
  if (job_.attempt <= 1) {
    return "";
  }
  const absl::StatusOr<std::optional<CheckpointRecord>> checkpoint =
      KeepTrying("cannot look for the checkpoint", kReadTries,
                 [this] { return dependencies_.storage->jobs().GetCheckpoint(job_.id); });
  if (!checkpoint.ok() && !IsForGood(checkpoint.status())) {
    return checkpoint.status();
  }
  if (!checkpoint.ok()) {
    Log("cannot look for the checkpoint", checkpoint.status());
    TellResumed(0, "the checkpoint cannot be looked for");
    return "";
  }
  if (!checkpoint->has_value()) {
    TellResumed(0, "there is no checkpoint yet");
    return "";
  }
  const CheckpointRecord& found = **checkpoint;
  if (found.code_version != environment_.options.code_version) {
    TellResumed(0, absl::StrCat("the checkpoint is of version ", found.code_version));
    return "";
  }
  const absl::StatusOr<std::unique_ptr<MappedFile>> blob =
      KeepTrying("cannot read the checkpoint yet", kReadTries,
                 [&] { return dependencies_.blobs->Read(found.blob); });
  if (!blob.ok() && !IsForGood(blob.status())) {
    return blob.status();
  }
  if (!blob.ok()) {
    Log("cannot read the checkpoint", blob.status());
    TellResumed(0, "the checkpoint cannot be read");
    return "";
  }
  TellResumed(found.iteration, "");
  return std::string((*blob)->contents());
}

void JobAttempt::TellResumed(int64_t iteration, std::string why) {
  JobEvent event;
  event.kind = JobEventKind::kResumed;
  event.state = JobState::kRunning;
  event.message = std::move(why);
  recorder_.WriteNow({iteration, EncodeJobEvent(event)});
}

absl::StatusOr<TrainedModel> JobAttempt::Train(const Prepared& prepared) {
  const RecipeRun run{prepared.entry, &prepared.plan.recipe, prepared.data.rows.get(),
                      prepared.data.digest, environment_.options.code_version};
  MERCER_ASSIGN_OR_RETURN(const std::string state, LoadState());
  RunContext context(interruption_->token(), prepared.plan.num_threads, environment_.cache);
  context.set_clock(dependencies_.clock);
  context.set_scratch(prepared.scratch);
  absl::StatusOr<TrainedModel> trained = RunRecipe(run, state, context, *this);
  const bool unusable_state =
      absl::IsDataLoss(trained.status()) || GetReason(trained.status()) == "OTHER_VERSION";
  if (!state.empty() && unusable_state) {
    Log("cannot continue from the checkpoint", trained.status());
    TellResumed(0, "the checkpoint cannot be used");
    return RunRecipe(run, "", context, *this);
  }
  return trained;
}

bool JobAttempt::WantsCheckpoint() {
  switch (interruption()) {
    case Interruption::kNone:
      return dependencies_.clock->Monotonic() - last_checkpoint_ >=
             environment_.options.checkpoint_interval;
    case Interruption::kDrain:
      return true;
    case Interruption::kCancel:
    case Interruption::kAbandon:
      return false;
  }
  return false;
}

// What scratch files leave free on the disk has room for it.
bool JobAttempt::WantsLastCheckpoint() {
  return interruption() == Interruption::kNone || interruption() == Interruption::kDrain;
}

// A checkpoint that cannot be written costs work after a crash, not the job.
void JobAttempt::OnCheckpoint(std::string state) {
  last_checkpoint_ = dependencies_.clock->Monotonic();
  absl::StatusOr<PinnedBlob> blob = dependencies_.blobs->Put(state);
  if (!blob.ok()) {
    Log("cannot write a checkpoint", blob.status());
    return;
  }
  const BlobDigest digest = blob->digest();
  const absl::StatusOr<std::optional<BlobDigest>> previous =
      dependencies_.storage->jobs().SaveCheckpoint(
          lease_, {recorder_.iteration(), environment_.options.code_version, digest,
                   dependencies_.clock->Now()});
  if (!previous.ok()) {
    Log("cannot store a checkpoint", previous.status());
    // On a full disk, where this fails, nobody shall wait for the next collection.
    blob = absl::CancelledError();
    DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, {digest}).IgnoreError();
    if (absl::IsAborted(previous.status())) {
      Abandon();
    }
    return;
  }
  if (previous->has_value()) {
    const auto deleted =
        DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, {**previous});
    if (!deleted.ok()) {
      Log("cannot delete an old checkpoint", deleted.status());
    }
  }
}

void JobAttempt::OnVerifying() {
  recorder_.BeginVerifying({recorder_.iteration(), StateEvent(JobState::kVerifying).payload});
}

absl::StatusOr<JobAttempt::Success> JobAttempt::StoreModels(const Prepared& prepared,
                                                            const TrainedModel& trained) {
  Success success;
  for (const PathModel& other : trained.others) {
    MERCER_ASSIGN_OR_RETURN(const Model model, LoadModel(other.model));
    MERCER_RETURN_IF_ERROR(StoreModel(prepared, model, other.witness,
                                      {{kPathValueLabel, FormatOptionValue(other.value)}},
                                      success));
  }
  Labels labels;
  const std::optional<OptionPath>& path = prepared.plan.recipe.path;
  if (path.has_value() && path->keep_all) {
    labels = {{kPathValueLabel, FormatOptionValue(trained.model.options.at(path->option))},
              {kPathBestLabel, "true"}};
  }
  MERCER_RETURN_IF_ERROR(StoreModel(prepared, trained.model, SaveWitness(trained.witness),
                                    std::move(labels), success));
  return success;
}

absl::Status JobAttempt::StoreModel(const Prepared& prepared, const Model& model,
                                    const std::string& witness, Labels labels, Success& success) {
  const auto put = [this](const std::string& bytes) {
    return KeepTrying("cannot store the model yet", kEndlessTries,
                      [&] { return dependencies_.blobs->Put(bytes); });
  };
  // Both wait for the disk at the same time. What does not succeed at once is tried again afterwards.
  PutBeside early(*environment_.writers, *dependencies_.blobs, witness);
  MERCER_ASSIGN_OR_RETURN(PinnedBlob model_blob, put(SaveModel(model)));
  absl::StatusOr<PinnedBlob> witness_blob = early.Get();
  if (!witness_blob.ok()) {
    MERCER_ASSIGN_OR_RETURN(witness_blob, put(witness));
  }
  NewVersion& version = success.versions.emplace_back();
  version.learner = prepared.plan.recipe.learner;
  version.model_blob = model_blob.digest();
  version.model_bytes = model_blob.size();
  version.witness_blob = witness_blob->digest();
  version.witness_bytes = witness_blob->size();
  version.summary = dependencies_.planner->SummarizeModel(
      {&job_, &prepared.plan, prepared.data.records,
       FindWarnings(prepared.plan.recipe, *prepared.data.rows, model)},
      model);
  labels.insert(job_.labels.begin(), job_.labels.end());
  version.labels = std::move(labels);
  success.blobs.push_back(std::move(model_blob));
  success.blobs.push_back(*std::move(witness_blob));
  return absl::OkStatus();
}

absl::StatusOr<AttemptEnd> JobAttempt::MakeErrorEnd(const absl::Status& status) const {
  AttemptEnd end;
  std::string why;
  if (!absl::IsCancelled(status) && (server_failed_ || IsMomentary(status))) {
    return EndOfFailedServer({&dependencies_.storage->jobs(), dependencies_.clock->Now(),
                              environment_.options.max_lost_attempts},
                             job_.id, status);
  }
  if (absl::IsCancelled(status) && interruption() == Interruption::kDrain) {
    end.state = JobState::kQueued;
    end.reason = AttemptReason::kDrained;
    why = std::string(AttemptReasonName(end.reason));
  } else if (absl::IsCancelled(status) && interruption() != Interruption::kNone) {
    end.state = JobState::kCancelled;
    end.reason = AttemptReason::kCancelled;
  } else if (interruption_->stop_requested() && GetReason(status) == "NO_MODEL") {
    end.state = JobState::kCancelled;
    end.reason = AttemptReason::kCancelled;
    end.error = EncodeError(status);
    why = GetReason(status);
  } else {
    end.state = JobState::kFailed;
    end.reason = AttemptReason::kFailed;
    end.error = EncodeError(status);
    why = GetReason(status);
  }
  end.events = {StateEvent(end.state, std::move(why))};
  return end;
}

absl::StatusOr<AttemptEnd> JobAttempt::MakeEnd() {
  AttemptEnd end;
  if (outcome_.ok()) {
    end.state = JobState::kSucceeded;
    end.reason = AttemptReason::kSucceeded;
    end.versions = outcome_->versions;
    end.events = {StateEvent(JobState::kSucceeded)};
  } else {
    MERCER_ASSIGN_OR_RETURN(end, MakeErrorEnd(outcome_.status()));
  }
  end.lease = lease_;
  end.now = dependencies_.clock->Now();
  end.events.back().iteration = recorder_.iteration();
  ProgressRecorder::Waiting waiting = recorder_.TakeWaiting();
  end_tells_verifying_ = waiting.verifying.has_value() &&
                         (end.state == JobState::kSucceeded || end.state == JobState::kFailed);
  if (end_tells_verifying_) {
    waiting.events.push_back(*std::move(waiting.verifying));
  }
  end.events.insert(end.events.begin(), std::make_move_iterator(waiting.events.begin()),
                    std::make_move_iterator(waiting.events.end()));
  return end;
}

bool JobAttempt::TryEnd() {
  const absl::MutexLock lock(&end_mutex_);
  if (ended()) {
    return true;
  }
  absl::Status stored = absl::OkStatus();
  if (interruption() != Interruption::kAbandon) {
    stored = RunSafely("the end of the attempt",
                       [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return StoreEnd(); });
  }
  if (stored.ok() || absl::IsAborted(stored)) {
    ended_.store(true, std::memory_order_release);
    return true;
  }
  next_try_nanoseconds_.store(
      absl::ToInt64Nanoseconds(dependencies_.clock->Monotonic() + end_pause_));
  end_pause_ = std::min(2 * end_pause_, kLongestPause);
  return false;
}

absl::Status JobAttempt::StoreEnd() {
  JobStore& jobs = dependencies_.storage->jobs();
  if (!end_.has_value()) {
    MERCER_ASSIGN_OR_RETURN(end_, MakeEnd());
  }
  absl::StatusOr<EndedAttempt> ended = jobs.EndAttempt(*end_);
  if (GetReason(ended.status()) == "CANCEL_REQUESTED") {
    end_->state = JobState::kCancelled;
    end_->reason = AttemptReason::kCancelled;
    end_->error.reset();
    end_->versions.clear();
    end_->not_before = absl::InfinitePast();
    if (std::exchange(end_tells_verifying_, false)) {  // a job that is CANCELLING never becomes it
      end_->events.erase(end_->events.end() - 2);
    }
    end_->events.back().payload = StateEvent(JobState::kCancelled).payload;
    ended = jobs.EndAttempt(*end_);
  }
  if (!ended.ok()) {
    Log("cannot store the end of the attempt", ended.status());
    return ended.status();
  }
  const ScopedAllocations scope(Allocations::kNeeded);  // the end is stored: nothing tries again
  // Before watchers hear of the end: who does must not be answered from memory by what is gone.
  if (dependencies_.on_versions_deleted && !ended->deleted_versions.empty()) {
    dependencies_.on_versions_deleted(job_.model_name, ended->deleted_versions);
  }
  LogEnd();
  const auto deleted =
      DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, ended->released_blobs);
  if (!deleted.ok()) {
    Log("cannot delete the checkpoint and the versions that are not kept", deleted.status());
  }
  return absl::OkStatus();
}

void JobAttempt::LogEnd() const {
  spdlog::logger* const log = dependencies_.log.get();
  if (log == nullptr) {
    return;
  }
  if (end_->reason == AttemptReason::kRetry) {
    log->warn("{} is tried again at {}: {}", LogAttemptOf(job_),
              absl::FormatTime(end_->not_before, absl::UTCTimeZone()),
              LogTextOf(outcome_.status()));
  } else if (end_->state == JobState::kFailed) {
    log->error("{} failed: {}", LogAttemptOf(job_), LogTextOf(outcome_.status()));
  } else {
    log->info("{} ended: {}", LogAttemptOf(job_), AttemptReasonName(end_->reason));
  }
}

void JobAttempt::Log(const std::string& what, const absl::Status& status) const {
  if (dependencies_.log != nullptr) {
    dependencies_.log->warn("{} {}: {}", LogAttemptOf(job_), what, status.ToString());
  }
}

}  // namespace mercer::server
