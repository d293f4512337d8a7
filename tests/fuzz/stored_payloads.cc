// What the database keeps as bytes: events, errors, requests, descriptions of data sets, summaries of models. The first
// byte says which. The answers that they become can be sent.
#include <string>

#include "core/base/status/errors.h"
#include "server/jobs/record/job_event.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/error_details.h"
#include "server/translation/job_translator.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"
#include "tests/fuzz/support/training/training.h"

namespace mercer::fuzz {
namespace {

using server::DecodeDatasetInfo;
using server::DecodeError;
using server::DecodeJobEvent;

void RequireDamaged(const absl::Status& status, bool needs_reason) {
  RequireRefusal(status, {absl::StatusCode::kDataLoss}, needs_reason);
}

void CheckEvent(std::string payload) {
  server::EventRecord record;
  record.sequence = 1;
  record.payload = std::move(payload);
  const absl::StatusOr<server::JobEvent> event = DecodeJobEvent(record);
  if (!event.ok()) {
    return RequireDamaged(event.status(), false);
  }
  RequireSendable(server::WriteEvent(*event));
  record.payload = EncodeJobEvent(*event);
  const absl::StatusOr<server::JobEvent> again = DecodeJobEvent(record);
  Require(again.ok() && EncodeJobEvent(*again) == record.payload, "what was stored reads back");
}

void CheckError(Input input) {
  server::StoredError stored;
  stored.code = static_cast<int>(input.Uint64());
  stored.message = std::string(input.Bytes(input.Byte()));
  stored.details = std::string(input.rest());
  const absl::Status error = DecodeError(stored);
  Require(server::ToRpcStatus(error).ByteSizeLong() <= server::kMaxErrorBytes,
          "an error fits the headers");
  // Not the bytes: the order of a status's payloads is not defined.
  const absl::Status again = DecodeError(server::EncodeError(error));
  Require(DecodeError(server::EncodeError(again)) == again, "what was stored reads back");
}

void CheckJob(Input input) {
  server::JobRecord job;
  job.id = "j";
  job.state = static_cast<server::JobState>(input.Byte());
  job.attempt = static_cast<int32_t>(input.Uint64());
  job.create_time = absl::FromUnixMicros(static_cast<int64_t>(input.Uint64()));
  job.model_version = input.Byte();
  job.learner = std::string(input.Bytes(input.Byte()));
  job.error = server::StoredError{input.Byte(), std::string(input.Bytes(input.Byte())),
                                  std::string(input.Bytes(input.Byte()))};
  job.last_event =
      server::EventRecord{1, 1, 1, job.create_time, std::string(input.Bytes(input.Byte()))};
  job.request = std::string(input.rest());
  server::AttemptRecord attempt;
  attempt.reason = static_cast<server::AttemptReason>(job.state);
  const absl::StatusOr<v1::Job> message = server::WriteJob(job, {attempt});
  if (!message.ok()) {
    return RequireDamaged(message.status(), true);
  }
  RequireSendable(*message);
}

void CheckDatasetInfo(std::string info) {
  server::DatasetRecord record;
  record.id = "d";
  record.info = std::move(info);
  for (const v1::DatasetView view : {v1::DATASET_VIEW_BASIC, v1::DATASET_VIEW_FULL}) {
    const absl::StatusOr<v1::Dataset> message = server::WriteDataset(record, view);
    if (!message.ok()) {
      return RequireDamaged(message.status(), true);
    }
    RequireSendable(*message);
  }
  const absl::StatusOr<server::DatasetInfo> decoded = DecodeDatasetInfo(record.info);
  Require(decoded.ok(), "a description that can be shown can be read");
  const std::string encoded = EncodeDatasetInfo(*decoded);
  const absl::StatusOr<server::DatasetInfo> again = DecodeDatasetInfo(encoded);
  Require(again.ok() && again->request_id == decoded->request_id, "what was stored reads back");
}

void CheckSummary(std::string summary) {
  server::VersionRecord record;
  record.model = "m";
  record.version = 1;
  record.summary = std::move(summary);
  const absl::StatusOr<v1::ModelVersion> message = server::WriteVersion(record);
  if (!message.ok()) {
    return RequireDamaged(message.status(), true);
  }
  RequireSendable(*message);
  const absl::StatusOr<v1::ModelVersion> with_tables = server::WriteVersionInDetail(record);
  Require(with_tables.ok(), "what a list tells, GetModelVersion tells");
  RequireSendable(*with_tables);
}

void CheckModelMessage(std::string_view file) {
  const absl::StatusOr<Model> model = LoadModel(file);
  if (model.ok()) {
    v1::ModelVersion message = server::SummarizeModel(*model);
    Require(server::WriteModelFunction(*model, &message).ok(), "a model can be told");
    RequireSendable(message);
  }
}

std::string EventSeed(server::JobEventKind kind) {
  server::JobEvent event;
  event.kind = kind;
  event.state = server::JobState::kFailed;
  event.message = "NO_MODEL";
  event.phase = "train";
  event.report.stage = "solve";
  event.report.fraction = 0.5;
  event.report.stop = StopReason::kConverged;
  event.elapsed_seconds = 3;
  return std::string(1, '\0') + EncodeJobEvent(event);
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  Input input(bytes);
  switch (input.Choice(6)) {
    case 0:
      return CheckEvent(std::string(input.rest()));
    case 1:
      return CheckError(input);
    case 2:
      return CheckJob(input);
    case 3:
      return CheckDatasetInfo(std::string(input.rest()));
    case 4:
      return CheckSummary(std::string(input.rest()));
    default:
      return CheckModelMessage(input.rest());
  }
}

std::vector<std::string> Seeds() {
  FieldViolations violations;
  violations.Add("learner.svm.C", "must be > 0, is -1");
  const server::StoredError error = server::EncodeError(violations.ToStatus());
  std::string error_seed(1, '\1');
  error_seed += std::string("\x03\0\0\0\0\0\0\0\x04", 9) + "text" + error.details;
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.set_display_name("first");
  std::string job_seed("\x02\x06\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x03svm\x03\x04text\0\0", 31);
  const Dataset dataset = MixedData();
  quality::Scan scan;
  quality::ScanDataset(
      dataset, [] { return false; }, scan)
      .IgnoreError();
  const Model model = Train(*Learners()[0], MixedRecipe(*Learners()[0]), dataset).model;
  return {
      EventSeed(server::JobEventKind::kState),
      EventSeed(server::JobEventKind::kProgress),
      EventSeed(server::JobEventKind::kResumed),
      error_seed,
      job_seed + server::EncodeTrainRequest(request),
      std::string(1, '\3') +
          server::EncodeDatasetInfo({*server::DescribeDataset(dataset, scan, [] { return false; }),
                                     "once", "digest", ""}),
      std::string(1, '\4') + server::SummarizeModel(model).SerializeAsString(),
      std::string(1, '\5') + SaveModel(model),
  };
}

}  // namespace mercer::fuzz
