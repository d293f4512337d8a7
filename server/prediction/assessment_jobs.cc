// Evaluations and verifications of models as jobs.
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/witness.h"
#include "core/training/run/certificate_comparison.h"
#include "core/training/run/verification.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/model_verification.h"
#include "server/prediction/dataset_evaluation.h"
#include "server/prediction/model_lookup.h"
#include "server/prediction/row_work.h"
#include "server/translation/model_translator.h"
#include "server/translation/prediction_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

constexpr char kVerifying[] = "verify";

absl::StatusOr<PredictOptions> ReadOptions(const v1::EvaluateModelRequest& request) {
  PredictOptions options;
  options.task = request.task();
  MERCER_ASSIGN_OR_RETURN(options.task_rule, ReadTaskRule(request.task_rule()));
  return options;
}

// The request as it is stored.
template <typename Request>
std::string Resolve(const Request& request, const std::string& name) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  Request resolved = request;
  resolved.set_name(name);
  resolved.clear_request_id();
  return EncodeWhole(resolved);
}

// A version with all that a verification reads, as it is stored.
struct VerifiableModel {
  VersionRecord record;
  std::string name;  // "models/{model}/versions/{n}"
  Model model;
  Witness witness;
  StoredModel stored;  // points to the two
};

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

// `model`: the name of the version; `rows`: of the data set.
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

// Errors: kNotFound, kFailedPrecondition (WITNESS_GONE), kDataLoss.
absl::StatusOr<std::unique_ptr<const VerifiableModel>> ReadVerifiableModel(
    const ModelJobContext& context, std::string_view name) {
  Storage& storage = *context.storage;
  BlobStore& blobs = *context.blobs;
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record, FindNamed(storage.models(), name, "name"));
  MERCER_ASSIGN_OR_RETURN(const v1::ModelVersion summary, WriteVersion(record));
  auto result = std::make_unique<VerifiableModel>();
  result->record = record;
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

// Whether `saved` begins with so many elements, which are taken from it.
template <typename Element>
bool TakeElements(std::string_view& saved, size_t count, Element* elements) {
  const size_t bytes = count * sizeof(Element);
  if (saved.size() < bytes) {
    return false;
  }
  if (bytes > 0) {
    std::memcpy(elements, saved.data(), bytes);  // whose pointers must not be null
  }
  saved.remove_prefix(bytes);
  return true;
}

template <typename Element>
std::string_view BytesOfElements(const Element* elements, size_t count) {
  return {reinterpret_cast<const char*>(elements), count * sizeof(Element)};
}

class EvaluationWork final : public RowWork {
 public:
  using RowWork::RowWork;

  absl::StatusOr<WorkOutcome> Work() override {
    v1::EvaluateModelRequest request;
    MERCER_RETURN_IF_ERROR(ReadRequest(request));
    MERCER_ASSIGN_OR_RETURN(const PredictOptions options, ReadOptions(request));
    MERCER_ASSIGN_OR_RETURN(const auto loaded, Load(request.name()));
    MERCER_ASSIGN_OR_RETURN(const OpenedDataset opened, OpenDataset());
    const Dataset& dataset = *opened.dataset;
    MERCER_RETURN_IF_ERROR(Resume(*loaded, opened, [&](std::string_view saved) {
      return absl::StatusOr<bool>(Restore(loaded->predictor->model(), dataset.rows, saved));
    }));
    RunContext context(token(), context_.threads, nullptr);
    const auto on_block = [&](Index done) {
      done_.rows = done;
      return OnBlock("evaluate");
    };
    const absl::StatusOr<Evaluation> evaluation =
        EvaluateDataset(*loaded->predictor, dataset, options, context, on_block, rows_);
    if (!evaluation.ok()) {
      KeepAfter(evaluation.status());
      return evaluation.status();
    }
    WorkOutcome outcome;
    outcome.result = EncodeWhole(WriteEvaluation(loaded->name, dataset.rows, *evaluation));
    return outcome;
  }

 private:
  // The decision values of the rows, of a classification their classes, of several tasks their tasks.
  absl::Status SaveRows(BlobWriter& writer) override {
    const Prediction& values = rows_.values;
    MERCER_RETURN_IF_ERROR(Append(
        BytesOfElements(values.decision_values.data(), static_cast<size_t>(rows_.done)), writer));
    MERCER_RETURN_IF_ERROR(
        Append(BytesOfElements(values.classes.data(), values.classes.size()), writer));
    return Append(BytesOfElements(values.tasks.data(), values.tasks.size()), writer);
  }

  bool Restore(const Model& model, Index all, std::string_view saved) {
    const auto done = static_cast<size_t>(done_.rows);
    Prediction& values = rows_.values;
    values.decision_values.resize(all, 1);
    values.classes.resize(model.coding.kind() == CodingKind::kRegression ? 0 : done);
    values.tasks.resize(model.tasks.has_column() ? done : 0);
    const bool taken = TakeElements(saved, done, values.decision_values.data()) &&
                       TakeElements(saved, values.classes.size(), values.classes.data()) &&
                       TakeElements(saved, values.tasks.size(), values.tasks.data()) &&
                       saved.empty();
    if (!taken) {
      rows_ = {};
      return false;
    }
    rows_.done = done_.rows;
    return true;
  }

  RowsToEvaluate rows_;
};

class VerificationWork final : public ModelWork {
 public:
  using ModelWork::ModelWork;

  // What a verifier has come to is kept nowhere: a later attempt begins from the start.
  absl::StatusOr<WorkOutcome> Work() override {
    if (frame_.job().attempt > 1) {
      frame_.TellResumed(0, "work of this kind begins anew");
    }
    v1::VerifyModelRequest request;
    MERCER_RETURN_IF_ERROR(ReadRequest(request));
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<const VerifiableModel> verified,
                            KeepTrying("cannot read the model", [&] {
                              return ReadVerifiableModel(context_, request.name());
                            }));
    const absl::StatusOr<Certificate> certificate = Verify(*verified);
    if (!certificate.ok()) {
      return AboutModel(certificate.status(), verified->name);
    }
    WorkOutcome outcome;
    outcome.result = EncodeWhole(WriteVerification(*verified, *certificate));
    return outcome;
  }

 private:
  absl::StatusOr<Certificate> Verify(const VerifiableModel& verified) {
    MERCER_ASSIGN_OR_RETURN(const PreparedVerification prepared,
                            KeepTrying("cannot open the data set", [&] {
                              return PrepareVerification(frame_.environment(), verified.stored,
                                                         OpenedFor::kValues, token());
                            }));
    // Another version of the server may estimate more than the one that has admitted the job.
    if (prepared.choice.memory_bytes > frame_.job().memory_bytes) {
      return JobTooLarge(prepared.choice.memory_bytes, frame_.job().memory_bytes);
    }
    TellProgress(kVerifying, 0);
    return RunVerification(
        frame_.environment(), verified.stored, prepared, token(),
        [this](std::string_view stage, std::optional<double> done) { TellStage(stage, done); });
  }

  // Of every thread that works.
  void TellStage(std::string_view stage, std::optional<double> done) {
    ProgressEvent event;
    event.iteration = 1;
    event.phase = kVerifying;
    event.report.stage = stage;
    event.report.stage_fraction = done;
    if (stage == kOutputsStage && done.has_value()) {
      verified_outputs_ = *done;
    }
    event.report.fraction = verified_outputs_;
    frame_.recorder().Record(event);
  }

  std::atomic<double> verified_outputs_{0};  // their share
};

}  // namespace

absl::StatusOr<AdmittedJob> AdmitEvaluation(const ModelJobContext& context,
                                            const v1::EvaluateModelRequest& request,
                                            const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(request.dataset(), "dataset"));
  MERCER_ASSIGN_OR_RETURN(
      const std::shared_ptr<const LoadedModel> loaded,
      LoadNamed(*context.models, context.storage->models(), request.name(), "name"));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenNamedShape(*context.jobs, request.dataset()));
  MERCER_ASSIGN_OR_RETURN(const PredictOptions options, ReadOptions(request));
  RunContext run(cancellation, 1, nullptr);
  MERCER_RETURN_IF_ERROR(CheckEvaluation(*loaded->predictor, *dataset, options, run));
  const auto held = static_cast<int64_t>(loaded->predictor->MemoryBytes() + dataset->MemoryBytes());
  return AdmittedJob{Resolve(request, loaded->name),
                     {id},
                     held + EvaluationBytes(loaded->predictor->model(), *dataset),
                     loaded->model,
                     loaded->version};
}

absl::StatusOr<AdmittedJob> AdmitVerification(const ModelJobContext& context,
                                              const v1::VerifyModelRequest& request,
                                              const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<const VerifiableModel> verified,
                          ReadVerifiableModel(context, request.name()));
  const absl::StatusOr<int64_t> bytes =
      context.jobs->VerificationBytes(verified->stored, cancellation);
  if (!bytes.ok()) {
    return AboutModel(bytes.status(), verified->name);
  }
  return AdmittedJob{Resolve(request, verified->name),
                     {},
                     *bytes,
                     verified->record.model,
                     verified->record.version};
}

std::map<JobKind, JobWorkMaker> WorksOfModels(const ModelJobContext* context) {
  return {{JobKind::kPrediction, MakerOfPredictions(context)},
          {JobKind::kEvaluation, MakerOf<EvaluationWork>(context)},
          {JobKind::kVerification, MakerOf<VerificationWork>(context)}};
}

}  // namespace mercer::server
