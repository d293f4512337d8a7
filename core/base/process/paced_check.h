// Asks a run whether its work must end about once per millisecond, in loops whose rounds are short.
#pragma once

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Not thread-safe. The context must outlive it.
class PacedCheck {
 public:
  explicit PacedCheck(const RunContext& context) : context_(context) {}

  // To be called whenever so many more numbers were computed or copied, before or after it happens.
  // Errors: kCancelled.
  absl::Status After(Index numbers) {
    done_ += numbers;
    if (done_ < kNumbersPerCheck) {
      return absl::OkStatus();
    }
    done_ = 0;
    return context_.CheckCancelled();
  }

 private:
  static constexpr Index kNumbersPerCheck = 1'000'000;

  const RunContext& context_;
  Index done_ = 0;
};

}  // namespace mercer
