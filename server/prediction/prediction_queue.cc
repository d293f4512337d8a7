#include "server/prediction/prediction_queue.h"

namespace mercer::server {

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
