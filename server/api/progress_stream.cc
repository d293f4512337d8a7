#include "server/api/progress_stream.h"

#include <utility>

#include "absl/time/clock.h"

#include "core/base/errors.h"
#include "server/api/job_translator.h"
#include "server/api/resource_names.h"
#include "server/api/times.h"

namespace mercer::server {
namespace {

// The hub's reasons for an end, in the API's words.
absl::Status EndOfStream(const absl::Status& status, const std::string& job_id) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return ResourceNotFound("job", JobName(job_id));
    case absl::StatusCode::kInvalidArgument:
      return WithReason(absl::OutOfRangeError("after_sequence is beyond the job's last event"),
                        "BEYOND_LAST_EVENT",
                        {{"resource_type", "job"}, {"resource_name", JobName(job_id)}});
    case absl::StatusCode::kUnavailable:
      return GetReason(status) == "DRAINING" ? DrainingError() : status;
    default:
      return status;
  }
}

}  // namespace

ProgressStream::ProgressStream(const RpcEnvironment& environment, const ApiContext& api,
                               CallRecord call, grpc::CallbackServerContext* context,
                               std::string job_id, int64_t after_sequence)
    : environment_(environment),
      api_(api),
      job_id_(std::move(job_id)),
      call_(std::move(call)),
      // The hub ends the stream after the job's last events.
      tracked_(*environment.calls, {nullptr, [context] { context->TryCancel(); }}) {
  subscription_ = api_.hub->Subscribe(job_id_, after_sequence, [this] { Pump(); });
  heartbeat_ = environment_.ticker->Add([this] { Heartbeat(); });
  {
    absl::MutexLock lock(&mutex_);
    started_ = true;
  }
  Pump();
}

// gRPC's own few threads, which run this, are those that every call waits for: a further message is sent by another.
void ProgressStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    busy_ = false;
    cancelled_ = cancelled_ || !ok;
  }
  Pump(environment_.watching);
}

void ProgressStream::OnCancel() {
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
  }
  Pump();
}

void ProgressStream::OnDone() {
  environment_.ticker->Remove(heartbeat_);
  subscription_.reset();  // waits for a wake that is running
  delete this;
}

void ProgressStream::Heartbeat() {
  {
    absl::MutexLock lock(&mutex_);
    heartbeat_due_ = true;
  }
  Pump();
}

void ProgressStream::Pump(Executor* writer) {
  Action action = Action::kNothing;
  absl::Status end;
  {
    absl::MutexLock lock(&mutex_);
    action = DecideSafely();
    end = end_;
  }
  // After Finish, and after a write or look-up was begun, another thread may already be further:
  // nothing of this object is touched below.
  switch (action) {
    case Action::kNothing:
      return;
    case Action::kWrite:
      if (writer == nullptr) {
        StartWrite(&response_);
      } else {
        writer->Post([this] { StartWrite(&response_); });
      }
      return;
    case Action::kFetchJob:
      environment_.io->Post([this] { FetchJob(); });
      return;
    case Action::kFinish:
      Finish(call_.End(end));
      return;
  }
}

ProgressStream::Action ProgressStream::DecideSafely() {
  Action action = Action::kNothing;
  const absl::Status status = RunSafely(call_.method(), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    action = Decide();
    return absl::OkStatus();
  });
  if (!status.ok()) {
    finished_ = true;
    end_ = status;
    return Action::kFinish;
  }
  return action;
}

ProgressStream::Action ProgressStream::Decide() {
  if (!started_ || finished_ || busy_) {
    return Action::kNothing;
  }
  if (cancelled_) {
    finished_ = true;
    end_ = absl::CancelledError("the client has gone");
    return Action::kFinish;
  }
  if (heartbeat_due_) {
    end_ = call_.CheckCaller();
    finished_ = !end_.ok();
    if (finished_) {
      return Action::kFinish;
    }
  }
  const NextEvent next = subscription_->Next();
  switch (next.kind) {
    case NextEvent::kEvent:
      return TakeEvent(*next.event);
    case NextEvent::kWait:
      return DecideHeartbeat();
    case NextEvent::kEnd:
      finished_ = true;
      end_ = EndOfStream(next.status, job_id_);
      return Action::kFinish;
  }
  return Action::kNothing;
}

ProgressStream::Action ProgressStream::TakeEvent(const JobEvent& event) {
  busy_ = true;
  *response_.mutable_event() = WriteEvent(event);
  return event.is_terminal() ? Action::kFetchJob : Action::kWrite;
}

ProgressStream::Action ProgressStream::DecideHeartbeat() {
  if (!heartbeat_due_) {
    return Action::kNothing;
  }
  heartbeat_due_ = false;
  busy_ = true;
  SetTimestamp(absl::Now(), response_.mutable_heartbeat()->mutable_time());
  response_.mutable_heartbeat()->set_last_sequence(subscription_->cursor());
  return Action::kWrite;
}

void ProgressStream::FetchJob() {
  // busy_ keeps everybody else away, and with it the end of this object. A terminal event without the
  // job's error or model would tell half of the end: the client asks again for the whole.
  const absl::Status status = RunSafely(call_.method(), [this]() -> absl::Status {
    MERCER_ASSIGN_OR_RETURN(const JobRecord record, api_.storage->jobs().GetJob(job_id_));
    CompleteTerminalEvent(record, response_.mutable_event());
    return absl::OkStatus();
  });
  if (status.ok()) {
    StartWrite(&response_);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
  }
  Finish(call_.End(EndOfStream(status, job_id_)));
}

}  // namespace mercer::server
