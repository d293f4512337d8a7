#include "server/api/assessment_handlers.h"

#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/background.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/job_starter.h"
#include "server/jobs/record/job_errors.h"
#include "server/prediction/dataset_evaluation.h"
#include "server/prediction/model_assessment.h"
#include "server/prediction/model_jobs.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/prediction_translator.h"

namespace mercer::server {
namespace {

// What only jobs have.
template <typename Request>
absl::Status RefuseJobFields(const Request& request) {
  FieldViolations violations;
  constexpr char kWhy[] = "is for jobs; this call makes none";
  violations.Check(request.request_id().empty(), "request_id", kWhy);
  violations.Check(request.priority() == 0, "priority", kWhy);
  violations.Check(request.labels().empty(), "labels", kWhy);
  return violations.ToStatus();
}

}  // namespace

absl::StatusOr<v1::EvaluateModelResponse> AssessmentHandlers::EvaluateModel(
    const v1::EvaluateModelRequest& request, const CancellationToken& cancellation) const {
  EnterBackground();
  MERCER_RETURN_IF_ERROR(RefuseJobFields(request));
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
  return WriteEvaluation(loaded->name, (*dataset)->rows, evaluation);
}

absl::StatusOr<v1::VerifyModelResponse> AssessmentHandlers::VerifyModel(
    const v1::VerifyModelRequest& request, const CancellationToken& cancellation) const {
  EnterBackground();
  MERCER_RETURN_IF_ERROR(RefuseJobFields(request));
  MERCER_ASSIGN_OR_RETURN(
      const std::unique_ptr<const VerifiableModel> verified,
      ReadVerifiableModel(*context_.storage, *context_.blobs, request.name(), "name"));
  const absl::StatusOr<Certificate> certificate =
      context_.jobs->Verify(verified->stored, cancellation);
  if (!certificate.ok()) {
    return AboutModel(certificate.status(), verified->name);
  }
  return WriteVerification(*verified, *certificate);
}

absl::StatusOr<v1::Job> AssessmentHandlers::StartEvaluation(
    const v1::EvaluateModelRequest& request, const CallInfo& info,
    const CancellationToken& cancellation) const {
  return StartJob(*context_.jobs, JobKind::kEvaluation, request, info, FieldViolations(),
                  [&] { return AdmitEvaluation(*context_.model_jobs, request, cancellation); });
}

absl::StatusOr<v1::Job> AssessmentHandlers::StartVerification(
    const v1::VerifyModelRequest& request, const CallInfo& info,
    const CancellationToken& cancellation) const {
  return StartJob(*context_.jobs, JobKind::kVerification, request, info, FieldViolations(),
                  [&] { return AdmitVerification(*context_.model_jobs, request, cancellation); });
}

}  // namespace mercer::server
