// One watcher of the jobs over gRPC.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/support/byte_buffer.h>

#include "mercer/v1/training_service.pb.h"
#include "server/api/api_context.h"
#include "server/watching/job_feed.h"
#include "server/rpc/request_call.h"

namespace mercer::server {

// Deletes itself. As in ProgressStream, Pump() alone decides what happens next: write, wait, or finish; at most one write is in
// flight, and the next job is taken when the last was written. A change has the same bytes for every watcher.
class JobWatchStream final : public RequestCall {
 public:
  JobWatchStream(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                 grpc::CallbackServerContext* context)
      : RequestCall(environment, std::move(call), context, request_), api_(api) {}
  ~JobWatchStream() override = default;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;

 private:
  enum class Action : uint8_t { kNothing, kWrite, kFinish };

  void Begin() override;
  void EndForDrain() override { Pump(nullptr, &JobWatchStream::draining_); }
  void CancelForDrain() override { context_->TryCancel(); }
  void Leave() override;
  void End(const absl::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets `flag`, one of those below, before it decides. Messages are sent by the current thread, or on `writer`.
  void Pump(Executor* writer = nullptr, bool JobWatchStream::*flag = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Decide(), or the end of a stream whose message could not be made.
  Action DecideSafely() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action TakeJob(const NextJob& next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action DecideHeartbeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action Write(const v1::WatchJobsResponse& response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action WriteBytes(const grpc::Slice* slices, size_t num_slices)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ApiContext& api_;
  v1::WatchJobsRequest request_;
  std::unique_ptr<JobWatch> watch_;  // from Begin to Leave
  int64_t heartbeat_ = 0;            // the ticker's key

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;    // watch_ is there
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;       // a write is in flight
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // nobody listens any more
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool heartbeat_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
