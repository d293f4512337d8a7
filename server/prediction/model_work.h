// What the works of jobs that use models share.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <google/protobuf/message_lite.h>

#include "core/base/status/status_macros.h"
#include "server/jobs/attempt_frame.h"
#include "server/jobs/job_work.h"
#include "server/prediction/model_jobs.h"

namespace mercer::server {

class ModelWork : public JobWork {
 public:
  // Both outlive it.
  ModelWork(const ModelJobContext& context, AttemptFrame& frame)
      : context_(context), frame_(frame) {}

  absl::StatusOr<WorkOutcome> Run() final;

 protected:
  // A second attempt begins from the start. kCancelled, when token() is, may be a stop as well.
  virtual absl::StatusOr<WorkOutcome> Work() = 0;
  // Cancelled by whatever is to end the work before its time, a stop included.
  const CancellationToken& token() const { return frame_.interruption()->token_of_all(); }
  // The only data set of the job, verified. Errors: those of DatasetCache.
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset();
  // The version that the request names. Errors: those of ModelCache; kNotFound when it was deleted since.
  absl::StatusOr<std::shared_ptr<const LoadedModel>> Load(const std::string& name);
  // As that of the frame, kReadTries times; a stop ends it, too.
  template <typename Operation>
  std::invoke_result_t<Operation> KeepTrying(const char* failure, Operation operation) {
    return frame_.KeepTrying(failure, kReadTries, [&]() -> std::invoke_result_t<Operation> {
      MERCER_RETURN_IF_ERROR(CheckGoesOn());
      return operation();
    });
  }
  // Tells watchers that `done` of `all` rows are done. Errors: kCancelled; NO_MODEL, when the job is to stop.
  absl::Status Progress(const char* phase, Index done, Index all);
  // Errors: kCancelled; NO_MODEL, when the job is to stop.
  absl::Status CheckGoesOn() const;
  // The request of the job. Errors: kDataLoss.
  absl::Status ReadRequest(google::protobuf::MessageLite& request) const;

  const ModelJobContext& context_;
  AttemptFrame& frame_;

 private:
  int64_t steps_ = 0;
};

template <typename Work>
JobWorkMaker MakerOf(const ModelJobContext* context) {
  return [context](AttemptFrame& frame) { return std::make_unique<Work>(*context, frame); };
}

JobWorkMaker MakerOfPredictions(const ModelJobContext* context);

}  // namespace mercer::server
