// Server-sent events to one client, from one or more RPCs that stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "google/rpc/status.pb.h"
#include "server/budget/budget.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/rpc_channel.h"

namespace mercer::gateway {

// Thread-safe. Sources push what they have, wait while the client is slow, and say when they end; after the last
// one the stream ends. It begins with the first event, or after a moment: when all sources fail before, the answer
// is the error of the first.
// The id of an event says where each source is: their sequence numbers, in their order and with commas between them, so that a
// client that connects again with the last id misses nothing of any.
class EventStream final : public std::enable_shared_from_this<EventStream> {
 public:
  // `positions`: of each source, the sequence number that it begins behind.
  EventStream(std::shared_ptr<Exchange> exchange, server::Budget::Share place,
              std::vector<int64_t> positions);

  // Follows `rpc` to its end, and cancels it when the client goes.
  void Follow(std::shared_ptr<RpcCall> rpc) ABSL_LOCKS_EXCLUDED(mutex_);
  // Once all sources are there.
  void WatchClient();

  // The source is at `position` with this event. Without one it is a comment, which has no id.
  void Push(size_t source, std::optional<int64_t> position, std::string_view event)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `next` when there is room for another event, at once or later; not at all when the client has gone.
  void WhenRoom(std::function<void()> next) ABSL_LOCKS_EXCLUDED(mutex_);
  // A source has ended. `last`: what it has to say; an error also when nobody has pushed anything.
  void EndSource(std::string last, const google::rpc::Status* error) ABSL_LOCKS_EXCLUDED(mutex_);

  // The moment is over: begins, unless that has happened. True: there is nothing more to wait for.
  bool BeginAt(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnWritten(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnGone() ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Exchange> exchange_;
  const absl::Time made_;

  absl::Mutex mutex_;
  server::Budget::Share place_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> positions_ ABSL_GUARDED_BY(mutex_);
  size_t num_sources_ ABSL_GUARDED_BY(mutex_);  // that have not ended
  std::vector<std::shared_ptr<RpcCall>> rpcs_ ABSL_GUARDED_BY(mutex_);
  std::string pending_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  google::rpc::Status first_error_ ABSL_GUARDED_BY(mutex_);
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // or gone
};

}  // namespace mercer::gateway
