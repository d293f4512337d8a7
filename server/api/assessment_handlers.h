// How good a stored model is: EvaluateModel and VerifyModel, at once or as jobs, without gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "mercer/v1/model_service.pb.h"
#include "server/api/api_context.h"
#include "server/budget/budget.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// Thread-safe; the calls take long. Errors as the service documents them, and kCancelled.
class AssessmentHandlers {
 public:
  AssessmentHandlers(const ApiContext& context, ModelCache& cache)
      : context_(context), cache_(cache) {}

  absl::StatusOr<v1::EvaluateModelResponse> EvaluateModel(
      const v1::EvaluateModelRequest& request, const CancellationToken& cancellation) const;
  absl::StatusOr<v1::VerifyModelResponse> VerifyModel(const v1::VerifyModelRequest& request,
                                                      const CancellationToken& cancellation) const;
  // The same as jobs.
  absl::StatusOr<v1::Job> StartEvaluation(const v1::EvaluateModelRequest& request,
                                          const CallInfo& info,
                                          const CancellationToken& cancellation) const;
  absl::StatusOr<v1::Job> StartVerification(const v1::VerifyModelRequest& request,
                                            const CallInfo& info,
                                            const CancellationToken& cancellation) const;

 private:
  const ApiContext& context_;
  ModelCache& cache_;
  // All evaluations together keep within limits.dataset_bytes.
  const Budget memory_;
};

}  // namespace mercer::server
