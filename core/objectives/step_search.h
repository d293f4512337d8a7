// Where a function of one number that never falls, a sum of steps over training rows, reaches a
// height: a search that asks for sums over the rows alone, as row_sums.h has them, and sorts
// nothing.
#pragma once

#include <functional>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Row i rises by jumps(i, k) >= 0 at places(i, k), which is infinite where the jump is 0.
struct RowSteps {
  Matrix places;
  Matrix jumps;
};

struct FoundStep {
  double place = kInfinity;  // infinite: there is none
  // The sum of the jumps below it, and of those up to it; of all jumps where there is none.
  double before = 0;
  double risen = 0;
};

// The first place of a step with value(risen, place) >= 0, `risen` the sum of the jumps up to it,
// its own included. `value` increases with both and is finite at the places. `from`: a place up to
// which there is none; the next one may well be it. Errors: kCancelled.
absl::StatusOr<FoundStep> FindStep(const RowSteps& steps,
                                   const std::function<double(double risen, double place)>& value,
                                   const RunContext& context, double from = -kInfinity);

}  // namespace mercer
