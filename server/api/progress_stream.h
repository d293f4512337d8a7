// One watcher of one job over gRPC.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "mercer/v1/training_service.pb.h"
#include "server/api/api_context.h"
#include "server/jobs/executor.h"
#include "server/watching/progress_hub.h"
#include "server/rpc/request_call.h"

namespace mercer::server {

// Deletes itself. Pump() alone decides what happens next, under one mutex: write, wait, or finish.
// At most one write is in flight, and there is one Finish. The next event is taken when the last
// was written, so a slow client costs a cursor.
class ProgressStream final : public RequestCall {
 public:
  ProgressStream(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                 grpc::CallbackServerContext* context)
      : RequestCall(environment, std::move(call), context, request_), api_(api) {}
  ~ProgressStream() override = default;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;

 private:
  enum class Action : uint8_t { kNothing, kWrite, kFinish, kFetchJob };

  void Begin() override;
  // The hub ends the stream after the job's last events.
  void CancelForDrain() override { context_->TryCancel(); }
  void Leave() override;
  // Sets `flag`, one of those below, before it decides. Messages are sent by the current thread, or on `writer`.
  void Pump(Executor* writer = nullptr, bool ProgressStream::*flag = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void End(const absl::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Decide(), or the end of a stream whose event could not be made.
  Action DecideSafely() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action TakeEvent(const JobEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action DecideHeartbeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Heartbeat() ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the job's error and model to its terminal event. Runs on the I/O pool.
  void FetchJob() ABSL_LOCKS_EXCLUDED(mutex_);

  const ApiContext& api_;
  v1::StreamProgressRequest request_;
  std::string job_id_;
  std::unique_ptr<ProgressSubscription> subscription_;  // from Begin to Leave
  int64_t heartbeat_ = 0;                               // the ticker's key
  v1::StreamProgressResponse response_;                 // of whoever has set busy_

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;    // subscription_ is there
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;       // a write or a look-up is in flight
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // nobody listens any more
  bool heartbeat_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
