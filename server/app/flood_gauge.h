// Tells floods on a connection of HTTP/2 from calls. gRPC's library takes in headers that have no end, and calls that are reset as
// soon as they begin, as fast as they come: both cost memory by the gigabyte.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

#include "server/api/connection_load.h"

namespace mercer::server {

// Of one connection. Bytes that come earn nothing: each call earns the bytes of its headers and of what may be on its way before
// anybody reads, and messages earn their own. A debt is what came and belongs to nothing.
class FloodGauge {
 public:
  // To be called again and again. Answers what is wrong, null: nothing. `received_bytes`: since the connection was made.
  const char* Look(const ConnectionLoad& load, int64_t received_bytes, absl::Time now);

 private:
  struct Counts {
    int64_t received_bytes = 0;
    int64_t calls = 0;
    int64_t admitted_calls = 0;
    int64_t message_bytes = 0;
  };

  Counts last_;
  int64_t credit_bytes_ = 0;
  absl::Time looked_ = absl::InfinitePast();
  absl::Time known_until_ = absl::InfinitePast();
  // The second that is counted, and what there were before.
  absl::Time second_ = absl::InfinitePast();
  int64_t cancelled_calls_ = 0;
  int64_t stranger_calls_ = 0;
};

// That a TCP connection has received since it was made; 0: nobody knows.
int64_t ReceivedBytes(int socket);

}  // namespace mercer::server
