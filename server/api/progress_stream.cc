#include "server/api/progress_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "server/translation/job_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/unknown_fields.h"
#include "server/translation/whole_message.h"

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

// The id of the job. Errors: kInvalidArgument with every bad field; reason BAD_SEQUENCE when it is the
// sequence number alone.
absl::StatusOr<std::string> CheckStreamRequest(const v1::StreamProgressRequest& request) {
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  absl::StatusOr<std::string> id = ParseJobName(request.job(), "job");
  violations.AddAll("", id.status());
  const bool others_are_good = violations.empty();
  if (violations.Check(request.after_sequence() >= 0, "after_sequence",
                       absl::StrCat("must be >= 0, is ", request.after_sequence())) &&
      others_are_good) {
    return id;
  }
  return others_are_good ? WithReason(violations.ToStatus(), "BAD_SEQUENCE")
                         : violations.ToStatus();
}

}  // namespace

void ProgressStream::Begin() {
  const absl::StatusOr<std::string> id = CheckStreamRequest(request_);
  if (!id.ok()) {
    End(id.status());
    return;
  }
  job_id_ = *id;
  subscription_ = api_.hub->Subscribe(job_id_, request_.after_sequence(), [this] { Pump(); });
  heartbeat_ = environment_.ticker->Add([this] { Heartbeat(); });
  Pump(nullptr, &ProgressStream::started_);
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

void ProgressStream::OnCancel() { Pump(nullptr, &ProgressStream::cancelled_); }

void ProgressStream::Leave() {
  if (heartbeat_ != 0) {
    environment_.ticker->Remove(heartbeat_);
  }
  subscription_.reset();  // waits for a wake that is running
}

void ProgressStream::Heartbeat() { Pump(nullptr, &ProgressStream::heartbeat_due_); }

void ProgressStream::Pump(Executor* writer, bool ProgressStream::*flag) {
  Action action = Action::kNothing;
  absl::Status end;
  {
    absl::MutexLock lock(&mutex_);
    if (flag != nullptr) {
      this->*flag = true;
    }
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
        StartWrite(&bytes_);
      } else {
        PostOrEnd(*writer, [this] { StartWrite(&bytes_); });
      }
      return;
    case Action::kFetchJob:
      PostOrEnd(*environment_.io, [this] { FetchJob(); });
      return;
    case Action::kFinish:
      End(end);
      return;
  }
}

void ProgressStream::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
  }
  RequestCall::End(status);
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
    subscription_->LookAgain();
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
  Choose(response_, &v1::StreamProgressResponse::mutable_event) = WriteEvent(event);
  if (event.is_terminal()) {
    return Action::kFetchJob;
  }
  bytes_ = BytesOf(response_);
  return Action::kWrite;
}

ProgressStream::Action ProgressStream::DecideHeartbeat() {
  if (!heartbeat_due_) {
    return Action::kNothing;
  }
  heartbeat_due_ = false;
  busy_ = true;
  v1::Heartbeat& heartbeat = Choose(response_, &v1::StreamProgressResponse::mutable_heartbeat);
  SetTimestamp(absl::Now(), heartbeat.mutable_time());
  heartbeat.set_last_sequence(subscription_->cursor());
  bytes_ = BytesOf(response_);
  return Action::kWrite;
}

void ProgressStream::FetchJob() {
  // busy_ keeps everybody else away, and with it the end of this object. A terminal event without the
  // job's error or model would tell half of the end: the client asks again for the whole.
  const absl::Status status = RunSafely(call_.method(), [this]() -> absl::Status {
    MERCER_ASSIGN_OR_RETURN(const JobRecord record, api_.storage->jobs().GetJob(job_id_));
    CompleteTerminalEvent(record, response_.mutable_event());
    bytes_ = BytesOf(response_);
    return absl::OkStatus();
  });
  if (status.ok()) {
    StartWrite(&bytes_);
  } else {
    End(EndOfStream(status, job_id_));
  }
}

}  // namespace mercer::server
