#include "core/objectives/dual_ray.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// -1/2 curvature s^2 + linear s over 0 <= s <= largest.
double BestScaleOfParabola(double linear, double curvature, double largest) {
  if (!(linear > 0)) {
    return 0;
  }
  const double scale = curvature > 0 ? std::min(linear / curvature, largest) : largest;
  return std::isfinite(scale) ? scale : 1.0;
}

// The maximiser over [0, largest] of a concave function, by golden sections: at a maximum values agree long before scales do, so
// that half the digits of the scale give all of the value.
template <typename Function>
double BestScaleOfConcave(double largest, const Function& value_at) {
  constexpr double kGolden = 0.6180339887498949;
  double low = 0;
  double high = largest;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double left_value = value_at(left);
  double right_value = value_at(right);
  while (high - low > 1e-9 * largest) {
    if (left_value < right_value) {
      low = left;
      left = right;
      left_value = right_value;
      right = low + kGolden * (high - low);
      right_value = value_at(right);
    } else {
      high = right;
      right = left;
      right_value = left_value;
      left = high - kGolden * (high - low);
      left_value = value_at(left);
    }
  }
  return left_value < right_value ? right : left;
}

// sum_i dual(i)^2 / (2 c(i)): twice what a squared loss adds to the parabola.
double CurvatureOfSquares(ConstVectorRef costs, ConstVectorRef dual) {
  double sum = 0;
  for (Index i = 0; i < dual.size(); ++i) {
    sum += dual(i) != 0 ? dual(i) / (2.0 * costs(i)) * dual(i) : 0.0;
  }
  return sum;
}

}  // namespace

double LargestDualScale(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                        ConstVectorRef dual) {
  double largest = kInfinity;
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = loss.DualBox(targets(i), costs(i));
    if (dual(i) != 0) {
      largest = std::min(largest, (dual(i) > 0 ? box.high : box.low) / dual(i));
    }
  }
  return std::max(largest, 1.0);
}

DualRay MaximizeOnDualRay(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                          ConstVectorRef dual, double quadratic) {
  const double value = loss.DualValue(targets, costs, dual);
  const double largest = LargestDualScale(loss, targets, costs, dual);
  DualRay best;
  switch (loss.kind()) {
    case LossKind::kHinge:
    case LossKind::kEpsilonInsensitive:
      best.scale = BestScaleOfParabola(value, quadratic, largest);
      best.value = best.scale * value - 0.5 * best.scale * best.scale * quadratic;
      return best;
    case LossKind::kSquare:
    case LossKind::kSquaredHinge: {
      const double linear = dual.dot(targets);
      const double curvature = CurvatureOfSquares(costs, dual) + quadratic;
      best.scale = BestScaleOfParabola(linear, curvature, largest);
      best.value = best.scale * linear - 0.5 * best.scale * best.scale * curvature;
      return best;
    }
    case LossKind::kLogistic:
      break;
  }
  // At the very end of the box rounding can leave it.
  const auto value_at = [&](double scale) {
    return loss.DualValue(targets, costs, scale * dual) - 0.5 * scale * scale * quadratic;
  };
  const double end = std::isfinite(largest) ? largest * (1.0 - 1e-12) : 1.0;
  for (const double scale : {BestScaleOfConcave(end, value_at), 1.0}) {
    const double reached = scale == 1.0 ? value - 0.5 * quadratic : value_at(scale);
    if (reached > best.value) {
      best = {scale, reached};
    }
  }
  return best;
}

}  // namespace mercer
