#include "server/prediction/model_assessment.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/run/certificate_comparison.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"

namespace mercer::server {
namespace {

absl::Status WitnessGone(const std::string& name) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the witness of '", name, "' is not there any more")),
                    "WITNESS_GONE", {{"resource_type", "model"}, {"resource_name", name}});
}

// What was trained, from the model's lineage.
absl::StatusOr<StoredModel> ReadLineage(const v1::ModelVersion& model) {
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

absl::StatusOr<std::unique_ptr<MappedFile>> ReadModelFile(Storage& storage, BlobStore& blobs,
                                                          const VersionRecord& record) {
  absl::StatusOr<std::unique_ptr<MappedFile>> file = blobs.Read(record.model_blob);
  if (!absl::IsNotFound(file.status())) {
    return file;
  }
  const std::string name = ModelVersionName(record.model, record.version);
  const absl::Status status = storage.models().GetVersion(record.model, record.version).status();
  return status.ok() ? BlobMissing(record.model_blob) : AboutModel(status, name);
}

absl::StatusOr<std::unique_ptr<MappedFile>> ReadWitnessFile(BlobStore& blobs,
                                                            const VersionRecord& record) {
  const std::string name = ModelVersionName(record.model, record.version);
  if (record.witness_blob.empty()) {
    return WitnessGone(name);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> file = blobs.Read(record.witness_blob);
  return absl::IsNotFound(file.status()) ? WitnessGone(name) : std::move(file);
}

}  // namespace

v1::EvaluateModelResponse WriteEvaluation(const std::string& model, int64_t rows,
                                          const Evaluation& evaluation) {
  v1::EvaluateModelResponse response;
  response.set_model(model);
  for (const Metric& metric : evaluation.metrics) {
    v1::Metric* const entry = response.add_metrics();
    entry->set_name(metric.name);
    entry->set_value(metric.value);
  }
  response.set_rows(evaluation.rows);
  response.set_skipped_rows(rows - evaluation.rows);
  response.set_unknown_label_rows(evaluation.unknown_label_rows);
  response.set_rows_by_mean(evaluation.rows_by_mean);
  response.set_weight_column(evaluation.weight_column);
  return response;
}

absl::StatusOr<std::unique_ptr<const VerifiableModel>> ReadVerifiableModel(Storage& storage,
                                                                           BlobStore& blobs,
                                                                           std::string_view name,
                                                                           std::string_view field) {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record, FindNamed(storage.models(), name, field));
  MERCER_ASSIGN_OR_RETURN(const v1::ModelVersion summary, WriteVersion(record));
  auto result = std::make_unique<VerifiableModel>();
  result->name = summary.name();
  MERCER_ASSIGN_OR_RETURN(result->stored, ReadLineage(summary));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> model_file,
                          ReadModelFile(storage, blobs, record));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> witness_file,
                          ReadWitnessFile(blobs, record));
  MERCER_ASSIGN_OR_RETURN(result->model, LoadModel(model_file->contents()));
  MERCER_ASSIGN_OR_RETURN(result->witness, LoadWitness(witness_file->contents()));
  result->stored.model = &result->model;
  result->stored.witness = &result->witness;
  return result;
}

v1::VerifyModelResponse WriteVerification(const VerifiableModel& verified,
                                          const Certificate& certificate) {
  v1::VerifyModelResponse response;
  response.set_model(verified.name);
  WriteCertificate(certificate, response.mutable_certificate());
  WriteCertificate(verified.model.certificate, response.mutable_stored_certificate());
  response.set_matches(SameCertificate(certificate, verified.model.certificate));
  return response;
}

}  // namespace mercer::server
