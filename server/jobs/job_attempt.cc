#include "server/jobs/job_attempt.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include <spdlog/logger.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/crash_note.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_errors.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/record/retry_policy.h"
#include "server/jobs/training_work.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

JobAttempt::JobAttempt(const AttemptEnvironment* environment, JobRecord job)
    : environment_(*environment),
      dependencies_(environment->dependencies),
      last_renewal_nanoseconds_(absl::ToInt64Nanoseconds(dependencies_.clock->Monotonic())),
      outcome_(absl::UnknownError("the attempt has not ended")),
      end_pause_(kFirstPause),
      frame_(environment, std::move(job)) {
  if (dependencies_.crash_notes != nullptr) {
    note_ = dependencies_.crash_notes->NoteOf(this->job().id, this->job().attempt);
  }
}

absl::StatusOr<WorkOutcome> JobAttempt::Work() {
  const auto maker = dependencies_.other_works.find(job().kind);
  if (job().kind != JobKind::kTraining && maker == dependencies_.other_works.end()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "this version of the server has no jobs of kind ", static_cast<int>(job().kind))),
        "UNKNOWN_KIND");
  }
  // The budget may have been lowered since the job was accepted.
  if (job().memory_bytes > environment_.options.memory_budget_bytes) {
    environment_.plans->Take(job().id, "");
    return JobTooLarge(job().memory_bytes, environment_.options.memory_budget_bytes);
  }
  if (job().kind == JobKind::kTraining) {
    return TrainingWork(&frame_).Run();
  }
  return maker->second(frame_)->Run();
}

void JobAttempt::Run() {
  {
    const ScopedCrashNote scope(note_.has_value() ? &*note_ : nullptr);
    const absl::Duration begin = dependencies_.clock->Monotonic();
    absl::StatusOr<WorkOutcome> outcome = RunSafely(
        job().kind == JobKind::kTraining ? "the training" : "the work", [this] { return Work(); });
    if (dependencies_.observer != nullptr) {
      dependencies_.observer->OnWorked(job().learner, dependencies_.clock->Monotonic() - begin);
    }
    const absl::MutexLock lock(&end_mutex_);
    outcome_ = std::move(outcome);
  }
  worked_.store(true, std::memory_order_release);
  TryEnd();
}

void JobAttempt::RunHousekeeping() {
  frame_.recorder().Flush();
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
      frame_.lease(), environment_.options.lease_duration,
      [interruption = frame_.interruption()](const absl::StatusOr<RenewedLease>& renewed) {
        Heed(*interruption, renewed);
      });
}

void JobAttempt::Heed(AttemptInterruption& interruption, const absl::StatusOr<RenewedLease>& row) {
  if (absl::IsAborted(row.status())) {
    interruption.Request(Interruption::kAbandon);
  } else if (row.ok() && row->state == JobState::kCancelling) {
    interruption.Request(Interruption::kCancel);
  } else if (row.ok() && row->stop_requested) {
    interruption.RequestStop();
  }
}

absl::StatusOr<AttemptEnd> JobAttempt::MakeErrorEnd(const absl::Status& status) const {
  AttemptEnd end;
  std::string why;
  if (!absl::IsCancelled(status) && (frame_.server_failed() || IsMomentary(status))) {
    return EndOfFailedServer({&dependencies_.storage->jobs(), dependencies_.clock->Now(),
                              environment_.options.max_lost_attempts},
                             job().id, status);
  }
  if (absl::IsCancelled(status) && interruption() == Interruption::kDrain) {
    end.state = JobState::kQueued;
    end.reason = AttemptReason::kDrained;
    why = std::string(AttemptReasonName(end.reason));
  } else if (absl::IsCancelled(status) && interruption() != Interruption::kNone) {
    end.state = JobState::kCancelled;
    end.reason = AttemptReason::kCancelled;
  } else if (frame_.interruption()->stop_requested() && GetReason(status) == "NO_MODEL") {
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
    end.dataset = outcome_->dataset;
    end.result = outcome_->result;
    end.events = {StateEvent(JobState::kSucceeded)};
  } else {
    MERCER_ASSIGN_OR_RETURN(end, MakeErrorEnd(outcome_.status()));
  }
  end.lease = frame_.lease();
  end.now = dependencies_.clock->Now();
  end.events.back().iteration = frame_.recorder().iteration();
  ProgressRecorder::Waiting waiting = frame_.recorder().TakeWaiting();
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
    end_->dataset.reset();
    end_->result.clear();
    if (outcome_.ok()) {
      for (const PinnedBlob& blob : outcome_->blobs) {
        unused_.push_back(blob.digest());
      }
      outcome_->blobs.clear();
    }
    end_->not_before = absl::InfinitePast();
    if (std::exchange(end_tells_verifying_, false)) {  // a job that is CANCELLING never becomes it
      end_->events.erase(end_->events.end() - 2);
    }
    end_->events.back().payload = StateEvent(JobState::kCancelled).payload;
    ended = jobs.EndAttempt(*end_);
  }
  if (!ended.ok()) {
    frame_.Log("cannot store the end of the attempt", ended.status());
    return ended.status();
  }
  const ScopedAllocations scope(Allocations::kNeeded);  // the end is stored: nothing tries again
  LogEnd();
  ended->released_blobs.insert(ended->released_blobs.end(), unused_.begin(), unused_.end());
  const auto deleted =
      DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, ended->released_blobs);
  if (!deleted.ok()) {
    frame_.Log("cannot delete the checkpoint and the versions that are not kept", deleted.status());
  }
  return absl::OkStatus();
}

void JobAttempt::LogEnd() const {
  spdlog::logger* const log = dependencies_.log.get();
  if (log == nullptr) {
    return;
  }
  if (end_->reason == AttemptReason::kRetry) {
    log->warn("{} is tried again at {}: {}", LogAttemptOf(job()),
              absl::FormatTime(end_->not_before, absl::UTCTimeZone()),
              LogTextOf(outcome_.status()));
  } else if (end_->state == JobState::kFailed) {
    log->error("{} failed: {}", LogAttemptOf(job()), LogTextOf(outcome_.status()));
  } else {
    log->info("{} ended: {}", LogAttemptOf(job()), AttemptReasonName(end_->reason));
  }
}

}  // namespace mercer::server
