// TrainingService over gRPC.
#include <utility>

#include "mercer/v1/training_service.pb.h"
#include "server/api/job_watch_stream.h"
#include "server/api/progress_stream.h"
#include "server/api/services.h"
#include "server/api/training_handlers.h"
#include "server/rpc/rpc_service.h"

namespace mercer::server {
namespace {

class TrainingRpcs final : public RpcService {
 public:
  TrainingRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : RpcService(environment), handlers_(context) {
    // A retry of a submission finds its job while the server drains, too.
    LongUnary<v1::TrainRequest>(
        "TrainingService/Train", *environment.submission,
        [this](const auto& request, const CallInfo& info, const CancellationToken& cancellation) {
          return handlers_.Train(request, info, cancellation);
        });
    LongUnary<v1::EstimateCostRequest>(
        "TrainingService/EstimateCost", *environment.submission,
        [this](const auto& request, const CancellationToken& cancellation) {
          return handlers_.EstimateCost(request, cancellation);
        });
    Unary<v1::GetJobRequest>("TrainingService/GetJob", *environment.io,
                             [this](const auto& request) { return handlers_.GetJob(request); });
    Unary<v1::ListJobsRequest>("TrainingService/ListJobs", *environment.io,
                               [this](const auto& request) { return handlers_.ListJobs(request); });
    Unary<v1::CancelJobRequest>("TrainingService/CancelJob", *environment.io,
                                [this](const auto& request, const CallInfo& info) {
                                  return handlers_.CancelJob(request, info);
                                });
    Unary<v1::StopJobRequest>("TrainingService/StopJob", *environment.io,
                              [this](const auto& request, const CallInfo& info) {
                                return handlers_.StopJob(request, info);
                              });
    Unary<v1::UpdateJobRequest>("TrainingService/UpdateJob", *environment.io,
                                [this](const auto& request, const CallInfo& info) {
                                  return handlers_.UpdateJob(request, info);
                                });
    Unary<v1::DeleteJobRequest>("TrainingService/DeleteJob", *environment.io,
                                [this](const auto& request, const CallInfo& info) {
                                  return handlers_.DeleteJob(request, info);
                                });
    Unary<v1::ListLearnersRequest>(
        "TrainingService/ListLearners", *environment.io,
        [this](const auto& request) { return handlers_.ListLearners(request); });
    Stream("TrainingService/StreamProgress",
           [&](CallRecord call, grpc::CallbackServerContext* client) -> ServerCall* {
             return new ProgressStream(environment, context, std::move(call), client);
           });
    Stream("TrainingService/WatchJobs",
           [&](CallRecord call, grpc::CallbackServerContext* client) -> ServerCall* {
             return new JobWatchStream(environment, context, std::move(call), client);
           });
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
