#include "server/prediction/prediction_queue.h"

#include <algorithm>

#include "server/translation/prediction_translator.h"

namespace mercer::server {

int64_t WorkPerRow(const Model& model, bool contributions) {
  const int64_t columns = std::max<int64_t>(model.preprocessing.num_outputs(), 1);
  int64_t work = columns + model.function.num_outputs();
  for (const std::shared_ptr<const Term>& term : model.function.terms) {
    work += term->WorkPerRow(columns, contributions);
  }
  return work;
}

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

int64_t RowsPerBatch(const Model& model) {
  // A row among others costs a quarter of a row alone.
  const int64_t by_work =
      std::clamp<int64_t>(4 * kMillisecondOfWork / WorkPerRow(model, false), 8, 256);
  // A row may take a number for each training row and square block, whatever it was sent with.
  const auto blocks = static_cast<int64_t>(model.preprocessing.squares().size());
  return std::min(by_work,
                  kMostSquareNumbers / std::max<int64_t>(1, model.num_square_columns * blocks) + 1);
}

PredictionBatch PredictionQueue::Add(PredictionBatch call) {
  absl::MutexLock lock(&mutex_);
  if (running_ < max_running_) {
    ++running_;
    return call;
  }
  waiting_.splice(waiting_.end(), call);
  return {};
}

PredictionBatch PredictionQueue::Next() {
  PredictionBatch batch;
  absl::MutexLock lock(&mutex_);
  int64_t rows = 0;
  while (!waiting_.empty() && (batch.empty() || rows + waiting_.front().rows <= max_rows_)) {
    rows += waiting_.front().rows;
    batch.splice(batch.end(), waiting_, waiting_.begin());
  }
  if (batch.empty()) {
    --running_;
  }
  return batch;
}

}  // namespace mercer::server
