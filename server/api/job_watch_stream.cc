#include "server/api/job_watch_stream.h"

#include <utility>

#include "absl/time/clock.h"

#include "server/api/job_translator.h"
#include "server/api/times.h"

namespace mercer::server {

JobWatchStream::JobWatchStream(const RpcEnvironment& environment, const ApiContext& api,
                               CallRecord call, grpc::CallbackServerContext* context,
                               JobFilter filter)
    : environment_(environment),
      call_(std::move(call)),
      tracked_(*environment.calls, {[this] { Note(&JobWatchStream::draining_); },
                                    [context] { context->TryCancel(); }}) {
  watch_ = api.feed->Watch(std::move(filter), [this] { Pump(); });
  heartbeat_ = environment_.ticker->Add([this] { Note(&JobWatchStream::heartbeat_due_); });
  Note(&JobWatchStream::started_);
}

void JobWatchStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    busy_ = false;
    cancelled_ = cancelled_ || !ok;
  }
  Pump();
}

void JobWatchStream::OnCancel() { Note(&JobWatchStream::cancelled_); }

void JobWatchStream::OnDone() {
  environment_.ticker->Remove(heartbeat_);
  watch_.reset();  // waits for a wake that is running
  delete this;
}

void JobWatchStream::Note(bool JobWatchStream::*flag) {
  {
    absl::MutexLock lock(&mutex_);
    this->*flag = true;
  }
  Pump();
}

void JobWatchStream::Pump() {
  Action action = Action::kNothing;
  absl::Status end;
  {
    absl::MutexLock lock(&mutex_);
    action = DecideSafely();
    end = end_;
  }
  // After Finish, and after a write was begun, another thread may already be further: nothing of this object is
  // touched below.
  switch (action) {
    case Action::kNothing:
      return;
    case Action::kWrite:
      StartWrite(&response_);
      return;
    case Action::kFinish:
      Finish(call_.End(end));
      return;
  }
}

JobWatchStream::Action JobWatchStream::DecideSafely() {
  Action action = Action::kNothing;
  const absl::Status status = RunSafely(call_.method(), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    action = Decide();
    return absl::OkStatus();
  });
  return status.ok() ? action : EndWith(status);
}

JobWatchStream::Action JobWatchStream::Decide() {
  if (!started_ || finished_ || busy_) {
    return Action::kNothing;
  }
  if (cancelled_) {
    return EndWith(absl::CancelledError("the client has gone"));
  }
  if (draining_) {
    return EndWith(DrainingError());
  }
  if (heartbeat_due_) {
    if (absl::Status admitted = call_.CheckCaller(); !admitted.ok()) {
      return EndWith(std::move(admitted));
    }
  }
  const NextJob next = watch_->Next();
  switch (next.kind) {
    case NextJob::kJob:
      return TakeJob(next);
    case NextJob::kExistingSent:
      response_.Clear();
      response_.set_existing_sent(true);
      return Write();
    case NextJob::kWait:
      return DecideHeartbeat();
    case NextJob::kEnd:
      return EndWith(next.status);
  }
  return Action::kNothing;
}

JobWatchStream::Action JobWatchStream::TakeJob(const NextJob& next) {
  absl::StatusOr<v1::Job> job = WriteJob(*next.job, {});
  if (!job.ok()) {
    return EndWith(job.status());
  }
  response_.Clear();
  *response_.mutable_job() = *std::move(job);
  response_.set_existing(next.existing);
  response_.set_left(next.left);
  return Write();
}

JobWatchStream::Action JobWatchStream::DecideHeartbeat() {
  if (!heartbeat_due_) {
    return Action::kNothing;
  }
  response_.Clear();
  SetTimestamp(absl::Now(), response_.mutable_heartbeat());
  return Write();
}

// Whatever is written is a sign of life.
JobWatchStream::Action JobWatchStream::Write() {
  heartbeat_due_ = false;
  busy_ = true;
  return Action::kWrite;
}

JobWatchStream::Action JobWatchStream::EndWith(absl::Status status) {
  finished_ = true;
  end_ = std::move(status);
  return Action::kFinish;
}

}  // namespace mercer::server
