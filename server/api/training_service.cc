// TrainingService over gRPC.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "mercer/v1/training_service.pb.h"
#include "server/api/services.h"
#include "server/api/training_handlers.h"
#include "server/api/watch_stream.h"
#include "server/rpc/rpc_service.h"
#include "server/translation/job_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/unknown_fields.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

// `parsed` of a request to watch something. Errors: kInvalidArgument with every bad field; reason BAD_SEQUENCE when it is the sequence
// number alone.
template <typename Request, typename Parsed>
absl::StatusOr<Parsed> CheckWatch(const Request& request, absl::StatusOr<Parsed> parsed) {
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  violations.AddAll("", parsed.status());
  const bool others_are_good = violations.empty();
  violations.Check(request.after_sequence() >= 0, "after_sequence",
                   absl::StrCat("must be >= 0, is ", request.after_sequence()));
  const absl::Status status = violations.ToStatus();
  MERCER_RETURN_IF_ERROR(others_are_good && !status.ok() ? WithReason(status, "BAD_SEQUENCE")
                                                         : status);
  return parsed;
}

// `bytes` belong to the item, which lives as long as gRPC has them.
template <typename Item>
grpc::Slice ShareSlice(std::shared_ptr<const Item> item, const std::string& bytes) {
  using Owner = std::shared_ptr<const Item>;
  auto owner = std::make_unique<Owner>(std::move(item));
  // gRPC only reads what it is given to write.
  return {const_cast<char*>(bytes.data()), bytes.size(),
          [](void* that) { delete static_cast<Owner*>(that); }, owner.release()};
}

// One watcher of one job. An event from memory has the same bytes for every watcher. The hub ends the stream after the job's last events,
// in a drain too.
class ProgressStream final : public WatchStream<WatchedEvent> {
 public:
  ProgressStream(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                 grpc::CallbackServerContext* context)
      : WatchStream(environment, std::move(call), context, request_), api_(api) {}

 private:
  absl::StatusOr<std::unique_ptr<ProgressSubscription>> Open(std::function<void()> wake) override {
    MERCER_ASSIGN_OR_RETURN(job_id_, CheckWatch(request_, ParseJobName(request_.job(), "job")));
    return api_.hub->Subscribe(job_id_, request_.after_sequence(), std::move(wake));
  }

  static v1::StreamProgressResponse WriteResponse(const JobEvent& event) {
    v1::StreamProgressResponse response;
    Choose(response, &v1::StreamProgressResponse::mutable_event) = WriteEvent(event);
    return response;
  }

  // A terminal event tells the job's error and model.
  bool TakesLong(const WatchedEvent& event) const override { return event.record.is_terminal(); }

  absl::StatusOr<grpc::ByteBuffer> Write(const NextEvent& next) override {
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

  grpc::ByteBuffer WriteHeartbeat(int64_t sequence) override {
    v1::StreamProgressResponse response;
    v1::Heartbeat& heartbeat = Choose(response, &v1::StreamProgressResponse::mutable_heartbeat);
    SetTimestamp(absl::Now(), heartbeat.mutable_time());
    heartbeat.set_last_sequence(sequence);
    return BytesOf(response);
  }

  void EndForDrain() override {}
  absl::Status EndOf(const absl::Status& status) const override {
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

  const ApiContext& api_;
  v1::StreamProgressRequest request_;
  std::string job_id_;
};

// One watcher of all jobs. A change has the same bytes for every watcher.
class JobWatchStream final : public WatchStream<WatchedJob> {
 public:
  JobWatchStream(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                 grpc::CallbackServerContext* context)
      : WatchStream(environment, std::move(call), context, request_), api_(api) {}

 private:
  absl::StatusOr<std::unique_ptr<JobWatch>> Open(std::function<void()> wake) override {
    MERCER_ASSIGN_OR_RETURN(JobFilter filter,
                            CheckWatch(request_, ReadJobFilter(request_.states(), request_.kinds(),
                                                               request_.labels())));
    return api_.feed->Watch(std::move(filter), request_.after_sequence(), std::move(wake));
  }
  bool TakesLong(const WatchedJob& /*job*/) const override { return false; }
  absl::Status EndOf(const absl::Status& status) const override { return status; }
  void EndForDrain() override { EndAsDrained(); }

  // Of what every watcher is sent about a job as it is now.
  static absl::StatusOr<std::string> WriteJobMessage(const JobRecord& record) {
    v1::WatchJobsResponse response;
    MERCER_ASSIGN_OR_RETURN(*response.mutable_job(), WriteJob(record, {}));
    return response.SerializeAsString();
  }

  absl::StatusOr<grpc::ByteBuffer> Write(const NextJob& next) override {
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

  grpc::ByteBuffer WriteHeartbeat(int64_t sequence) override {
    v1::WatchJobsResponse response;
    response.set_sequence(sequence);
    SetTimestamp(absl::Now(), response.mutable_heartbeat());
    return BytesOf(response);
  }

  const ApiContext& api_;
  v1::WatchJobsRequest request_;
};

class TrainingRpcs final : public RpcService {
 public:
  TrainingRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : RpcService(environment), handlers_(context) {
    // A retry of a submission finds its job while the server drains, too.
    Answer("TrainingService/Train", handlers_, &TrainingHandlers::Train);
    Answer("TrainingService/EstimateCost", handlers_, &TrainingHandlers::EstimateCost);
    Answer("TrainingService/GetJob", handlers_, &TrainingHandlers::GetJob);
    Answer("TrainingService/ListJobs", handlers_, &TrainingHandlers::ListJobs);
    Answer("TrainingService/CancelJob", handlers_, &TrainingHandlers::CancelJob);
    Answer("TrainingService/StopJob", handlers_, &TrainingHandlers::StopJob);
    Answer("TrainingService/UpdateJob", handlers_, &TrainingHandlers::UpdateJob);
    Answer("TrainingService/DeleteJob", handlers_, &TrainingHandlers::DeleteJob);
    Answer("TrainingService/ListLearners", handlers_, &TrainingHandlers::ListLearners);
    Open<ProgressStream>("TrainingService/StreamProgress", context);
    Open<JobWatchStream>("TrainingService/WatchJobs", context);
  }

 private:
  TrainingHandlers handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTrainingService(const RpcEnvironment& environment,
                                                   const ApiContext& context) {
  return std::make_unique<TrainingRpcs>(environment, context);
}

}  // namespace mercer::server
