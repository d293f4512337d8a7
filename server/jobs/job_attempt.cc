#include "server/jobs/job_attempt.h"

#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <spdlog/logger.h>

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "server/jobs/blob_collector.h"

namespace mercer::server {
namespace {

// How often the end of an attempt is tried when the storage fails, with doubling pauses from 0.1 s:
// 3 s in all. Afterwards the lease stays, and the next start of the server recovers the job.
constexpr int kEndTries = 5;

}  // namespace

JobAttempt::JobAttempt(const AttemptEnvironment* environment, JobRecord job)
    : environment_(*environment),
      dependencies_(environment->dependencies),
      job_(std::move(job)),
      lease_{job_.id, job_.lease_worker, job_.epoch},
      last_renewal_nanoseconds_(absl::ToInt64Nanoseconds(dependencies_.clock->Monotonic())),
      last_checkpoint_(dependencies_.clock->Monotonic()),
      recorder_({&dependencies_.storage->events(), dependencies_.hub, dependencies_.clock,
                 [this](const absl::Status& status) {
                   if (absl::IsAborted(status)) {
                     Abandon();
                   }
                   Log("cannot write progress", status);
                 }},
                lease_, environment_.options.event_interval) {}

void JobAttempt::Run() {
  const absl::StatusOr<Prepared> prepared = Prepare();
  if (!prepared.ok()) {
    EndWithError(prepared.status());
    return;
  }
  const absl::StatusOr<TrainedModel> trained = Train(*prepared);
  if (trained.ok()) {
    Succeed(*prepared, *trained);
  } else {
    EndWithError(trained.status());
  }
}

void JobAttempt::Interrupt(Interruption interruption) {
  Interruption before = interruption_.load(std::memory_order_acquire);
  while (before < interruption && !interruption_.compare_exchange_weak(before, interruption)) {
  }
  cancellation_.Cancel();
}

void JobAttempt::RunHousekeeping() {
  recorder_.Flush();
  const absl::Duration now = dependencies_.clock->Monotonic();
  if (now - absl::Nanoseconds(last_renewal_nanoseconds_.load()) <
      environment_.options.lease_duration / 3) {
    return;
  }
  last_renewal_nanoseconds_.store(absl::ToInt64Nanoseconds(now));
  dependencies_.storage->jobs().RenewLease(
      lease_, dependencies_.clock->Now() + environment_.options.lease_duration,
      [self = shared_from_this()](absl::StatusOr<JobState> state) {
        if (absl::IsAborted(state.status())) {
          self->Abandon();
        } else if (state.ok() && *state == JobState::kCancelling) {
          self->Cancel();
        }
      });
}

absl::StatusOr<JobAttempt::Prepared> JobAttempt::Prepare() const {
  Prepared prepared;
  MERCER_ASSIGN_OR_RETURN(prepared.plan, dependencies_.planner->Plan(job_.request));
  prepared.entry = dependencies_.find_learner(prepared.plan.recipe.learner);
  if (prepared.entry == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("this version of the server has no learner '",
                                                      prepared.plan.recipe.learner, "'"));
  }
  MERCER_ASSIGN_OR_RETURN(prepared.dataset,
                          environment_.datasets->Open(prepared.plan.dataset_ids.at(0)));
  return prepared;
}

std::string JobAttempt::LoadState() {
  if (job_.attempt <= 1) {
    return "";
  }
  const absl::StatusOr<std::optional<CheckpointRecord>> checkpoint =
      dependencies_.storage->jobs().GetCheckpoint(job_.id);
  if (!checkpoint.ok() || !checkpoint->has_value()) {
    TellResumed(0, "there is no checkpoint yet");
    return "";
  }
  const CheckpointRecord& found = **checkpoint;
  if (found.code_version != environment_.options.code_version) {
    TellResumed(0, absl::StrCat("the checkpoint is of version ", found.code_version));
    return "";
  }
  const absl::StatusOr<std::unique_ptr<MappedFile>> blob = dependencies_.blobs->Read(found.blob);
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
  const RecipeRun run{prepared.entry, &prepared.plan.recipe, prepared.dataset.dataset.get(),
                      prepared.dataset.record.blob, environment_.options.code_version};
  const std::string state = LoadState();
  RunContext context(cancellation_, prepared.plan.num_threads, environment_.cache);
  absl::StatusOr<TrainedModel> trained = RunRecipeSafely(run, state, context);
  const bool unusable_state =
      absl::IsDataLoss(trained.status()) || GetReason(trained.status()) == "OTHER_VERSION";
  if (!state.empty() && unusable_state) {
    Log("cannot continue from the checkpoint", trained.status());
    TellResumed(0, "the checkpoint cannot be used");
    return RunRecipeSafely(run, "", context);
  }
  return trained;
}

// The project throws nothing, but libraries beneath it may, above all when memory runs out; one job
// must not end the server.
absl::StatusOr<TrainedModel> JobAttempt::RunRecipeSafely(const RecipeRun& run,
                                                         const std::string& state,
                                                         RunContext& context) {
  try {
    return RunRecipe(run, state, context, *this);
  } catch (const std::bad_alloc&) {
    return WithReason(absl::ResourceExhaustedError("out of memory"), "OUT_OF_MEMORY");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("training failed unexpectedly: ", error.what()));
  }
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

// A checkpoint that cannot be written costs work after a crash, not the job.
void JobAttempt::OnCheckpoint(std::string state) {
  last_checkpoint_ = dependencies_.clock->Monotonic();
  const absl::StatusOr<PinnedBlob> blob = dependencies_.blobs->Put(state);
  if (!blob.ok()) {
    Log("cannot write a checkpoint", blob.status());
    return;
  }
  const absl::StatusOr<std::optional<BlobDigest>> previous =
      dependencies_.storage->jobs().SaveCheckpoint(
          lease_, {recorder_.iteration(), environment_.options.code_version, blob->digest(),
                   dependencies_.clock->Now()});
  if (!previous.ok()) {
    Log("cannot store a checkpoint", previous.status());
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
  const std::vector<EventDraft> waiting = recorder_.TakeWaiting();
  if (!waiting.empty()) {
    const auto stored =
        dependencies_.storage->events().Append(lease_, waiting, dependencies_.clock->Now());
    if (stored.ok()) {
      dependencies_.hub->Publish(job_.id, *stored);
    }
  }
  const absl::StatusOr<EventRecord> event = dependencies_.storage->jobs().BeginVerifying(
      lease_, {recorder_.iteration(), StateEvent(JobState::kVerifying).payload},
      dependencies_.clock->Now());
  if (event.ok()) {
    dependencies_.hub->Publish(job_.id, {*event});
  } else if (absl::IsAborted(event.status())) {
    Abandon();
  } else {
    Log("cannot show the verification",
        event.status());  // or a cancellation, which the token tells as well
  }
}

void JobAttempt::Succeed(const Prepared& prepared, const TrainedModel& trained) {
  const std::string model_bytes = SaveModel(trained.model);
  const std::string witness_bytes = SaveWitness(trained.witness);
  const absl::StatusOr<PinnedBlob> model = dependencies_.blobs->Put(model_bytes);
  const absl::StatusOr<PinnedBlob> witness = dependencies_.blobs->Put(witness_bytes);
  if (!model.ok() || !witness.ok()) {
    EndWithError(model.ok() ? witness.status() : model.status());
    return;
  }
  NewVersion version;
  version.learner = prepared.plan.recipe.learner;
  version.model_blob = model->digest();
  version.model_bytes = model->size();
  version.witness_blob = witness->digest();
  version.witness_bytes = witness->size();
  version.summary = dependencies_.planner->SummarizeModel(
      {&job_, &prepared.plan, {prepared.dataset.record}}, trained.model);
  version.labels = job_.labels;
  AttemptEnd end = MakeEnd(JobState::kSucceeded, AttemptReason::kSucceeded, "");
  end.version = std::move(version);
  End(std::move(end));
}

void JobAttempt::EndWithError(const absl::Status& status) {
  if (absl::IsCancelled(status) && interruption() == Interruption::kDrain) {
    End(MakeEnd(JobState::kQueued, AttemptReason::kDrained, "the server is shutting down"));
  } else if (absl::IsCancelled(status) && interruption() != Interruption::kNone) {
    End(MakeEnd(JobState::kCancelled, AttemptReason::kCancelled, ""));
  } else {
    AttemptEnd end =
        MakeEnd(JobState::kFailed, AttemptReason::kFailed, std::string(status.message()));
    end.error = EncodeError(status);
    End(std::move(end));
  }
}

AttemptEnd JobAttempt::MakeEnd(JobState state, AttemptReason reason, std::string message) {
  AttemptEnd end;
  end.lease = lease_;
  end.state = state;
  end.reason = reason;
  end.now = dependencies_.clock->Now();
  end.events = recorder_.TakeWaiting();
  end.events.push_back({recorder_.iteration(), StateEvent(state, std::move(message)).payload});
  return end;
}

void JobAttempt::End(AttemptEnd end) {
  absl::Duration pause = absl::Milliseconds(100);
  for (int i = 0; i < kEndTries && interruption() != Interruption::kAbandon; ++i) {
    const absl::StatusOr<EndedAttempt> ended = StoreEnd(end);
    if (ended.ok()) {
      dependencies_.hub->Publish(job_.id, ended->events);
      const auto deleted =
          DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, ended->released_blobs);
      if (!deleted.ok()) {
        Log("cannot delete the checkpoint", deleted.status());
      }
      return;
    }
    Log("cannot store the end of the attempt", ended.status());
    if (absl::IsAborted(ended.status())) {
      return;
    }
    absl::SleepFor(pause);
    pause *= 2;
  }
}

absl::StatusOr<EndedAttempt> JobAttempt::StoreEnd(AttemptEnd end) {
  absl::StatusOr<EndedAttempt> ended = dependencies_.storage->jobs().EndAttempt(end);
  if (GetReason(ended.status()) != "CANCEL_REQUESTED") {
    return ended;
  }
  end.state = JobState::kCancelled;
  end.reason = AttemptReason::kCancelled;
  end.error.reset();
  end.version.reset();
  end.events.back().payload = StateEvent(JobState::kCancelled).payload;
  return dependencies_.storage->jobs().EndAttempt(std::move(end));
}

void JobAttempt::Log(const std::string& what, const absl::Status& status) const {
  if (dependencies_.log != nullptr) {
    dependencies_.log->warn("job={} attempt={} {}: {}", job_.id, job_.attempt, what,
                            status.ToString());
  }
}

}  // namespace mercer::server
