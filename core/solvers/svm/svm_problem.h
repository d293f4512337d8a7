// The one statement of the problem that every solver of a support vector machine with a fixed
// kernel solves.
#pragma once

#include <memory>

#include "core/base/numeric/types.h"
#include "core/objectives/loss.h"

namespace mercer {

// min_{f, b} 1/2 |f|^2 + sum_i costs(i) loss(targets(i), f(x_i) + b) over n samples. Targets are -1
// or +1 for margin losses. Costs are >= 0; samples of cost 0 keep dual 0.
struct SvmProblem {
  std::shared_ptr<const Loss> loss;
  Vector targets;
  Vector costs;
};

}  // namespace mercer
