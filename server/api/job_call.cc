#include "server/api/job_call.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_event.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

absl::Status JobCancelled() {
  return WithReason(
      absl::AbortedError("somebody has cancelled the job that was to answer the call"),
      "JOB_CANCELLED");
}

// Not when it goes back to the queue: it would be tried again, but who waits is told why instead, and may call again.
bool IsUnderWay(const JobRecord& job) {
  return !IsFinal(job.state) && (job.state != JobState::kQueued || job.attempt == 0);
}

// What cannot be deleted now is deleted by the housekeeping, or by the next start.
void ForgetJob(const ApiContext& api, const std::string& id) {
  ChangeThatFrees(api, [&] { return api.jobs->Forget(id); }).IgnoreError();
}

}  // namespace

void JobCall::Start() {
  const absl::Status status = RunSafely(call_.method(), [this] { return MakeJob(); });
  if (!status.ok()) {
    End(absl::IsCancelled(status) ? WhyGone() : status);
    return;
  }
  Pump(&JobCall::waiting_);
}

absl::Status JobCall::MakeJob() {
  MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
  if (cancellation_.cancelled()) {
    return CallCancelledError();
  }
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, Submit(cancellation_));
  job_id_ = job.id;
  watch_ = api_.call_hub->Subscribe(job.id, job.last_event->sequence, [this] { Pump(); });
  heartbeat_ = environment_.ticker->Add([this] { Pump(&JobCall::look_); });
  return absl::OkStatus();
}

void JobCall::Pump(bool JobCall::*flag) {
  bool settle = false;
  {
    absl::MutexLock lock(&mutex_);
    if (flag != nullptr) {
      this->*flag = true;
      look_ = look_ || flag != &JobCall::waiting_;
    }
    if (gone_ || abandoned_) {
      cancellation_.Cancel();
    }
    settle = waiting_ && DecideSafely();
    waiting_ = waiting_ && !settle;
  }
  if (settle) {
    PostOrEnd(*environment_.io, [this] { Settle(); });
  }
}

bool JobCall::DecideSafely() {
  bool settle = false;
  const absl::Status decided = RunSafely(call_.method(), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    settle = Decide();
    return absl::OkStatus();
  });
  unheard_.Update(decided);
  return settle || !decided.ok();
}

bool JobCall::Decide() {
  const bool look = std::exchange(look_, false);
  if (look) {
    watch_->LookAgain();
  }
  return abandoned_ || (failed_ ? look : (gone_ && !cancelling_) || IsOver());
}

bool JobCall::IsOver() {
  while (true) {
    const NextEvent next = watch_->Next();
    if (next.kind == NextEvent::kWait) {
      return false;
    }
    if (next.kind == NextEvent::kEnd) {
      unheard_ = GetReason(next.status) == "DRAINING" ? next.status : absl::OkStatus();
      failed_ = !next.status.ok() && unheard_.ok();
      return !failed_;
    }
    if (const JobEvent& event = next.item->record;
        event.is_terminal() ||
        (event.kind == JobEventKind::kState && event.state == JobState::kQueued)) {
      return true;
    }
  }
}

void JobCall::Settle() {
  bool give_up = false;
  {
    absl::MutexLock lock(&mutex_);
    give_up = (gone_ || abandoned_) && !cancelling_;
  }
  bool failed = true;
  bool wait = true;
  const absl::Status status = RunSafely(call_.method(), [&]() -> absl::Status {
    absl::StatusOr<JobRecord> job =
        give_up ? ChangeThatFrees(api_, [this] { return api_.jobs->Cancel(job_id_); })
                : api_.storage->jobs().GetJob(job_id_);
    if (GetReason(job.status()) == "JOB_IS_FINAL") {
      job = api_.storage->jobs().GetJob(job_id_);
    }
    failed = !job.ok() && !absl::IsNotFound(job.status());
    wait = failed || (job.ok() && IsUnderWay(*job));
    if (absl::IsNotFound(job.status())) {
      return cancellation_.cancelled() ? WhyGone() : JobCancelled();
    }
    MERCER_RETURN_IF_ERROR(job.status());
    return Answer(*job);
  });
  {
    absl::MutexLock lock(&mutex_);
    failed_ = failed;
    cancelling_ = cancelling_ || (give_up && !failed);
    wait = wait && !abandoned_ && unheard_.ok();
  }
  if (wait) {
    Pump(&JobCall::waiting_);
    return;
  }
  RunNeeded("the end of a call's job", [this] {
    ForgetJob(api_, job_id_);
    job_id_.clear();
  }).IgnoreError();  // Leave does it then
  FinishWith(*this, response_, call_.End(status), bytes_);
}

absl::Status JobCall::Answer(const JobRecord& job) {
  if (job.state == JobState::kSucceeded) {
    if (!ParseWhole(job.result, response_)) {
      return WithReason(absl::DataLossError("a stored result cannot be read"),
                        "STORED_RESULT_DAMAGED");
    }
    return call_.CheckSize(response_);
  }
  if (cancellation_.cancelled()) {
    return WhyGone();
  }
  if (job.error.has_value()) {
    return DecodeError(*job.error);
  }
  if (job.state == JobState::kCancelled) {
    return JobCancelled();
  }
  if (environment_.calls->draining() || api_.jobs->draining()) {
    return DrainingError();
  }
  absl::MutexLock lock(&mutex_);
  return !unheard_.ok()
             ? unheard_
             : WithReason(
                   absl::UnavailableError("the job's worker is lost, and it waits for another one"),
                   "WORKER_LOST");
}

absl::Status JobCall::WhyGone() const {
  if (environment_.calls->draining()) {
    return DrainingError();
  }
  MERCER_RETURN_IF_ERROR(call_.CheckCaller());
  return CallCancelledError();
}

void JobCall::Leave() {
  if (heartbeat_ != 0) {
    environment_.ticker->Remove(heartbeat_);
  }
  watch_.reset();  // waits for a wake that is running
  if (job_id_.empty()) {
    return;
  }
  RunNeeded("handing a job over", [this] {
    environment_.io->Post([&api = api_, id = job_id_] { ForgetJob(api, id); });
  }).IgnoreError();
}

}  // namespace mercer::server
