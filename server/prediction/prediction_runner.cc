#include "server/prediction/prediction_runner.h"

#include <utility>
#include <vector>

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/rpc/rpc.h"
#include "server/translation/answer_size.h"
#include "server/translation/prediction_translator.h"

namespace mercer::server {
namespace {

// Less work than to wake another thread.
constexpr int64_t kTinyWork = kMillisecondOfWork / 32;

int64_t Work(const LoadedModel& model, const PredictionBatch& call) {
  return call.front().rows * WorkPerRow(model.predictor->model(), false);
}

constexpr char kWork[] = "a prediction";

absl::StatusOr<PreparedData> PrepareCall(const LoadedModel& model, const PendingPrediction& call,
                                         int64_t max_message_bytes) {
  const Model& content = model.predictor->model();
  MERCER_ASSIGN_OR_RETURN(const Dataset rows,
                          ReadRows(call.request->rows(), *model.predictor, model.ignored_columns));
  MERCER_RETURN_IF_ERROR(CheckAnswerSize(content, {}, rows.rows, max_message_bytes));
  RunContext context;
  PredictOptions options;
  options.task = call.request->task();
  MERCER_ASSIGN_OR_RETURN(options.task_rule, ReadTaskRule(call.request->task_rule()));
  return model.predictor->Prepare(rows, options, context);
}

absl::StatusOr<Prediction> Predict(const LoadedModel& model, const PreparedData& rows) {
  RunContext context;
  return model.predictor->PredictPrepared(rows, PredictOptions(), context);
}

// The rows [begin, begin + count) of `all`.
Prediction Part(const Prediction& all, Index begin, Index count) {
  Prediction part;
  part.decision_values = all.decision_values.middleRows(begin, count);
  if (!all.classes.empty()) {
    part.classes.assign(all.classes.begin() + begin, all.classes.begin() + begin + count);
  }
  if (!all.tasks.empty()) {
    part.tasks.assign(all.tasks.begin() + begin, all.tasks.begin() + begin + count);
  }
  return part;
}

absl::Status Respond(const LoadedModel& model, const absl::StatusOr<Prediction>& prediction,
                     PendingPrediction& call) {
  return RunSafely(kWork, [&]() -> absl::Status {
    MERCER_RETURN_IF_ERROR(prediction.status());
    call.response->set_model(model.name);
    return WritePrediction(model.predictor->model(), *prediction, call.response);
  });
}

void EndFirst(PredictionBatch& batch, absl::Status status) {
  // What one call cannot do harms no other.
  RunNeeded("ending a prediction", [&] { batch.front().end(std::move(status)); }).IgnoreError();
  batch.pop_front();
}

// Moves the calls that cannot be computed out of `batch` and ends them; answers the rows of the rest.
std::list<PreparedData> Prepare(const LoadedModel& model, PredictionBatch& batch,
                                int64_t max_message_bytes) {
  std::list<PreparedData> prepared;
  PredictionBatch kept;
  while (!batch.empty()) {
    const absl::Status status = RunSafely(kWork, [&]() -> absl::Status {
      if (batch.front().gone()) {
        return CallCancelledError();
      }
      MERCER_ASSIGN_OR_RETURN(PreparedData rows,
                              PrepareCall(model, batch.front(), max_message_bytes));
      prepared.push_back(std::move(rows));
      return absl::OkStatus();
    });
    if (status.ok()) {
      kept.splice(kept.end(), batch, batch.begin());
    } else {
      EndFirst(batch, status);
    }
  }
  batch.swap(kept);
  return prepared;
}

// The predictions of all rows at once.
absl::StatusOr<Prediction> PredictTogether(const LoadedModel& model,
                                           const std::list<PreparedData>& prepared) {
  return RunSafely(kWork, [&]() -> absl::StatusOr<Prediction> {
    std::vector<const PreparedData*> parts;
    parts.reserve(prepared.size());
    for (const PreparedData& part : prepared) {
      parts.push_back(&part);
    }
    return Predict(model, ConcatenateRows(parts));
  });
}

// Ends every call of `batch` with `status` and empties it.
void EndBatch(PredictionBatch& batch, const absl::Status& status) {
  while (!batch.empty()) {
    EndFirst(batch, status);
  }
}

}  // namespace

void AnswerBatch(const LoadedModel& model, PredictionBatch& batch, int64_t max_message_bytes) {
  const std::list<PreparedData> prepared = Prepare(model, batch, max_message_bytes);
  absl::StatusOr<Prediction> together = absl::CancelledError();
  if (batch.size() > 1) {
    together = PredictTogether(model, prepared);
  }
  // Alone again when they failed together, so that the error of one names its row and harms no other.
  const bool shared = together.ok();
  for (size_t computed = 0; computed < (shared ? 1 : batch.size()); ++computed) {
    model.statistics->RecordBatch(shared ? static_cast<int64_t>(batch.size()) : 1);
  }
  Index begin = 0;
  for (const PreparedData& rows : prepared) {
    const absl::Status status = Respond(
        model,
        RunSafely(kWork,
                  [&]() -> absl::StatusOr<Prediction> {
                    return shared ? Part(*together, begin, rows.rows) : Predict(model, rows);
                  }),
        batch.front());
    begin += rows.rows;
    EndFirst(batch, status);
  }
}

void PredictionRunner::Run(std::shared_ptr<const LoadedModel> model, PredictionBatch call) {
  const int64_t work = Work(*model, call);
  if (work <= kTinyWork) {
    AnswerBatch(*model, call, max_message_bytes_);
    return;
  }
  PredictionBatch batch = model->queue->Add(std::move(call));
  if (batch.empty()) {
    return;
  }
  if (work > kMillisecondOfWork || runs_here_.exchange(true)) {
    RunInPool(std::move(model), std::move(batch));
    return;
  }
  AnswerBatch(*model, batch, max_message_bytes_);
  runs_here_ = false;
  RunInPool(model, model->queue->Next());
}

void PredictionRunner::RunInPool(std::shared_ptr<const LoadedModel> model, PredictionBatch batch) {
  while (!batch.empty()) {
    // Shared, so that calls which cannot be posted are still here to be ended.
    std::shared_ptr<PredictionBatch> shared;
    const absl::Status posted = RunNeeded(kWork, [&] {
      shared = std::make_shared<PredictionBatch>();
      shared->swap(batch);
      // One batch, then the end of the pool's queue, so that other models have their turn.
      pool_.Post([this, model, shared] {
        AnswerBatch(*model, *shared, max_message_bytes_);
        RunInPool(model, model->queue->Next());
      });
    });
    if (posted.ok()) {
      return;
    }
    EndBatch(shared != nullptr ? *shared : batch, posted);
    batch = model->queue->Next();
  }
}

}  // namespace mercer::server
