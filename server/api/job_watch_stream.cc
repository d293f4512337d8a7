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

absl::StatusOr<JobFilter> ReadWatchRequest(const v1::WatchJobsRequest& request) {
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  absl::StatusOr<JobFilter> filter =
      ReadJobFilter(request.states(), request.kinds(), request.labels());
  violations.AddAll("", filter.status());
  MERCER_RETURN_IF_ERROR(CheckSequence(request.after_sequence(), violations));
  return filter;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobWatch>> JobWatchStream::Open(std::function<void()> wake) {
  MERCER_ASSIGN_OR_RETURN(JobFilter filter, ReadWatchRequest(request_));
  return api_.feed->Watch(std::move(filter), request_.after_sequence(), std::move(wake));
}

absl::StatusOr<grpc::ByteBuffer> JobWatchStream::Write(const NextJob& next) {
  v1::WatchJobsResponse rest;
  rest.set_sequence(next.sequence);
  if (next.kind == NextJob::kExistingSent) {
    rest.set_existing_sent(true);
    return BytesOf(rest);
  }
  MERCER_ASSIGN_OR_RETURN(const std::string* const written, next.item->Written(WriteJobMessage));
  rest.set_existing(next.existing);
  rest.set_left(next.left);
  rest.set_deleted(next.item->deleted);
  // Messages that follow one another in one piece are merged by whoever reads it.
  const std::array<grpc::Slice, 2> slices = {ShareSlice(next.item, *written),
                                             grpc::Slice(rest.SerializeAsString())};
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer JobWatchStream::WriteHeartbeat(int64_t sequence) {
  v1::WatchJobsResponse response;
  response.set_sequence(sequence);
  SetTimestamp(absl::Now(), response.mutable_heartbeat());
  return BytesOf(response);
}

}  // namespace mercer::server
