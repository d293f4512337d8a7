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
#include "server/jobs/job_manager.h"
#include "server/jobs/record/job_event.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/record/retry_policy.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

AttemptFrame::AttemptFrame(const AttemptEnvironment* environment, JobRecord job)
    : environment_(*environment),
      job_(std::move(job)),
      lease_{job_.id, job_.lease_worker, job_.epoch},
      recorder_({&dependencies().storage->events(), dependencies().clock,
                 [this](const absl::Status& status) {
                   if (absl::IsAborted(status)) {
                     Abandon();
                   }
                   Log("cannot write progress", status);
                 },
                 &dependencies().storage->jobs()},
                lease_, environment_.options.event_interval, environment_.options.quiet_start) {
  if (job_.stop_requested) {
    interruption_->RequestStop();
  }
}

void AttemptFrame::TellResumed(int64_t iteration, std::string why) {
  JobEvent event;
  event.kind = JobEventKind::kResumed;
  event.state = JobState::kRunning;
  event.message = std::move(why);
  recorder_.WriteNow({iteration, EncodeJobEvent(event)});
}

void AttemptFrame::Log(const std::string& what, const absl::Status& status) const {
  if (dependencies().log != nullptr) {
    dependencies().log->warn("{} {}: {}", LogAttemptOf(job_), what, status.ToString());
  }
}

JobAttempt::JobAttempt(const AttemptEnvironment* environment, JobRecord job)
    : AttemptFrame(environment, std::move(job)),
      last_renewal_nanoseconds_(absl::ToInt64Nanoseconds(dependencies().clock->Monotonic())),
      outcome_(absl::UnknownError("the attempt has not ended")),
      end_pause_(kFirstPause) {
  if (dependencies().crash_notes != nullptr) {
    note_ = dependencies().crash_notes->NoteOf(this->job().id, this->job().attempt);
  }
}

absl::StatusOr<WorkOutcome> JobAttempt::Work() {
  const auto maker = dependencies().other_works.find(job().kind);
  if (job().kind != JobKind::kTraining && maker == dependencies().other_works.end()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "this version of the server has no jobs of kind ", static_cast<int>(job().kind))),
        "UNKNOWN_KIND");
  }
  // The budget may have been lowered since the job was accepted.
  if (job().memory_bytes > environment().options.memory_budget_bytes) {
    environment().plans->Take(job().id, "");
    return JobTooLarge(job().memory_bytes, environment().options.memory_budget_bytes);
  }
  if (job().kind == JobKind::kTraining) {
    return MakeTrainingWork(*this)->Run();
  }
  return maker->second(*this)->Run();
}

void JobAttempt::Run() {
  {
    const ScopedCrashNote scope(note_.has_value() ? &*note_ : nullptr);
    const absl::Duration begin = dependencies().clock->Monotonic();
    absl::StatusOr<WorkOutcome> outcome = RunSafely(
        job().kind == JobKind::kTraining ? "the training" : "the work", [this] { return Work(); });
    if (dependencies().observer != nullptr) {
      dependencies().observer->OnWorked(job(), dependencies().clock->Monotonic() - begin);
    }
    const absl::MutexLock lock(&end_mutex_);
    outcome_ = std::move(outcome);
  }
  worked_.store(true, std::memory_order_release);
  TryEnd();
}

void JobAttempt::RunHousekeeping() {
  recorder().Flush();
  const absl::Duration now = dependencies().clock->Monotonic();
  interruption()->HeedDeadline(now);
  if (worked_.load(std::memory_order_acquire) && !ended() &&
      now >= absl::Nanoseconds(next_try_nanoseconds_.load())) {
    TryEnd();
  }
  if (now - absl::Nanoseconds(last_renewal_nanoseconds_.load()) <
      environment().options.lease_duration / 3) {
    return;
  }
  last_renewal_nanoseconds_.store(absl::ToInt64Nanoseconds(now));
  dependencies().storage->jobs().RenewLease(
      lease(), environment().options.lease_duration,
      [interruption = interruption()](const absl::StatusOr<RenewedLease>& renewed) {
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
  const bool cancelled = absl::IsCancelled(status);
  if (!cancelled && (server_failed() || IsMomentary(status))) {
    return EndOfFailedServer(dependencies().storage->jobs(),
                             environment().options.max_lost_attempts, job().id, status);
  }
  if (cancelled && interruption()->kind() == Interruption::kDrain) {
    return EndOf(JobState::kQueued, AttemptReason::kDrained, absl::OkStatus(),
                 AttemptReasonName(AttemptReason::kDrained));
  }
  if (cancelled && interruption()->kind() != Interruption::kNone) {
    return EndOf(JobState::kCancelled, AttemptReason::kCancelled);
  }
  if (interruption()->stop_requested() && GetReason(status) == "NO_MODEL") {
    return EndOf(JobState::kCancelled, AttemptReason::kCancelled, status);
  }
  return EndOf(JobState::kFailed, AttemptReason::kFailed, status);
}

absl::StatusOr<AttemptEnd> JobAttempt::MakeEnd() {
  AttemptEnd end = EndOf(JobState::kSucceeded, AttemptReason::kSucceeded);
  if (outcome_.ok()) {
    end.versions = outcome_->versions;
    end.dataset = outcome_->dataset;
    end.max_stored_bytes = outcome_->max_stored_bytes;
    end.result = outcome_->result;
  } else {
    MERCER_ASSIGN_OR_RETURN(end, MakeErrorEnd(outcome_.status()));
  }
  end.lease = lease();
  end.now = dependencies().clock->Now();
  end.events.back().iteration = recorder().iteration();
  ProgressRecorder::Waiting waiting = recorder().TakeWaiting();
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
  if (interruption()->kind() != Interruption::kAbandon) {
    stored = RunSafely("the end of the attempt",
                       [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return StoreEnd(); });
  }
  if (stored.ok() || absl::IsAborted(stored)) {
    ended_.store(true, std::memory_order_release);
    return true;
  }
  next_try_nanoseconds_.store(
      absl::ToInt64Nanoseconds(dependencies().clock->Monotonic() + end_pause_));
  end_pause_ = std::min(2 * end_pause_, kLongestPause);
  return false;
}

absl::Status JobAttempt::StoreEnd() {
  if (!end_.has_value()) {
    MERCER_ASSIGN_OR_RETURN(end_, MakeEnd());
  }
  absl::StatusOr<EndedAttempt> ended =
      EndOrCancel(dependencies().storage->jobs(), *end_, end_tells_verifying_);
  const ScopedAllocations scope(
      Allocations::kNeeded);  // once the end is stored nothing tries again
  if (end_->state == JobState::kCancelled) {
    end_tells_verifying_ = false;
  }
  if (outcome_.ok() && end_->state != JobState::kSucceeded) {
    for (const PinnedBlob& blob : std::exchange(outcome_->blobs, {})) {
      unused_.push_back(blob.digest());
    }
    if (end_->error.has_value()) {
      outcome_ = DecodeError(*end_->error);
    }
  }
  if (!ended.ok()) {
    Log("cannot store the end of the attempt", ended.status());
    return ended.status();
  }
  LogEnd(ended->job);
  ended->released_blobs.insert(ended->released_blobs.end(), unused_.begin(), unused_.end());
  const auto deleted =
      DeleteReleasedBlobs(*dependencies().storage, *dependencies().blobs, ended->released_blobs);
  if (!deleted.ok()) {
    Log("cannot delete the checkpoint and the versions that are not kept", deleted.status());
  }
  return absl::OkStatus();
}

void JobAttempt::LogEnd(const JobRecord& left) const {
  spdlog::logger* const log = dependencies().log.get();
  if (log == nullptr) {
    return;
  }
  if (end_->reason == AttemptReason::kRetry) {
    log->warn("{} is tried again at {}: {}", LogAttemptOf(job()),
              absl::FormatTime(left.not_before, absl::UTCTimeZone()), LogTextOf(outcome_.status()));
  } else if (end_->state == JobState::kFailed) {
    log->error("{} failed: {}", LogAttemptOf(job()), LogTextOf(outcome_.status()));
  } else {
    log->info("{} ended: {}", LogAttemptOf(job()), AttemptReasonName(end_->reason));
  }
}

}  // namespace mercer::server
