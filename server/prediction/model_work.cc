#include "server/prediction/model_work.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/whole_message.h"

namespace mercer::server {

absl::StatusOr<WorkOutcome> ModelWork::Run() {
  absl::StatusOr<WorkOutcome> outcome = Work();
  if (absl::IsCancelled(outcome.status())) {
    MERCER_RETURN_IF_ERROR(CheckGoesOn());
  }
  return outcome;
}

absl::StatusOr<OpenedDataset> ModelWork::OpenDataset() {
  if (frame_.job().dataset_ids.size() != 1) {
    return WithReason(absl::DataLossError("the job does not name one data set"),
                      "STORED_REQUEST_DAMAGED");
  }
  const std::string& id = frame_.job().dataset_ids.front();
  return KeepTrying("cannot open the data set",
                    [&] { return frame_.environment().datasets->OpenVerified(id, token()); });
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
  if (frame_.interruption()->HeedDeadline(frame_.dependencies().clock->Monotonic())) {
    const std::string limit = absl::FormatDuration(time_limit_);
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("the job was not done within its time limit of ", limit)),
                      "TIME_LIMIT_EXCEEDED", {{"time_limit", limit}});
  }
  return absl::OkStatus();
}

void ModelWork::TellProgress(const char* phase, double fraction) {
  ProgressEvent event;
  event.iteration = frame_.recorder().iteration() + 1;
  event.phase = phase;
  event.report.stage = phase;
  event.report.fraction = fraction;
  frame_.recorder().Record(event);
}

double ModelWork::SecondsUsed() const {
  return seconds_before_ +
         absl::ToDoubleSeconds(frame_.dependencies().clock->Monotonic() - started_);
}

void ModelWork::LimitTime() {
  frame_.interruption()->SetDeadline(started_ + time_limit_ - absl::Seconds(seconds_before_));
}

absl::Status ModelWork::ParseRequest(google::protobuf::MessageLite& request) const {
  return ParseWhole(frame_.job().request, request)
             ? absl::OkStatus()
             : WithReason(absl::DataLossError("a stored request cannot be read"),
                          "STORED_REQUEST_DAMAGED");
}

}  // namespace mercer::server
