// One request and its answer: what whoever answers gets to see of a connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "server/budget/budget.h"
#include "server/gateway/http/http_message.h"

namespace mercer::gateway {

// Where a client is.
struct Peer {
  std::string address;  // "ipv4:10.0.0.7:50312", as gRPC writes it
  bool spare = false;   // of the few connections above a limit, which are there for health checks
};

class Connection;

// Functions may be called by any thread; callbacks run on the network's, later than the call, and must not block. One
// answer per exchange: Send, or Begin ... End. An exchange that is dropped without one is answered with an
// internal error. When the client has gone all this is harmless and does nothing, but each callback comes.
class Exchange {
 public:
  // The one that `connection` begins.
  Exchange(std::shared_ptr<Connection> connection, RequestHead head);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& head() const { return head_; }
  const Peer& peer() const;

  // The next bytes of the body; empty: that was all. Errors: kCancelled: the client has gone or was too slow,
  // and hears of it. One call at a time.
  using Bytes = std::function<void(absl::StatusOr<std::string> bytes)>;
  void ReadSome(Bytes done);

  // Called when the client has gone, before the answer has ended; at once when it has already.
  void OnGone(std::function<void()> gone);

  void Send(Answer answer);
  void Begin(StreamHead head);
  // After Begin; one at a time. `done` comes when the bytes are on their way: false: nobody takes them.
  void Write(std::string bytes, std::function<void(bool ok)> done);
  // `whole` false: something is missing, which the client sees as a connection that breaks.
  void End(bool whole);

 private:
  // Has the connection do that on the network's thread.
  template <typename Method, typename... Arguments>
  void Post(Method method, Arguments... arguments);

  const std::shared_ptr<Connection> connection_;
  const uint64_t number_;
  const RequestHead head_;
  std::atomic<bool> answered_ = false;
  std::atomic<bool> begun_ = false;
};

// kUnavailable, reason TOO_MANY_BODIES.
absl::Status TooManyBodies();

// What a body that is kept in memory, and the message that is made of it, take of what all of them may. Not thread-safe.
class BodyShare {
 public:
  BodyShare(const server::Budget& all, int64_t limit_bytes)
      : share_(all.NewShare()), limits_{limit_bytes} {}
  // Errors: TooManyBodies, where others have taken it all.
  absl::Status Grow(size_t bytes);

 private:
  server::Budget::Share share_;
  const server::BudgetLimits limits_;
};

// Reads the whole body; `share` outlives the call back. Errors: those of ReadSome; kResourceExhausted with reason
// BODY_TOO_LARGE; kUnavailable with reason TOO_MANY_BODIES.
void ReadBody(const std::shared_ptr<Exchange>& exchange, size_t max_bytes, BodyShare& share,
              Exchange::Bytes done);

}  // namespace mercer::gateway
