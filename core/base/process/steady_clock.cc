#include "core/base/process/steady_clock.h"

#include <chrono>

namespace mercer {
namespace {

class SystemClock final : public SteadyClock {
 public:
  absl::Duration Monotonic() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

const SteadyClock& SystemSteadyClock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace mercer
