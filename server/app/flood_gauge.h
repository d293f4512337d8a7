// Tells floods on a connection of HTTP/2 from calls. gRPC's library takes in headers that have no end, and calls that are reset as
// soon as they begin, as fast as they come: both cost memory by the gigabyte.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

#include "server/rpc/connection_load.h"

namespace mercer::server {

// Of a TCP connection, since it was made.
struct TcpBytes {
  int64_t received = 0;
  int64_t unread = 0;        // of them, those that the system still keeps
  int64_t acknowledged = 0;  // of what was sent

  int64_t read() const { return received - unread; }
};

// What one look at every connection shares.
struct AllConnections {
  int64_t waiting_calls = 0;  // that gRPC has begun and nobody has looked at yet
  // What connections may together have sent beyond their debts until they hear that their calls are refused.
  int64_t moment_bytes = int64_t{64} << 20;
};

// Of one connection. Bytes that come earn nothing: each answered call earns the bytes of its headers
// and of what may be on its way before anybody reads, and messages earn their own; so does what is
// sent, as the other end makes room for more. A debt is what came and belongs to nothing, such as
// calls that are reset.
class FloodGauge {
 public:
  // To be called again and again. Answers what is wrong, null: nothing.
  const char* Look(const ConnectionLoad& load, const TcpBytes& bytes, AllConnections& all,
                   absl::Time now);

 private:
  struct Counts {
    TcpBytes bytes;
    int64_t calls = 0;
    int64_t admitted_calls = 0;
    int64_t answered_calls = 0;
    int64_t cancelled_calls = 0;
    int64_t message_bytes = 0;
    int64_t cancelled_bytes = 0;
  };

  // What came and went since the last look.
  void Settle(const Counts& counts, bool is_crowded, absl::Time now);
  // Few enough that each may have a large message.
  bool HasFewCalls(const Counts& counts, int64_t waiting_calls, absl::Time now) const;
  // How much may have come that belongs to nothing.
  int64_t MostDebt(int64_t running_bytes, bool has_few_calls, absl::Time now) const;
  // Whether what came beyond that may be the rest of a message whose sender has not heard yet that its call is refused: for a moment
  // after something was read, and again after each call. Takes it from `moment_bytes`.
  bool MayHaveHeardNothing(int64_t excess, bool goes_on, const Counts& counts,
                           int64_t& moment_bytes, absl::Time now);

  Counts last_;
  int64_t credit_bytes_ = 0;
  absl::Time first_look_ = absl::InfinitePast();
  absl::Time looked_ = absl::InfinitePast();
  absl::Time known_until_ = absl::InfinitePast();
  absl::Time moment_ = absl::InfinitePast();  // its begin
  int64_t calls_at_moment_ = 0;
  // The second that is counted, and what there were before.
  absl::Time second_ = absl::InfinitePast();
  int64_t stranger_calls_ = 0;
  double cancelled_calls_ = 0;  // less those that time has forgiven
};

// Zeros: nobody knows.
TcpBytes BytesOfSocket(int socket);

}  // namespace mercer::server
