#include "server/prediction/prediction_runner.h"

#include <utility>

#include "core/base/process/run_safely.h"
#include "server/prediction/prediction_batch.h"
#include "server/prediction/prediction_work.h"

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
  while (!batch.empty()) {
    // Shared, so that calls which cannot be posted are still here to be ended.
    std::shared_ptr<PredictionBatch> shared;
    const absl::Status posted = RunNeeded("a prediction", [&] {
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
