// Answers several prediction calls of one model as one computation.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "server/prediction/prediction_queue.h"

namespace mercer::server {

struct LoadedModel;

// Ends every call of `batch` with `status` and empties it.
void EndBatch(PredictionBatch& batch, const absl::Status& status);

// Ends every call of `batch` and empties it. Each gets the bits that it would get alone, and its own
// error, which no other call sees. `max_message_bytes` bounds each answer.
void AnswerBatch(const LoadedModel& model, PredictionBatch& batch, int64_t max_message_bytes);

}  // namespace mercer::server
