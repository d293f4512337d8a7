// How good a stored model is: EvaluateModel and VerifyModel, without gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "mercer/v1/model_service.pb.h"
#include "server/api/api_context.h"
#include "server/budget/budget.h"
#include "server/prediction/model_cache.h"

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

 private:
  // The stored bytes, mapped. Errors: kNotFound, kDataLoss.
  absl::StatusOr<std::unique_ptr<MappedFile>> ReadModelFile(const VersionRecord& record) const;
  absl::StatusOr<std::unique_ptr<MappedFile>> ReadWitnessFile(const VersionRecord& record) const;

  const ApiContext& context_;
  ModelCache& cache_;
  // All evaluations together keep within limits.dataset_bytes.
  const Budget memory_;
};

}  // namespace mercer::server
