#include "server/api/prediction_handlers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "server/api/answer_size.h"
#include "server/api/model_lookup.h"
#include "server/api/prediction_translator.h"
#include "server/api/resource_names.h"

namespace mercer::server {
namespace {

// Floating-point operations, about, that take about a millisecond.
constexpr int64_t kShortWork = 1 << 19;
// Of a request whose fields are walked, copied and checked in much less than that.
constexpr size_t kShortRequestBytes = size_t{1} << 16;

// Rows of a stored data set that are answered by one message of PredictStream, if it can hold them.
constexpr Index kBatchRows = 4096;

// Rows of a request, as far as its parts say without being read.
int64_t ClaimedRows(const v1::Rows& rows) {
  int64_t count = 0;
  for (const v1::DenseBlock& block : rows.dense()) {
    count = std::max(count, block.values().rows());
  }
  for (const v1::SparseBlock& block : rows.sparse()) {
    count = std::max<int64_t>(count, block.row_starts_size());
  }
  for (const v1::TypedColumn& column : rows.columns()) {
    count = std::max<int64_t>(
        count, column.has_texts() ? column.texts().values_size() : column.numbers().values_size());
  }
  for (const v1::SquareRows& square : rows.squares()) {
    count = std::max(count, square.values().rows());
  }
  return count;
}

// Operations per row: every kernel on every basis row, weighed and summed for every output.
int64_t WorkPerRow(const Model& model, bool contributions) {
  const int64_t columns = std::max<int64_t>(model.preprocessing.num_outputs(), 1);
  int64_t work = columns + model.function.num_outputs();
  for (const KernelTerm& term : model.function.kernel_terms) {
    const int64_t kernels = static_cast<int64_t>(term.kernels.size());
    const int64_t evaluation = term.coefficients.rows() * (columns + 8 * kernels);
    const int64_t sums = term.coefficients.nonZeros() * (contributions ? kernels : 1);
    work += (contributions ? 2 : 1) * evaluation + sums;
  }
  return work;
}

absl::Status RefuseProbabilities(bool asked, const std::string& model) {
  if (!asked) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError("the model is not calibrated, so it has no probabilities"),
      "NOT_CALIBRATED", {{"resource_type", "model"}, {"resource_name", model}});
}

absl::Status CheckInput(const v1::PredictRequest& request) {
  FieldViolations violations;
  violations.Check(request.input_case() != v1::PredictRequest::INPUT_NOT_SET, "rows",
                   "is missing; set exactly one of rows and dataset");
  return violations.ToStatus();
}

v1::PredictHeader HeaderOf(const v1::PredictRequest& request) {
  v1::PredictHeader header;
  header.set_model(request.model());
  header.set_dataset(request.dataset());
  header.set_contributions(request.contributions());
  header.set_probabilities(request.probabilities());
  return header;
}

}  // namespace

std::shared_ptr<const LoadedModel> PredictionHandlers::Find(
    const v1::PredictRequest& request) const {
  const absl::StatusOr<ModelReference> reference = ParseModelName(request.model(), "model");
  if (!reference.ok() || reference->version == 0) {
    return nullptr;
  }
  return cache_.Find(reference->model, reference->version);
}

bool PredictionHandlers::IsShort(const LoadedModel& model, const v1::PredictRequest& request) {
  if (!request.has_rows() || request.ByteSizeLong() > kShortRequestBytes) {
    return false;
  }
  const int64_t work = WorkPerRow(model.predictor->model(), request.contributions());
  return ClaimedRows(request.rows()) <= kShortWork / work;
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> PredictionHandlers::Open(
    const v1::PredictRequest& request) const {
  MERCER_RETURN_IF_ERROR(CheckInput(request));
  return Open(HeaderOf(request));
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> PredictionHandlers::Open(
    const v1::PredictHeader& header) const {
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedModel> loaded,
                          LoadNamed(cache_, context_.storage->models(), header.model(), "model"));
  MERCER_RETURN_IF_ERROR(RefuseProbabilities(header.probabilities(), loaded->name));
  return loaded;
}

absl::StatusOr<std::shared_ptr<const Dataset>> PredictionHandlers::OpenDataset(
    const std::string& name, std::string_view field) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(name, field));
  absl::StatusOr<std::shared_ptr<const Dataset>> dataset = context_.jobs->OpenDataset(id);
  if (absl::IsNotFound(dataset.status())) {
    return ResourceNotFound("data set", name);
  }
  return dataset;
}

absl::StatusOr<v1::PredictResponse> PredictionHandlers::PredictDataset(
    const LoadedModel& model, const v1::PredictHeader& header, const Dataset& dataset,
    const CancellationToken& cancellation) const {
  MERCER_RETURN_IF_ERROR(CheckAnswerSize(model.predictor->model(), header.contributions(),
                                         dataset.rows, context_.limits.message_bytes));
  RunContext run(cancellation, 1, nullptr);
  PredictOptions options;
  options.contributions = header.contributions();
  MERCER_ASSIGN_OR_RETURN(const Prediction prediction,
                          model.predictor->Predict(dataset, options, run));
  v1::PredictResponse response;
  response.set_model(model.name);
  MERCER_RETURN_IF_ERROR(WritePrediction(model.predictor->model(), prediction, &response));
  return response;
}

absl::StatusOr<v1::PredictResponse> PredictionHandlers::PredictRows(
    const LoadedModel& model, const v1::PredictHeader& header, const v1::Rows& rows,
    const CancellationToken& cancellation) const {
  MERCER_ASSIGN_OR_RETURN(const Dataset dataset, ReadRows(rows, model.predictor->model()));
  return PredictDataset(model, header, dataset, cancellation);
}

absl::StatusOr<v1::PredictResponse> PredictionHandlers::Predict(
    const LoadedModel& model, const v1::PredictRequest& request,
    const CancellationToken& cancellation) const {
  MERCER_RETURN_IF_ERROR(CheckInput(request));
  const v1::PredictHeader header = HeaderOf(request);
  MERCER_RETURN_IF_ERROR(RefuseProbabilities(header.probabilities(), model.name));
  if (request.has_rows()) {
    return PredictRows(model, header, request.rows(), cancellation);
  }
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenDataset(request.dataset(), "dataset"));
  return PredictDataset(model, header, *dataset, cancellation);
}

Index PredictionHandlers::BatchRows(const LoadedModel& model, const v1::PredictHeader& header,
                                    const Dataset& dataset, Index begin) const {
  return RowsPerAnswer(model.predictor->model(), header.contributions(),
                       std::min(kBatchRows, dataset.rows - begin), context_.limits.message_bytes);
}

}  // namespace mercer::server
