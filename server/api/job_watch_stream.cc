#include "server/api/job_watch_stream.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"

#include "server/api/training_handlers.h"
#include "server/translation/job_translator.h"
#include "server/translation/times.h"
#include "server/translation/unknown_fields.h"

namespace mercer::server {
namespace {

// Of what every watcher is sent about a job as it is now.
absl::StatusOr<std::string> WriteJobMessage(const JobRecord& record) {
  absl::StatusOr<v1::Job> job = WriteJob(record, {});
  if (!job.ok()) {
    return job.status();
  }
  v1::WatchJobsResponse response;
  *response.mutable_job() = *std::move(job);
  return response.SerializeAsString();
}

// `bytes` belong to the job.
grpc::Slice ShareSlice(std::shared_ptr<const WatchedJob> job, const std::string& bytes) {
  using Owner = std::shared_ptr<const WatchedJob>;
  auto owner = std::make_unique<Owner>(std::move(job));
  // gRPC only reads what it is given to write.
  return {const_cast<char*>(bytes.data()), bytes.size(),
          [](void* that) { delete static_cast<Owner*>(that); }, owner.release()};
}

absl::StatusOr<JobFilter> ReadWatchRequest(const v1::WatchJobsRequest& request) {
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  absl::StatusOr<JobFilter> filter = ReadJobFilter(request.states(), request.labels());
  violations.AddAll("", filter.status());
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return filter;
}

}  // namespace

void JobWatchStream::Begin() {
  absl::StatusOr<JobFilter> filter = ReadWatchRequest(request_);
  if (!filter.ok()) {
    End(filter.status());
    return;
  }
  watch_ = api_.feed->Watch(*std::move(filter), [this] { Pump(); });
  heartbeat_ = environment_.ticker->Add([this] { Pump(nullptr, &JobWatchStream::heartbeat_due_); });
  Pump(nullptr, &JobWatchStream::started_);
}

// gRPC's own few threads, which run this, are those that every call waits for: a further message is sent by another.
void JobWatchStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    busy_ = false;
    cancelled_ = cancelled_ || !ok;
  }
  Pump(environment_.watching);
}

void JobWatchStream::OnCancel() { Pump(nullptr, &JobWatchStream::cancelled_); }

void JobWatchStream::Leave() {
  if (heartbeat_ != 0) {
    environment_.ticker->Remove(heartbeat_);
  }
  watch_.reset();  // waits for a wake that is running
}

void JobWatchStream::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
  }
  RequestCall::End(status);
}

void JobWatchStream::Pump(Executor* writer, bool JobWatchStream::*flag) {
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
  // After Finish, and after a write was begun, another thread may already be further: nothing of this object is
  // touched below.
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
    case Action::kFinish:
      End(end);
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
    case NextJob::kExistingSent: {
      v1::WatchJobsResponse response;
      response.set_existing_sent(true);
      return Write(response);
    }
    case NextJob::kWait:
      return DecideHeartbeat();
    case NextJob::kEnd:
      return EndWith(next.status);
  }
  return Action::kNothing;
}

JobWatchStream::Action JobWatchStream::TakeJob(const NextJob& next) {
  const absl::StatusOr<std::string>& written = next.job->Written(WriteJobMessage);
  if (!written.ok()) {
    return EndWith(written.status());
  }
  v1::WatchJobsResponse rest;
  rest.set_existing(next.existing);
  rest.set_left(next.left);
  rest.set_deleted(next.job->deleted);
  // Messages that follow one another in one piece are merged by whoever reads it.
  const std::array<grpc::Slice, 2> slices = {ShareSlice(next.job, *written),
                                             grpc::Slice(rest.SerializeAsString())};
  return WriteBytes(slices.data(), slices.size());
}

JobWatchStream::Action JobWatchStream::DecideHeartbeat() {
  if (!heartbeat_due_) {
    return Action::kNothing;
  }
  v1::WatchJobsResponse response;
  SetTimestamp(absl::Now(), response.mutable_heartbeat());
  return Write(response);
}

JobWatchStream::Action JobWatchStream::Write(const v1::WatchJobsResponse& response) {
  const grpc::Slice slice(response.SerializeAsString());
  return WriteBytes(&slice, 1);
}

// Whatever is written is a sign of life.
JobWatchStream::Action JobWatchStream::WriteBytes(const grpc::Slice* slices, size_t num_slices) {
  bytes_ = grpc::ByteBuffer(slices, num_slices);
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
