// Where and when the calls of a prediction queue are computed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "server/jobs/executor.h"
#include "server/prediction/model_cache.h"
#include "server/prediction/prediction_queue.h"

namespace mercer::server {

// Ends every call of `batch`, computed as one, and empties it. Each gets the bits that it would get alone, and its own
// error, which no other call sees. `max_message_bytes` bounds each answer.
void AnswerBatch(const LoadedModel& model, PredictionBatch& batch, int64_t max_message_bytes);

// Thread-safe. Outlives what it has handed to the pool.
class PredictionRunner {
 public:
  PredictionRunner(Executor& pool, int64_t max_message_bytes)
      : pool_(pool), max_message_bytes_(max_message_bytes) {}

  // Sees to it that `call`, one, is answered: on this thread, by the pool, or together with others when
  // one of those that run now has ended. Takes about a millisecond at most.
  void Run(std::shared_ptr<const LoadedModel> model, PredictionBatch call);

 private:
  void RunInPool(std::shared_ptr<const LoadedModel> model, PredictionBatch batch);

  Executor& pool_;
  const int64_t max_message_bytes_;
  // One call at a time is computed where it came in: the other threads that take calls in are then free
  // to bring together those that can be computed as one.
  std::atomic<bool> runs_here_{false};
};

}  // namespace mercer::server
