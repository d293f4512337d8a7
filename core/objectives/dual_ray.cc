#include "core/objectives/dual_ray.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/paced_check.h"
#include "core/base/process/row_sums.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/concave_maximum.h"

namespace mercer {
namespace {

// The maximum of -1/2 curvature s^2 + linear s over 0 <= s <= largest.
double BestScaleOfParabola(double linear, double curvature, double largest) {
  if (!(linear > 0)) {
    return 0;
  }
  const double scale = curvature > 0 ? std::min(linear / curvature, largest) : largest;
  return std::isfinite(scale) ? scale : 1.0;
}

// The curvature that a squared loss adds to the parabola: sum_i dual(i)^2 / (2 c(i)), twice its
// term.
double CurvatureOfSquares(ConstVectorRef costs, ConstVectorRef dual) {
  return SumOverRows(dual.size(), kRowBlock, 0.0, [&](Index begin, Index end, double& sum) {
    for (Index i = begin; i < end; ++i) {
      sum += dual(i) != 0 ? dual(i) / (2.0 * costs(i)) * dual(i) : 0.0;
    }
  });
}

}  // namespace

double LargestDualScale(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                        ConstVectorRef dual) {
  return LargestDualScale(loss, targets, costs, dual, RunContext()).value();
}

absl::StatusOr<double> LargestDualScale(const Loss& loss, ConstVectorRef targets,
                                        ConstVectorRef costs, ConstVectorRef dual,
                                        const RunContext& context) {
  double largest = kInfinity;
  PacedCheck check(context);
  for (Index i = 0; i < dual.size(); ++i) {
    MERCER_RETURN_IF_ERROR(check.After(1));
    const Interval box = loss.DualBox(targets(i), costs(i));
    if (dual(i) != 0) {
      largest = std::min(largest, (dual(i) > 0 ? box.high : box.low) / dual(i));
    }
  }
  return std::max(largest, 1.0);
}

absl::StatusOr<DualRay> MaximizeOnDualRay(const Loss& loss, ConstVectorRef targets,
                                          ConstVectorRef costs, ConstVectorRef dual,
                                          double quadratic, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const double largest,
                          LargestDualScale(loss, targets, costs, dual, context));
  DualRay best;
  switch (loss.kind()) {
    case LossKind::kHinge:
    case LossKind::kEpsilonInsensitive: {
      MERCER_ASSIGN_OR_RETURN(const double value, loss.DualValue(targets, costs, dual, context));
      best.scale = BestScaleOfParabola(value, quadratic, largest);
      best.value = best.scale * value - 0.5 * best.scale * best.scale * quadratic;
      return best;
    }
    case LossKind::kSquare:
    case LossKind::kSquaredHinge: {
      const double linear = DotOfRows(dual, targets);
      const double curvature = CurvatureOfSquares(costs, dual) + quadratic;
      best.scale = BestScaleOfParabola(linear, curvature, largest);
      best.value = best.scale * linear - 0.5 * best.scale * best.scale * curvature;
      return best;
    }
    case LossKind::kLogistic:
      break;
  }
  // A search that is cancelled sees no value anywhere, which ends it.
  const auto value_at = [&](double scale) {
    const auto add = [&](Index begin, Index end, double& sum) {
      for (Index i = begin; i < end; ++i) {
        sum -= loss.Conjugate(targets(i), costs(i), -scale * dual(i));
      }
    };
    const absl::StatusOr<double> linear = SumOverRows(dual.size(), kRowBlock, 0.0, context, add);
    return linear.ok() ? *linear - 0.5 * scale * scale * quadratic : -kInfinity;
  };
  // The scale stays a little below the end of the box, which rounding could leave.
  const double end = std::isfinite(largest) ? largest * (1.0 - 1e-12) : 1.0;
  const ConcaveMaximum inside = MaximizeConcave(0, std::min(1.0, end), end, value_at);
  if (inside.value > best.value) {
    best = {inside.at, inside.value};
  }
  const double value = value_at(1.0);
  if (value > best.value) {
    best = {1.0, value};
  }
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return best;
}

}  // namespace mercer
