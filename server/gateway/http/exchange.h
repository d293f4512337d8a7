// One request and its answer: what whoever answers gets to see of a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "server/budget/budget.h"
#include "server/gateway/http/http_message.h"

namespace mercer::gateway {

// Where a client is.
struct Peer {
  std::string address;  // "ipv4:10.0.0.7:50312", as gRPC writes it
  bool spare = false;   // of the few connections above a limit, which are there for health checks
};

// Functions may be called by any thread; callbacks run on the network's, later than the call, and must not block. One
// answer per exchange: Send, or Begin ... End. An exchange that is dropped without one is answered with an
// internal error. When the client has gone all this is harmless and does nothing, but each callback comes.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const RequestHead& head() const = 0;
  virtual const Peer& peer() const = 0;

  // The next bytes of the body; empty: that was all. Errors: kCancelled: the client has gone or was too slow,
  // and hears of it. One call at a time.
  using Bytes = std::function<void(absl::StatusOr<std::string> bytes)>;
  virtual void ReadSome(Bytes done) = 0;

  // Called when the client has gone, before the answer has ended; at once when it has already.
  virtual void OnGone(std::function<void()> gone) = 0;

  virtual void Send(Answer answer) = 0;
  virtual void Begin(StreamHead head) = 0;
  // After Begin; one at a time. `done` comes when the bytes are on their way: false: nobody takes them.
  virtual void Write(std::string bytes, std::function<void(bool ok)> done) = 0;
  // `whole` false: something is missing, which the client sees as a connection that breaks.
  virtual void End(bool whole) = 0;
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
