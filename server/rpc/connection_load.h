// What the calls of each connection account for, so that whoever owns the connections can tell
// those apart that send what belongs to no call: resets, or headers without end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"

namespace mercer::server {

// Of one connection, since it was made. Thread-safe.
struct ConnectionLoad {
  std::atomic<int64_t> calls{0};            // that have begun
  std::atomic<int64_t> running_calls{0};    // of them, those that have not ended
  std::atomic<int64_t> admitted_calls{0};   // of them, those of known callers, as all that follow
  std::atomic<int64_t> answered_calls{0};   // that have ended, and were not given up
  std::atomic<int64_t> cancelled_calls{0};  // that the client gave up
  std::atomic<int64_t> running_bytes{0};    // that messages of calls which run may still have
  std::atomic<int64_t> message_bytes{0};    // that have come, or may have come to answered calls
  std::atomic<int64_t> cancelled_bytes{0};  // that may have come to cancelled calls
};

// By the address of the other end, as gRPC writes it. Thread-safe.
class ConnectionLoads {
 public:
  // A new connection.
  std::shared_ptr<ConnectionLoad> Add(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // `load` is no longer that of a connection.
  void Remove(const std::string& peer, const std::shared_ptr<ConnectionLoad>& load)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: there is no such connection, as with calls within the process.
  std::shared_ptr<ConnectionLoad> Find(const std::string& peer) const ABSL_LOCKS_EXCLUDED(mutex_);

  // gRPC has begun a call, of any connection.
  void NoteBegin() { ++waiting_calls_; }
  // The call has come to the server's own code.
  void NoteArrival() { --waiting_calls_; }
  // Calls between the two.
  int64_t waiting_calls() const { return waiting_calls_; }

 private:
  std::atomic<int64_t> waiting_calls_{0};
  mutable absl::Mutex mutex_;
  HashMap<std::string, std::shared_ptr<ConnectionLoad>> loads_ ABSL_GUARDED_BY(mutex_);
};

// One call, from its begin to its end.
class CallLoad {
 public:
  CallLoad() = default;
  // `load` may be null.
  explicit CallLoad(std::shared_ptr<ConnectionLoad> load);
  CallLoad(CallLoad&& other) noexcept = default;
  CallLoad& operator=(CallLoad&&) = delete;
  ~CallLoad();

  // Its caller is known, and may send messages of so many bytes.
  void Admit(int64_t limit_bytes);
  void Receive(int64_t bytes);
  // The client gives it up.
  void Cancel() { is_cancelled_ = true; }

 private:
  std::shared_ptr<ConnectionLoad> load_;  // null: nobody counts
  int64_t limit_bytes_ = 0;               // 0: nobody has admitted it
  bool is_cancelled_ = false;
};

}  // namespace mercer::server
