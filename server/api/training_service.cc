// TrainingService over gRPC.
#include "absl/strings/str_cat.h"
#include <grpcpp/support/server_callback.h>

#include "core/base/errors.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "server/api/job_watch_stream.h"
#include "server/api/open_stream.h"
#include "server/api/progress_stream.h"
#include "server/api/resource_names.h"
#include "server/api/services.h"
#include "server/api/training_handlers.h"
#include "server/api/unknown_fields.h"

namespace mercer::server {
namespace {

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

absl::StatusOr<JobFilter> ReadWatchRequest(grpc::ByteBuffer bytes) {
  v1::WatchJobsRequest request;
  const grpc::Status read =
      grpc::SerializationTraits<v1::WatchJobsRequest>::Deserialize(&bytes, &request);
  if (!read.ok()) {
    return absl::InternalError(read.error_message());  // as gRPC says it of other methods
  }
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  absl::StatusOr<JobFilter> filter = ReadJobFilter(request.states(), request.labels());
  violations.AddAll("", filter.status());
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return filter;
}

// WatchJobs is raw, that is, takes and gives bytes: see JobWatchStream.
class TrainingServiceImpl final : public v1::TrainingService::WithRawCallbackMethod_WatchJobs<
                                      v1::TrainingService::CallbackService> {
 public:
  TrainingServiceImpl(const RpcEnvironment& environment, const ApiContext& context)
      : environment_(environment), context_(context), handlers_(context) {}

  grpc::ServerUnaryReactor* Train(grpc::CallbackServerContext* context,
                                  const v1::TrainRequest* request, v1::Job* response) override {
    return RunUnary(environment_, environment_.submission, context, "TrainingService/Train",
                    request, response,
                    [this](const v1::TrainRequest& message, const CallInfo& info) {
                      return handlers_.Train(message, info);
                    });
  }

  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* response) override {
    return RunUnary(environment_, environment_.io, context, "TrainingService/GetJob", request,
                    response, [this](const auto& message) { return handlers_.GetJob(message); });
  }

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "TrainingService/ListJobs", request,
                    response, [this](const auto& message) { return handlers_.ListJobs(message); });
  }

  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override {
    return RunUnary(environment_, environment_.io, context, "TrainingService/CancelJob", request,
                    response, [this](const auto& message) { return handlers_.CancelJob(message); });
  }

  grpc::ServerUnaryReactor* ListLearners(grpc::CallbackServerContext* context,
                                         const v1::ListLearnersRequest* request,
                                         v1::ListLearnersResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "TrainingService/ListLearners", request,
                    response,
                    [this](const auto& message) { return handlers_.ListLearners(message); });
  }

  grpc::ServerWriteReactor<v1::StreamProgressResponse>* StreamProgress(
      grpc::CallbackServerContext* context, const v1::StreamProgressRequest* request) override {
    using Base = grpc::ServerWriteReactor<v1::StreamProgressResponse>;
    return OpenStream<Base>(environment_, context, "TrainingService/StreamProgress",
                            [&](CallRecord call) -> Base* {
                              const absl::StatusOr<std::string> id = CheckStreamRequest(*request);
                              if (!id.ok()) {
                                return FailStream<Base>(environment_, std::move(call), id.status());
                              }
                              return new ProgressStream(environment_, context_, std::move(call),
                                                        context, *id, request->after_sequence());
                            });
  }

  grpc::ServerUnaryReactor* StopJob(grpc::CallbackServerContext* context,
                                    const v1::StopJobRequest* request, v1::Job* response) override {
    return RunUnary(environment_, environment_.io, context, "TrainingService/StopJob", request,
                    response, [this](const auto& message) { return handlers_.StopJob(message); });
  }

  grpc::ServerUnaryReactor* EstimateCost(grpc::CallbackServerContext* context,
                                         const v1::EstimateCostRequest* request,
                                         v1::EstimateCostResponse* response) override {
    return RunUnary(environment_, environment_.submission, context, "TrainingService/EstimateCost",
                    request, response,
                    [this](const auto& message) { return handlers_.EstimateCost(message); });
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJobs(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes) override {
    using Base = grpc::ServerWriteReactor<grpc::ByteBuffer>;
    return OpenStream<Base>(
        environment_, context, "TrainingService/WatchJobs", [&](CallRecord call) -> Base* {
          absl::StatusOr<JobFilter> filter = ReadWatchRequest(*bytes);
          if (!filter.ok()) {
            return FailStream<Base>(environment_, std::move(call), filter.status());
          }
          return new JobWatchStream(environment_, context_, std::move(call), context,
                                    *std::move(filter));
        });
  }

 private:
  const RpcEnvironment& environment_;
  const ApiContext& context_;
  TrainingHandlers handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTrainingService(const RpcEnvironment& environment,
                                                   const ApiContext& context) {
  return std::make_unique<TrainingServiceImpl>(environment, context);
}

}  // namespace mercer::server
