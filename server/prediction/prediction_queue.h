// The calls that predict with one model at the same time. As long as no more of them run than there
// are threads, each begins at once; those beyond wait for one to end and are then computed together,
// which costs a fraction of one by one: a model's basis is read once for all of their rows.
#pragma once

#include <cstdint>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "core/training/model/model.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::server {

// Floating-point operations, about, that take about a millisecond.
inline constexpr int64_t kMillisecondOfWork = 1 << 19;

// Operations per row: every kernel on every basis row, weighed and summed for every output.
int64_t WorkPerRow(const Model& model, bool contributions);

// Rows of a request, as far as its parts say without being read.
int64_t ClaimedRows(const v1::Rows& rows);

// Rows that calls of the model are computed together for: few enough that the whole takes no more than
// about a millisecond or two, so that nobody waits longer for others, and at least 8.
int64_t RowsPerBatch(const Model& model);

// A unary call with rows.
struct PendingPrediction {
  const v1::PredictRequest* request = nullptr;
  v1::PredictResponse* response = nullptr;
  int64_t rows = 0;                            // that the request claims to have
  absl::AnyInvocable<bool()> gone;             // its client waits no longer
  absl::AnyInvocable<void(absl::Status)> end;  // called once; request and response may be gone then
};

// Calls that are computed as one; a list, because moving its nodes cannot fail.
using PredictionBatch = std::list<PendingPrediction>;

// Thread-safe.
class PredictionQueue {
 public:
  // At most `max_running` batches at a time, each of at most `max_rows` rows unless a single call has
  // more; both >= 1.
  PredictionQueue(int max_running, int64_t max_rows)
      : max_running_(max_running), max_rows_(max_rows) {}

  // `call`: one. What the caller must compute now: that call. Empty: it waits, and a later Next gives
  // it.
  PredictionBatch Add(PredictionBatch call) ABSL_LOCKS_EXCLUDED(mutex_);
  // A batch that Add or Next gave has ended. What the caller must compute next; empty: nobody waits.
  PredictionBatch Next() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const int max_running_;
  const int64_t max_rows_;
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  PredictionBatch waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
