#include "server/prediction/model_work.h"

#include <utility>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/whole_message.h"

namespace mercer::server {

absl::StatusOr<WorkOutcome> ModelWork::Run() {
  if (frame_.job().attempt > 1) {
    frame_.TellResumed(0, "work of this kind begins anew");
  }
  absl::StatusOr<WorkOutcome> outcome = Work();
  if (absl::IsCancelled(outcome.status())) {
    MERCER_RETURN_IF_ERROR(CheckGoesOn());
  }
  return outcome;
}

absl::StatusOr<std::shared_ptr<const Dataset>> ModelWork::OpenDataset() {
  if (frame_.job().dataset_ids.size() != 1) {
    return WithReason(absl::DataLossError("the job does not name one data set"),
                      "STORED_REQUEST_DAMAGED");
  }
  const std::string& id = frame_.job().dataset_ids.front();
  MERCER_ASSIGN_OR_RETURN(OpenedDataset opened, KeepTrying("cannot open the data set", [&] {
                            return frame_.environment().datasets->OpenVerified(id, token());
                          }));
  return std::move(opened.dataset);
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> ModelWork::Load(const std::string& name) {
  return KeepTrying("cannot load the model", [&] {
    return LoadNamed(*context_.models, context_.storage->models(), name, "model");
  });
}

absl::Status ModelWork::CheckGoesOn() const {
  if (frame_.token().cancelled()) {
    return absl::CancelledError("the attempt was interrupted");
  }
  if (frame_.interruption()->stop_requested()) {
    return WithReason(
        absl::FailedPreconditionError("the job was stopped before its end; nothing of it is kept"),
        "NO_MODEL", {{"stop_reason", "STOP_REQUESTED"}});
  }
  return absl::OkStatus();
}

absl::Status ModelWork::Progress(const char* phase, Index done, Index all) {
  ProgressEvent event;
  event.iteration = ++steps_;
  event.phase = phase;
  event.report.stage = phase;
  event.report.fraction = static_cast<double>(done) / static_cast<double>(all);
  frame_.recorder().Record(event);
  return CheckGoesOn();
}

absl::Status ModelWork::ReadRequest(google::protobuf::MessageLite& request) const {
  return ParseWhole(frame_.job().request, request)
             ? absl::OkStatus()
             : WithReason(absl::DataLossError("a stored request cannot be read"),
                          "STORED_REQUEST_DAMAGED");
}

}  // namespace mercer::server
