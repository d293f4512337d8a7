#include "server/app/flood_gauge.h"

#include <algorithm>
#include <cstddef>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace mercer::server {
namespace {

// Headers may have 16 KiB, and as much of a message may come before it is read as a stream's first window has.
constexpr int64_t kBytesOfACall = int64_t{80} << 10;
constexpr int64_t kBytesOfAStranger = int64_t{1} << 10;
// Of TLS, settings and pings; of known callers, those of calls that they give up, too.
constexpr double kBytesPerSecond = 16 << 10;
constexpr double kBytesPerSecondOfCallers = 256 << 10;
constexpr int64_t kMostCredit = int64_t{256} << 10;
// Calls that have come are begun a moment later; of a large message more comes before its sender hears that it is refused.
constexpr int64_t kDebtOfStrangers = int64_t{256} << 10;
constexpr int64_t kDebtOfFewCalls = int64_t{4} << 20;
// How long a sender may take to hear it, once something is read. A fast network brings tens of megabytes meanwhile.
constexpr absl::Duration kMomentToHear = absl::Milliseconds(100);
constexpr int64_t kMostOfAMoment = int64_t{32} << 20;
// Pings and frames that make room, between two looks.
constexpr int64_t kBytesOfSilence = int64_t{1} << 10;
constexpr int64_t kFewCalls = 100;  // in a second
// Windows grow for those who send much. Whoever was admitted keeps his for a while.
constexpr int64_t kDebtOfCallers = int64_t{32} << 20;
constexpr absl::Duration kKnownFor = absl::Minutes(1);
// To messages TLS and HTTP/2 add about a hundredth, and of what is sent the other end's frames that make room have less.
constexpr int64_t kFramingShare = 32;
constexpr int64_t kCallsOfStrangers = 500;  // in a second
// Callers may give up all their streams at once, or set deadlines that are too short.
constexpr double kCancelledAtOnce = 2000;
constexpr double kCancelledPerSecond = 500;
// A connection has at most 1000 streams: of more calls some were reset, and have not ended yet. As
// many may be about to end while others begin.
constexpr int64_t kMostRunning = 2000;
// Calls of all connections that wait to be looked at; each takes some 20 KiB, and its bytes may be
// thirty. gRPC's few threads begin calls for as long as bytes come, and look at none of them
// meanwhile. Then each connection must have half of its credit left, which is enough for the headers
// of a thousand streams; but one with few calls, which may be uploads, not before too many wait.
constexpr int64_t kManyWaiting = 4000;
constexpr int64_t kTooManyWaiting = 4 * kManyWaiting;
constexpr int64_t kUploads = 16;
constexpr int64_t kCreditInACrowd = kMostCredit / 2;

}  // namespace

void FloodGauge::Settle(const Counts& counts, bool is_crowded, absl::Time now) {
  const bool is_first = looked_ == absl::InfinitePast();
  const double seconds = is_first ? 0 : absl::ToDoubleSeconds(now - looked_);
  if (is_first) {
    first_look_ = now;
    moment_ = now;
    credit_bytes_ = kMostCredit;
  }
  const int64_t admitted = counts.admitted_calls - last_.admitted_calls;
  const int64_t strangers = counts.calls - last_.calls - admitted;
  // In a crowd to calls that are reset nothing more has come than their headers.
  const int64_t messages = counts.message_bytes - last_.message_bytes +
                           (is_crowded ? 0 : counts.cancelled_bytes - last_.cancelled_bytes);
  credit_bytes_ +=
      (counts.answered_calls - last_.answered_calls) * kBytesOfACall +
      strangers * (is_crowded ? 0 : kBytesOfAStranger) + messages + messages / kFramingShare +
      (counts.bytes.acknowledged - last_.bytes.acknowledged) / kFramingShare +
      static_cast<int64_t>((now < known_until_ ? kBytesPerSecondOfCallers : kBytesPerSecond) *
                           seconds);
  credit_bytes_ -= counts.bytes.received - last_.bytes.received;
  credit_bytes_ = std::min(credit_bytes_, kMostCredit);
  cancelled_calls_ = std::max(cancelled_calls_ - kCancelledPerSecond * seconds, 0.0) +
                     static_cast<double>(counts.cancelled_calls - last_.cancelled_calls);
  last_ = counts;
  looked_ = now;
}

bool FloodGauge::HasFewCalls(const Counts& counts, int64_t waiting_calls, absl::Time now) const {
  const int64_t stranger_calls = counts.calls - counts.admitted_calls - stranger_calls_;
  // The first call of a connection may be among those that wait, and gRPC may read of its message before it begins the call.
  const bool may_have_call =
      counts.calls > 0 || waiting_calls > 0 || now - first_look_ < kMomentToHear;
  return may_have_call && stranger_calls < kFewCalls;
}

int64_t FloodGauge::MostDebt(int64_t running_bytes, bool has_few_calls, absl::Time now) const {
  return running_bytes + running_bytes / kFramingShare +
         (now < known_until_ ? kDebtOfCallers
          : has_few_calls    ? kDebtOfFewCalls
                             : kDebtOfStrangers);
}

bool FloodGauge::MayHaveHeardNothing(int64_t excess, bool goes_on, const Counts& counts,
                                     int64_t& moment_bytes, absl::Time now) {
  if (excess > std::min(kMostOfAMoment, moment_bytes)) {
    return false;
  }
  moment_bytes -= excess;
  if (!goes_on || counts.calls != calls_at_moment_) {
    calls_at_moment_ = counts.calls;
    moment_ = now;
  }
  return now - moment_ <= kMomentToHear;
}

const char* FloodGauge::Look(const ConnectionLoad& load, const TcpBytes& bytes, AllConnections& all,
                             absl::Time now) {
  // What messages may still bring is read before what they have brought: a message that ends in between counts twice.
  const int64_t running_bytes = load.running_bytes;
  const int64_t running_calls = load.running_calls;
  const Counts counts = {bytes,
                         load.calls,
                         load.admitted_calls,
                         load.answered_calls,
                         load.cancelled_calls,
                         load.message_bytes,
                         load.cancelled_bytes};
  if (running_bytes > 0 || counts.admitted_calls != last_.admitted_calls) {
    known_until_ = now + kKnownFor;
  }
  const bool has_uploads = counts.calls > 0 && running_calls <= kUploads;
  const bool is_crowded = all.waiting_calls > (has_uploads ? kTooManyWaiting : kManyWaiting);
  // What gRPC has not come to read costs it nothing, and may begin with a call.
  const int64_t read = bytes.read() - last_.bytes.read();
  const bool waits_to_be_read = bytes.unread > 0 && read <= 0;
  Settle(counts, is_crowded, now);
  const int64_t stranger_calls = counts.calls - counts.admitted_calls;
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    stranger_calls_ = stranger_calls;
  }
  if (stranger_calls - stranger_calls_ > kCallsOfStrangers) {
    return "its calls are refused without end";
  }
  if (cancelled_calls_ > kCancelledAtOnce || running_calls > kMostRunning) {
    return "it resets its calls without end";
  }
  const bool has_few_calls = HasFewCalls(counts, all.waiting_calls, now);
  const int64_t least_credit =
      is_crowded ? kCreditInACrowd : -MostDebt(running_bytes, has_few_calls, now);
  const int64_t excess = least_credit - credit_bytes_;
  if (excess <= 0) {
    moment_ = now;
    return nullptr;
  }
  const bool may_have_heard_nothing =
      has_few_calls && !is_crowded &&
      MayHaveHeardNothing(excess, read > kBytesOfSilence, counts, all.moment_bytes, now);
  return may_have_heard_nothing || waits_to_be_read ? nullptr : "it sends what belongs to no call";
}

TcpBytes BytesOfSocket(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  const bool knows =
      getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
      size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  int unread = 0;
  if (!knows || ioctl(socket, FIONREAD, &unread) != 0) {
    return {};
  }
  return {static_cast<int64_t>(info.tcpi_bytes_received), unread,
          static_cast<int64_t>(info.tcpi_bytes_acked)};
}

}  // namespace mercer::server
