#include "server/app/flood_gauge.h"

#include <algorithm>
#include <cstddef>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace mercer::server {
namespace {

// Headers may have 16 KiB, and as much of a message may come before it is read as a stream's first window has.
constexpr int64_t kBytesOfACall = int64_t{80} << 10;
constexpr int64_t kBytesOfAStranger = int64_t{1} << 10;
// Of TLS, settings and pings.
constexpr double kBytesPerSecond = 16 << 10;
constexpr int64_t kMostCredit = int64_t{256} << 10;
// Calls that have come are begun a moment later; of a large message more comes before its sender hears that it is refused.
constexpr int64_t kDebtOfStrangers = int64_t{256} << 10;
constexpr int64_t kDebtOfFewCalls = int64_t{4} << 20;
constexpr int64_t kFewCalls = 100;  // in a second
// Windows grow for those who send much. Whoever was admitted keeps his for a while.
constexpr int64_t kDebtOfCallers = int64_t{32} << 20;
constexpr absl::Duration kKnownFor = absl::Minutes(1);
// To messages TLS and HTTP/2 add about a hundredth, and of what is sent the other end's frames that make room have less.
constexpr int64_t kFramingShare = 32;
// In a second. Callers may set deadlines that are too short, and give up many calls at once.
constexpr int64_t kCallsOfStrangers = 500;
constexpr int64_t kCancelledOfCallers = 2000;

}  // namespace

const char* FloodGauge::Look(const ConnectionLoad& load, const TcpBytes& bytes, absl::Time now) {
  // What messages may still bring is read before what they have brought: a message that ends in between counts twice.
  const int64_t running_bytes = load.running_bytes;
  const Counts counts = {bytes, load.calls, load.admitted_calls, load.message_bytes};
  if (running_bytes > 0 || counts.admitted_calls != last_.admitted_calls) {
    known_until_ = now + kKnownFor;
  }
  const int64_t messages = counts.message_bytes - last_.message_bytes;
  const double seconds = std::min(absl::ToDoubleSeconds(now - looked_), 16.0);
  const int64_t admitted = counts.admitted_calls - last_.admitted_calls;
  const int64_t strangers = counts.calls - last_.calls - admitted;
  credit_bytes_ += admitted * kBytesOfACall + strangers * kBytesOfAStranger + messages +
                   messages / kFramingShare +
                   (bytes.acknowledged - last_.bytes.acknowledged) / kFramingShare +
                   static_cast<int64_t>(kBytesPerSecond * seconds);
  credit_bytes_ -= bytes.received - last_.bytes.received;
  credit_bytes_ = std::min(credit_bytes_, kMostCredit);
  last_ = counts;
  looked_ = now;
  const int64_t stranger_calls = counts.calls - counts.admitted_calls;
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    stranger_calls_ = stranger_calls;
    cancelled_calls_ = load.cancelled_calls;
  }
  if (stranger_calls - stranger_calls_ > kCallsOfStrangers) {
    return "its calls are refused without end";
  }
  if (load.cancelled_calls - cancelled_calls_ > kCancelledOfCallers) {
    return "it resets its calls without end";
  }
  const bool few_calls = counts.calls > 0 && stranger_calls - stranger_calls_ < kFewCalls;
  const int64_t debt = running_bytes + running_bytes / kFramingShare +
                       (now < known_until_ ? kDebtOfCallers
                        : few_calls        ? kDebtOfFewCalls
                                           : kDebtOfStrangers);
  return credit_bytes_ < -debt ? "it sends what belongs to no call" : nullptr;
}

TcpBytes BytesOfSocket(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  const bool knows =
      getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
      size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  return knows ? TcpBytes{static_cast<int64_t>(info.tcpi_bytes_received),
                          static_cast<int64_t>(info.tcpi_bytes_acked)}
               : TcpBytes();
}

}  // namespace mercer::server
