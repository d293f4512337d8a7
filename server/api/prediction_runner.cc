#include "server/api/prediction_runner.h"

#include <utility>

#include "server/api/prediction_batch.h"
#include "server/api/prediction_work.h"

namespace mercer::server {
namespace {

// Less work than to wake another thread.
constexpr int64_t kTinyWork = kMillisecondOfWork / 32;

int64_t Work(const LoadedModel& model, const PredictionBatch& call) {
  return call.front().rows * WorkPerRow(model.predictor->model(), false);
}

}  // namespace

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
  if (batch.empty()) {
    return;
  }
  // One batch, then the end of the pool's queue, so that other models have their turn.
  pool_.Post([this, model = std::move(model), batch = std::move(batch)]() mutable {
    AnswerBatch(*model, batch, max_message_bytes_);
    PredictionBatch next = model->queue->Next();
    RunInPool(std::move(model), std::move(next));
  });
}

}  // namespace mercer::server
