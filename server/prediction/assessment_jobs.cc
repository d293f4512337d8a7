// Evaluations and verifications of models as jobs.
#include <utility>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/job_manager.h"
#include "server/prediction/model_assessment.h"
#include "server/prediction/model_lookup.h"
#include "server/prediction/model_work.h"
#include "server/translation/prediction_translator.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

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

class EvaluationWork final : public ModelWork {
 public:
  using ModelWork::ModelWork;

  absl::StatusOr<WorkOutcome> Work() override {
    v1::EvaluateModelRequest request;
    MERCER_RETURN_IF_ERROR(ReadRequest(request));
    MERCER_ASSIGN_OR_RETURN(const PredictOptions options, ReadOptions(request));
    MERCER_ASSIGN_OR_RETURN(const auto loaded, Load(request.name()));
    MERCER_ASSIGN_OR_RETURN(const auto dataset, OpenDataset());
    MERCER_ASSIGN_OR_RETURN(
        const Evaluation evaluation,
        EvaluateDataset(*loaded->predictor, *dataset, options, token(), context_.threads,
                        [&](Index done) { return Progress("evaluate", done, dataset->rows); }));
    WorkOutcome outcome;
    outcome.result = EncodeWhole(WriteEvaluation(loaded->name, dataset->rows, evaluation));
    return outcome;
  }
};

class VerificationWork final : public ModelWork {
 public:
  using ModelWork::ModelWork;

  absl::StatusOr<WorkOutcome> Work() override {
    v1::VerifyModelRequest request;
    MERCER_RETURN_IF_ERROR(ReadRequest(request));
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<const VerifiableModel> verified,
                            KeepTrying("cannot read the model", [&] {
                              return ReadVerifiableModel(*context_.storage, *context_.blobs,
                                                         request.name(), "name");
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
    MERCER_RETURN_IF_ERROR(Progress("verify", 0, 1));
    return RunVerification(frame_.environment(), verified.stored, prepared, token());
  }
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
                     held + EvaluationBytes(loaded->predictor->model(), *dataset)};
}

absl::StatusOr<AdmittedJob> AdmitVerification(const ModelJobContext& context,
                                              const v1::VerifyModelRequest& request,
                                              const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(
      const std::unique_ptr<const VerifiableModel> verified,
      ReadVerifiableModel(*context.storage, *context.blobs, request.name(), "name"));
  const absl::StatusOr<int64_t> bytes =
      context.jobs->VerificationBytes(verified->stored, cancellation);
  if (!bytes.ok()) {
    return AboutModel(bytes.status(), verified->name);
  }
  return AdmittedJob{Resolve(request, verified->name), {}, *bytes};
}

std::unique_ptr<JobWork> MakeEvaluationWork(const ModelJobContext& context, AttemptFrame& frame) {
  return std::make_unique<EvaluationWork>(context, frame);
}

std::unique_ptr<JobWork> MakeVerificationWork(const ModelJobContext& context, AttemptFrame& frame) {
  return std::make_unique<VerificationWork>(context, frame);
}

}  // namespace mercer::server
