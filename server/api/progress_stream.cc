#include "server/api/progress_stream.h"

#include <utility>

#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "server/translation/job_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/unknown_fields.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

// The id of the job. Errors: kInvalidArgument with every bad field.
absl::StatusOr<std::string> CheckStreamRequest(const v1::StreamProgressRequest& request) {
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  absl::StatusOr<std::string> id = ParseJobName(request.job(), "job");
  violations.AddAll("", id.status());
  MERCER_RETURN_IF_ERROR(CheckSequence(request.after_sequence(), violations));
  return id;
}

v1::StreamProgressResponse WriteResponse(const JobEvent& event) {
  v1::StreamProgressResponse response;
  Choose(response, &v1::StreamProgressResponse::mutable_event) = WriteEvent(event);
  return response;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProgressSubscription>> ProgressStream::Open(
    std::function<void()> wake) {
  MERCER_ASSIGN_OR_RETURN(job_id_, CheckStreamRequest(request_));
  return api_.hub->Subscribe(job_id_, request_.after_sequence(), std::move(wake));
}

absl::StatusOr<grpc::ByteBuffer> ProgressStream::Write(const NextEvent& next) {
  const JobEvent& event = next.item->record;
  if (event.is_terminal()) {
    // Without the job's error or model it would tell half of the end: the client asks again for the whole.
    MERCER_ASSIGN_OR_RETURN(const JobRecord job, api_.storage->jobs().GetJob(job_id_));
    v1::StreamProgressResponse response = WriteResponse(event);
    CompleteTerminalEvent(job, response.mutable_event());
    return BytesOf(response);
  }
  MERCER_ASSIGN_OR_RETURN(const std::string* const written,
                          next.item->Written([](const JobEvent& that) {
                            return WriteResponse(that).SerializeAsString();
                          }));
  const grpc::Slice slice = ShareSlice(next.item, *written);
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer ProgressStream::WriteHeartbeat(int64_t sequence) {
  v1::StreamProgressResponse response;
  v1::Heartbeat& heartbeat = Choose(response, &v1::StreamProgressResponse::mutable_heartbeat);
  SetTimestamp(absl::Now(), heartbeat.mutable_time());
  heartbeat.set_last_sequence(sequence);
  return BytesOf(response);
}

absl::Status ProgressStream::EndOf(const absl::Status& status) const {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return ResourceNotFound("job", JobName(job_id_));
    case absl::StatusCode::kInvalidArgument:
      return WithReason(absl::OutOfRangeError("after_sequence is beyond the job's last event"),
                        "BEYOND_LAST_EVENT",
                        {{"resource_type", "job"}, {"resource_name", JobName(job_id_)}});
    case absl::StatusCode::kUnavailable:
      return GetReason(status) == "DRAINING" ? DrainingError() : status;
    default:
      return status;
  }
}

}  // namespace mercer::server
