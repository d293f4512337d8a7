// Predictions, without gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "mercer/v1/prediction_service.pb.h"
#include "server/api/api_context.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// Thread-safe.
class PredictionHandlers {
 public:
  PredictionHandlers(const ApiContext& context, ModelCache& cache)
      : context_(context), cache_(cache) {}

  // The version that the request names, if it is in memory. Never blocks.
  std::shared_ptr<const LoadedModel> Find(const v1::PredictRequest& request) const;
  // The same from the disk if need be; checks all of the request but its rows.
  absl::StatusOr<std::shared_ptr<const LoadedModel>> Open(const v1::PredictRequest& request) const;
  // Whether the call may be computed together with others: few rows, and little work. Quick itself.
  static bool MayJoin(const LoadedModel& model, const v1::PredictRequest& request);
  // Blocks when the rows are those of a stored data set. `cancellation` ends long work.
  absl::StatusOr<v1::PredictResponse> Predict(const LoadedModel& model,
                                              const v1::PredictRequest& request,
                                              const CancellationToken& cancellation) const;

  // For streams: the version that answers the whole call.
  absl::StatusOr<std::shared_ptr<const LoadedModel>> Open(const v1::PredictHeader& header,
                                                          std::string_view field) const;
  // The number of rows of a data set from `begin` on that one message answers.
  Index BatchRows(const LoadedModel& model, const v1::PredictHeader& header, const Dataset& dataset,
                  Index begin) const;
  absl::StatusOr<v1::PredictResponse> PredictRows(const LoadedModel& model,
                                                  const v1::PredictHeader& header,
                                                  const v1::Rows& rows,
                                                  const CancellationToken& cancellation) const;
  absl::StatusOr<v1::PredictResponse> PredictDataset(const LoadedModel& model,
                                                     const v1::PredictHeader& header,
                                                     const Dataset& dataset,
                                                     const CancellationToken& cancellation) const;
  absl::StatusOr<v1::Job> StartPrediction(
      const v1::PredictDatasetRequest& request, const CallInfo& info,
      const CancellationToken& cancellation = CancellationToken()) const;
  absl::StatusOr<v1::ListPredictionStatisticsResponse> ListStatistics(
      const v1::ListPredictionStatisticsRequest& request) const;
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
      const std::string& name, std::string_view field, const CancellationToken& cancellation) const;

 private:
  const ApiContext& context_;
  ModelCache& cache_;
};

}  // namespace mercer::server
