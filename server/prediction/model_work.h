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
#include "server/translation/times.h"

namespace mercer::server {

class ModelWork : public JobWork {
 public:
  // Both outlive it.
  ModelWork(const ModelJobContext& context, AttemptFrame& frame)
      : context_(context), frame_(frame) {}

  absl::StatusOr<WorkOutcome> Run() final;

 protected:
  // kCancelled, when token() is, may be a stop or the limit of time as well.
  virtual absl::StatusOr<WorkOutcome> Work() = 0;
  // Cancelled by whatever is to end the work before its time, a stop and the limit of time included.
  const CancellationToken& token() const { return frame_.interruption()->token_of_all(); }
  // The only data set of the job, verified. Errors: those of DatasetCache.
  absl::StatusOr<OpenedDataset> OpenDataset();
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
  // Tells watchers of a step of the work, after which that share of it is done.
  void TellProgress(const char* phase, double fraction);
  // Errors: kCancelled; NO_MODEL, when the job is to stop; TIME_LIMIT_EXCEEDED.
  absl::Status CheckGoesOn() const;
  // The request of the job, whose limit of time holds from now on. Errors: kDataLoss.
  template <typename Request>
  absl::Status ReadRequest(Request& request) {
    MERCER_RETURN_IF_ERROR(ParseRequest(request));
    if (request.has_time_limit()) {
      time_limit_ = ToDuration(request.time_limit());
      LimitTime();
    }
    return absl::OkStatus();
  }
  // Of this attempt, and of those before that its checkpoint comes from.
  double SecondsUsed() const;
  void AddSecondsUsed(double seconds) {
    seconds_before_ += seconds;
    LimitTime();
  }

  const ModelJobContext& context_;
  AttemptFrame& frame_;

 private:
  absl::Status ParseRequest(google::protobuf::MessageLite& request) const;
  void LimitTime();

  const absl::Duration started_ = frame_.dependencies().clock->Monotonic();
  absl::Duration time_limit_ = absl::InfiniteDuration();
  double seconds_before_ = 0;  // of earlier attempts
};

template <typename Work>
JobWorkMaker MakerOf(const ModelJobContext* context) {
  return [context](AttemptFrame& frame) { return std::make_unique<Work>(*context, frame); };
}

JobWorkMaker MakerOfPredictions(const ModelJobContext* context);

}  // namespace mercer::server
