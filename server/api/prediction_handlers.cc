#include "server/api/prediction_handlers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/job_starter.h"
#include "server/api/page_filler.h"
#include "server/prediction/model_jobs.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/answer_size.h"
#include "server/translation/prediction_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"

namespace mercer::server {
namespace {

// A request of so many bytes is walked, copied and checked in much less than a millisecond.
constexpr size_t kMostBytesOfJoiningCall = size_t{1} << 16;

// Rows of a stored data set that are answered by one message of PredictStream, if it can hold them.
constexpr Index kBatchRows = 4096;

absl::Status CheckInput(const v1::PredictRequest& request) {
  return request.input_case() == v1::PredictRequest::INPUT_NOT_SET
             ? BadField("rows", "is missing; set exactly one of rows and dataset")
             : absl::OkStatus();
}

v1::PredictionStatistics WriteStatistics(const PredictionStatistics& statistics) {
  v1::PredictionStatistics message;
  message.set_model(statistics.model());
  message.set_succeeded(statistics.succeeded());
  message.set_failed(statistics.failed());
  message.set_rows(statistics.rows());
  message.set_batches(statistics.batches());
  message.set_coalesced(statistics.coalesced());
  SetTimestamp(statistics.last_call(), message.mutable_last_call_time());
  const LatencyHistogram& latency = statistics.latency();
  SetDuration(latency.sum(), message.mutable_total_latency());
  SetDuration(latency.Quantile(0.5), message.mutable_median_latency());
  SetDuration(latency.Quantile(0.9), message.mutable_p90_latency());
  SetDuration(latency.Quantile(0.99), message.mutable_p99_latency());
  return message;
}

v1::PredictHeader HeaderOf(const v1::PredictRequest& request) {
  v1::PredictHeader header;
  header.set_model(request.model());
  header.set_dataset(request.dataset());
  header.set_contributions(request.contributions());
  header.set_gradients(request.gradients());
  header.set_projections(request.projections());
  header.set_probabilities(request.probabilities());
  header.set_task(request.task());
  header.set_task_rule(request.task_rule());
  header.set_unseen(request.unseen());
  return header;
}

// What is asked for beside the values.
PredictOptions WhatIsAsked(const v1::PredictHeader& header) {
  PredictOptions options;
  options.contributions = header.contributions();
  options.gradients = header.gradients();
  options.projections = header.projections();
  return options;
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

bool PredictionHandlers::MayJoin(const LoadedModel& model, const v1::PredictRequest& request) {
  if (!request.has_rows() || request.contributions() || request.gradients() ||
      request.projections() || request.unseen() != v1::UNSEEN_ROWS_UNSPECIFIED ||
      request.ByteSizeLong() > kMostBytesOfJoiningCall) {
    return false;
  }
  const Model& content = model.predictor->model();
  const int64_t rows = ClaimedRows(request.rows());
  return rows <= RowsPerBatch(content) &&
         rows <= 4 * kMillisecondOfWork / WorkPerRow(content, false);
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> PredictionHandlers::Open(
    const v1::PredictRequest& request) const {
  MERCER_RETURN_IF_ERROR(CheckInput(request));
  return Open(HeaderOf(request), "model");
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> PredictionHandlers::Open(
    const v1::PredictHeader& header, std::string_view field) const {
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedModel> loaded,
                          LoadNamed(cache_, context_.storage->models(), header.model(), field));
  MERCER_RETURN_IF_ERROR(RefuseProbabilities(header.probabilities(), loaded->name));
  return loaded;
}

absl::StatusOr<std::shared_ptr<const Dataset>> PredictionHandlers::OpenDataset(
    const std::string& name, std::string_view field, const CancellationToken& cancellation) const {
  MERCER_RETURN_IF_ERROR(ParseDatasetName(name, field).status());
  return OpenNamedDataset(*context_.jobs, name, cancellation);
}

absl::StatusOr<v1::PredictResponse> PredictionHandlers::PredictDataset(
    const LoadedModel& model, const v1::PredictHeader& header, const Dataset& dataset,
    const CancellationToken& cancellation) const {
  PredictOptions options = WhatIsAsked(header);
  MERCER_RETURN_IF_ERROR(CheckAnswerSize(model.predictor->model(), options, dataset.rows,
                                         context_.limits.message_bytes));
  RunContext run(cancellation, 1, nullptr);
  options.task = header.task();
  MERCER_ASSIGN_OR_RETURN(options.task_rule, ReadTaskRule(header.task_rule()));
  const Preprocessing& preprocessing = model.predictor->model().preprocessing;
  std::vector<UnseenCell> unseen;
  if (header.unseen() != v1::UNSEEN_ROWS_UNSPECIFIED) {
    options.unseen_category = UnseenCategory::kAllZeros;
  }
  if (header.unseen() == v1::UNSEEN_ROWS_ROW_ERROR &&
      preprocessing.options().unseen_category == UnseenCategory::kRefuse) {
    MERCER_ASSIGN_OR_RETURN(unseen, preprocessing.FindUnseen(dataset, run));
  }
  MERCER_ASSIGN_OR_RETURN(Prediction prediction, model.predictor->Predict(dataset, options, run));
  for (const UnseenCell& cell : unseen) {
    prediction.TakeBack(cell.row);
  }
  v1::PredictResponse response;
  response.set_model(model.name);
  MERCER_RETURN_IF_ERROR(WritePrediction(model.predictor->model(), prediction, &response));
  WriteRowErrors(unseen, &response);
  return response;
}

absl::StatusOr<v1::PredictResponse> PredictionHandlers::PredictRows(
    const LoadedModel& model, const v1::PredictHeader& header, const v1::Rows& rows,
    const CancellationToken& cancellation) const {
  MERCER_ASSIGN_OR_RETURN(const Dataset dataset,
                          ReadRows(rows, *model.predictor, model.ignored_columns));
  return PredictDataset(model, header, dataset, cancellation);
}

absl::StatusOr<v1::PredictResponse> PredictionHandlers::Predict(
    const LoadedModel& model, const v1::PredictRequest& request,
    const CancellationToken& cancellation) const {
  MERCER_RETURN_IF_ERROR(CheckInput(request));
  const v1::PredictHeader header = HeaderOf(request);
  MERCER_RETURN_IF_ERROR(RefuseProbabilities(request.probabilities(), model.name));
  if (request.has_rows()) {
    return PredictRows(model, header, request.rows(), cancellation);
  }
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenDataset(request.dataset(), "dataset", cancellation));
  return PredictDataset(model, header, *dataset, cancellation);
}

absl::StatusOr<v1::Job> PredictionHandlers::StartPrediction(
    const v1::PredictDatasetRequest& request, const CallInfo& info,
    const CancellationToken& cancellation) const {
  FieldViolations violations;
  FieldViolations labels;
  CheckLabels(request.dataset_labels(), labels);
  for (const FieldViolation& violation : GetFieldViolations(labels.ToStatus())) {
    violations.Add("dataset_labels", violation.description);
  }
  return StartJob(*context_.jobs, JobKind::kPrediction, request, info, std::move(violations),
                  [&] { return AdmitPrediction(*context_.model_jobs, request, cancellation); });
}

absl::StatusOr<v1::ListPredictionStatisticsResponse> PredictionHandlers::ListStatistics(
    const v1::ListPredictionStatisticsRequest& request) const {
  std::string versions;  // what the names begin with
  if (!request.model().empty()) {
    MERCER_ASSIGN_OR_RETURN(const ModelReference reference,
                            ParseModelName(request.model(), "model"));
    if (reference.version != 0 || !reference.alias.empty()) {
      return BadField("model", "must be \"models/{model}\"");
    }
    versions = request.model() + "/";
  }
  using Statistics = std::shared_ptr<const PredictionStatistics>;
  const std::vector<Statistics> all = cache_.statistics().All();
  const std::string query = absl::StrCat("statistics|", versions);
  const auto list = [&](const PageRequest& page) -> absl::StatusOr<Page<Statistics>> {
    MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
    MERCER_ASSIGN_OR_RETURN(const std::string after, ReadPageToken(query, page.token));
    Page<Statistics> found;
    for (const Statistics& statistics : all) {
      const bool was_called = statistics->succeeded() + statistics->failed() > 0;
      if (!was_called || !absl::StartsWith(statistics->model(), versions) ||
          statistics->model() <= after) {
        continue;
      }
      if (static_cast<int>(found.items.size()) == size) {
        found.next_token = MakePageToken(query, found.items.back()->model());
        break;
      }
      found.items.push_back(statistics);
    }
    return found;
  };
  return AnswerList(request, context_.limits.message_bytes,
                    &v1::ListPredictionStatisticsResponse::mutable_statistics, list,
                    [](const Statistics& statistics) { return WriteStatistics(*statistics); });
}

Index PredictionHandlers::BatchRows(const LoadedModel& model, const v1::PredictHeader& header,
                                    const Dataset& dataset, Index begin) const {
  return RowsPerAnswer(model.predictor->model(), WhatIsAsked(header),
                       std::min(kBatchRows, dataset.rows - begin), context_.limits.message_bytes);
}

}  // namespace mercer::server
