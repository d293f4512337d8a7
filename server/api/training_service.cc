// TrainingService over gRPC.
#include "mercer/v1/training_service.pb.h"
#include "server/api/handler_service.h"
#include "server/api/job_watch_stream.h"
#include "server/api/progress_stream.h"
#include "server/api/services.h"
#include "server/api/training_handlers.h"

namespace mercer::server {
namespace {

class TrainingRpcs final : public HandlerService {
 public:
  TrainingRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : HandlerService(environment), handlers_(context) {
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
