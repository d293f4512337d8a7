#include "server/api/assessment_handlers.h"

#include "server/api/job_starter.h"
#include "server/prediction/model_jobs.h"

namespace mercer::server {

absl::StatusOr<JobRecord> AssessmentHandlers::Evaluate(
    const v1::EvaluateModelRequest& request, const CallInfo& info,
    const CancellationToken& cancellation) const {
  return StartJobOfCall(*context_.jobs, JobKind::kEvaluation, request, info, [&] {
    return AdmitEvaluation(*context_.model_jobs, request, cancellation);
  });
}

absl::StatusOr<JobRecord> AssessmentHandlers::Verify(const v1::VerifyModelRequest& request,
                                                     const CallInfo& info,
                                                     const CancellationToken& cancellation) const {
  return StartJobOfCall(*context_.jobs, JobKind::kVerification, request, info, [&] {
    return AdmitVerification(*context_.model_jobs, request, cancellation);
  });
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
