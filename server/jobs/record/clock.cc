#include "server/jobs/record/clock.h"

#include "absl/time/clock.h"

namespace mercer::server {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  absl::Duration Monotonic() const override { return SystemSteadyClock().Monotonic(); }
};

}  // namespace

Clock& RealClock() {
  static SystemClock clock;
  return clock;
}

}  // namespace mercer::server
