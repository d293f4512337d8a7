// One watcher over gRPC. It may begin behind a sequence number of an earlier one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/support/byte_buffer.h>

#include "server/rpc/request_call.h"
#include "server/watching/watchers.h"

namespace mercer::server {

// Deletes itself. Pump() alone decides what happens next, under one mutex: write, wait, or finish. At most one write is in flight,
// and there is one Finish. The next item is taken when the last was written, so a slow client costs a cursor. What derives from it
// says what is watched, and how that is told.
template <typename Item>
class WatchStream : public RequestCall {
 public:
  void OnWriteDone(bool ok) final;
  void OnCancel() final { Pump(nullptr, &WatchStream::cancelled_); }

 protected:
  using RequestCall::RequestCall;
  ~WatchStream() override = default;

  // Reads the request.
  virtual absl::StatusOr<std::unique_ptr<Watch<Item>>> Open(std::function<void()> wake) = 0;
  // The message of a kItem or kExistingSent.
  virtual absl::StatusOr<grpc::ByteBuffer> Write(const NextItem<Item>& next) = 0;
  // Write() has to ask the storage: it runs on the I/O pool.
  virtual bool TakesLong(const Item& item) const = 0;
  virtual grpc::ByteBuffer WriteHeartbeat(int64_t sequence) = 0;
  // In the API's words, why there is no more.
  virtual absl::Status EndOf(const absl::Status& status) const = 0;
  void EndAsDrained() { Pump(nullptr, &WatchStream::draining_); }

 private:
  enum class Action : uint8_t { kNothing, kWrite, kWriteLong, kFinish };

  void Begin() final;
  void CancelForDrain() final { context_->TryCancel(); }
  void Leave() final;
  void End(const absl::Status& status) final ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets `flag`, one of those below, before it decides. Messages are sent by the current thread, or on `writer`.
  void Pump(Executor* writer = nullptr, bool WatchStream::*flag = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Decide(), or the end of a stream whose message could not be made.
  Action DecideSafely() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action Send(absl::StatusOr<grpc::ByteBuffer> bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Action EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLong();

  std::unique_ptr<Watch<Item>> watch_;  // from Begin to Leave
  int64_t heartbeat_ = 0;               // the ticker's key
  NextItem<Item> long_;                 // of whoever has set busy_: what WriteLong() writes

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;    // watch_ is there
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;       // a message is on its way
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // nobody listens any more
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool heartbeat_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

extern template class WatchStream<WatchedEvent>;
extern template class WatchStream<WatchedJob>;

}  // namespace mercer::server
