// Predictions, without gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/base/run_context.h"
#include "mercer/v1/prediction_service.pb.h"
#include "server/api/api_context.h"
#include "server/api/model_cache.h"

namespace mercer::server {

// Where a call should run.
enum class PredictionPlace : uint8_t {
  kHere,     // the model is in memory and the work is short
  kIo,       // the model must be looked up or read first
  kCompute,  // much work
};

// Thread-safe.
class PredictionHandlers {
 public:
  PredictionHandlers(const ApiContext& context, ModelCache& cache)
      : context_(context), cache_(cache) {}

  // Never blocks.
  PredictionPlace Place(const v1::PredictRequest& request) const;
  // Blocks unless Place said kHere. `cancellation` ends long work.
  absl::StatusOr<v1::PredictResponse> Predict(const v1::PredictRequest& request,
                                              const CancellationToken& cancellation) const;

  // For streams: the version that answers the whole call.
  absl::StatusOr<std::shared_ptr<const LoadedModel>> Open(const v1::PredictHeader& header) const;
  absl::StatusOr<v1::PredictResponse> PredictRows(const LoadedModel& model,
                                                  const v1::PredictHeader& header,
                                                  const v1::Rows& rows,
                                                  const CancellationToken& cancellation) const;
  absl::StatusOr<v1::PredictResponse> PredictDataset(const LoadedModel& model,
                                                     const v1::PredictHeader& header,
                                                     const Dataset& dataset,
                                                     const CancellationToken& cancellation) const;
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const std::string& name,
                                                             std::string_view field) const;

 private:
  const ApiContext& context_;
  ModelCache& cache_;
};

}  // namespace mercer::server
