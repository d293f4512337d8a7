#include "server/api/assessment_handlers.h"

#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/background.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/witness.h"
#include "core/training/run/certificate_comparison.h"
#include "server/jobs/job_errors.h"
#include "server/jobs/model_verification.h"
#include "server/prediction/dataset_evaluation.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/model_translator.h"
#include "server/translation/prediction_translator.h"
#include "server/translation/recipe_translator.h"

namespace mercer::server {
namespace {

absl::Status WitnessGone(const std::string& name) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the witness of '", name, "' is not there any more")),
                    "WITNESS_GONE", {{"resource_type", "model"}, {"resource_name", name}});
}

// What was trained, from the model's lineage.
absl::StatusOr<StoredModel> ReadLineage(const v1::Model& model) {
  if (!model.lineage().has_request() || model.lineage().data_digests().empty()) {
    return WithReason(absl::DataLossError("a stored model's summary does not say what was trained"),
                      "STORED_SUMMARY_DAMAGED");
  }
  StoredModel stored;
  stored.request = EncodeTrainRequest(model.lineage().request());
  stored.dataset_blobs = {model.lineage().data_digests().begin(),
                          model.lineage().data_digests().end()};
  return stored;
}

}  // namespace

absl::StatusOr<v1::EvaluateModelResponse> AssessmentHandlers::EvaluateModel(
    const v1::EvaluateModelRequest& request, const CancellationToken& cancellation) const {
  EnterBackground();
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(request.dataset(), "dataset"));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModel> loaded,
                          LoadNamed(cache_, context_.storage->models(), request.name(), "name"));
  const absl::StatusOr<std::shared_ptr<const Dataset>> dataset =
      context_.jobs->OpenDataset(id, cancellation);
  if (absl::IsNotFound(dataset.status())) {
    return ResourceNotFound("data set", request.dataset());
  }
  MERCER_RETURN_IF_ERROR(dataset.status());
  const int64_t bytes = EvaluationBytes(loaded->predictor->model(), **dataset);
  if (bytes > context_.limits.dataset_bytes) {
    return JobTooLarge(bytes, context_.limits.dataset_bytes);
  }
  MERCER_ASSIGN_OR_RETURN(
      const Budget::Share memory,
      memory_.Take(bytes, context_.limits.dataset_bytes, [&] { return cancellation.cancelled(); }));
  PredictOptions options;
  options.task = request.task();
  MERCER_ASSIGN_OR_RETURN(options.task_rule, ReadTaskRule(request.task_rule()));
  MERCER_ASSIGN_OR_RETURN(const Evaluation evaluation,
                          EvaluateDataset(*loaded->predictor, **dataset, options, cancellation));
  v1::EvaluateModelResponse response;
  response.set_model(loaded->name);
  for (const Metric& metric : evaluation.metrics) {
    v1::Metric* const entry = response.add_metrics();
    entry->set_name(metric.name);
    entry->set_value(metric.value);
  }
  response.set_rows(evaluation.rows);
  response.set_skipped_rows((*dataset)->rows - evaluation.rows);
  response.set_unknown_label_rows(evaluation.unknown_label_rows);
  response.set_rows_by_mean(evaluation.rows_by_mean);
  response.set_weight_column(evaluation.weight_column);
  return response;
}

absl::StatusOr<std::unique_ptr<MappedFile>> AssessmentHandlers::ReadModelFile(
    const VersionRecord& record) const {
  absl::StatusOr<std::unique_ptr<MappedFile>> file = context_.blobs->Read(record.model_blob);
  if (!absl::IsNotFound(file.status())) {
    return file;
  }
  const std::string name = ModelVersionName(record.model, record.version);
  const absl::Status status =
      context_.storage->models().GetVersion(record.model, record.version).status();
  return status.ok() ? BlobMissing(record.model_blob) : AboutModel(status, name);
}

absl::StatusOr<std::unique_ptr<MappedFile>> AssessmentHandlers::ReadWitnessFile(
    const VersionRecord& record) const {
  const std::string name = ModelVersionName(record.model, record.version);
  if (record.witness_blob.empty()) {
    return WitnessGone(name);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> file = context_.blobs->Read(record.witness_blob);
  return absl::IsNotFound(file.status()) ? WitnessGone(name) : std::move(file);
}

absl::StatusOr<v1::VerifyModelResponse> AssessmentHandlers::VerifyModel(
    const v1::VerifyModelRequest& request, const CancellationToken& cancellation) const {
  EnterBackground();
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record,
                          FindNamed(context_.storage->models(), request.name(), "name"));
  MERCER_ASSIGN_OR_RETURN(const v1::Model summary, WriteModel(record));
  MERCER_ASSIGN_OR_RETURN(StoredModel stored, ReadLineage(summary));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> model_file, ReadModelFile(record));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> witness_file, ReadWitnessFile(record));
  MERCER_ASSIGN_OR_RETURN(const Model model, LoadModel(model_file->contents()));
  MERCER_ASSIGN_OR_RETURN(const Witness witness, LoadWitness(witness_file->contents()));
  stored.model = &model;
  stored.witness = &witness;
  const absl::StatusOr<Certificate> certificate = context_.jobs->Verify(stored, cancellation);
  if (!certificate.ok()) {
    return AboutModel(certificate.status(), summary.name());
  }
  v1::VerifyModelResponse response;
  response.set_model(summary.name());
  WriteCertificate(*certificate, response.mutable_certificate());
  WriteCertificate(model.certificate, response.mutable_stored_certificate());
  response.set_matches(SameCertificate(*certificate, model.certificate));
  return response;
}

}  // namespace mercer::server
