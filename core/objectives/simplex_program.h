// A convex quadratic function on a product of simplices: what Newton's step on weights within
// groups minimises.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Entry k belongs to group group_of[k], each of which has an entry.
struct SimplexGroups {
  std::vector<Index> group_of;
  Index num_groups = 0;
};

// slope'(x - start) + 1/2 (x - start)'hessian (x - start), whose hessian is positive semidefinite.
struct SimplexProgram {
  Vector start;
  Vector slope;  // at `start`
  Matrix hessian;
};

// The minimiser over x >= 0 whose entries have the sum 1 in each group, by Mehrotra's predictor and
// corrector; entries below 1e-9 of the largest of their group are 0. Of several minimisers one well
// inside. Cost: 10 to 30 factorisations. Nothing when the numbers do not admit a solution (entries
// that are not finite, a slope of 0) or rounding has spoilt the path. Errors: kCancelled.
absl::StatusOr<std::optional<Vector>> MinimizeOnSimplices(const SimplexProgram& program,
                                                          const SimplexGroups& groups,
                                                          const RunContext& context);

}  // namespace mercer
