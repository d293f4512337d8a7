#include "core/objectives/square_loss.h"

#include "core/objectives/loss_loops.h"

namespace mercer {

double SquareLoss::Value(double target, double cost, double score) const {
  const double residual = target - score;
  return cost * residual * residual;
}

double SquareLoss::Slope(double target, double cost, double score) const {
  return 2.0 * cost * (score - target);
}

double SquareLoss::Curvature(double /*target*/, double cost, double /*score*/) const {
  return 2.0 * cost;
}

double SquareLoss::Conjugate(double target, double cost, double slope) const {
  if (cost > 0) {
    return slope * target + slope * slope / (4.0 * cost);
  }
  return slope == 0 ? 0.0 : kInfinity;
}

double SquareLoss::Prox(double target, double cost, double point, double step) const {
  return (point + 2.0 * step * cost * target) / (1.0 + 2.0 * step * cost);
}

Interval SquareLoss::DualBox(double /*target*/, double cost) const {
  return cost > 0 ? Interval{} : Interval{0.0, 0.0};
}

double SquareLoss::ValueAndSlopes(ConstVectorRef targets, ConstVectorRef costs,
                                  ConstVectorRef scores, VectorRef slopes) const {
  return LoopOfValueAndSlopes(*this, targets, costs, scores, slopes);
}

void SquareLoss::Curvatures(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                            VectorRef curvatures) const {
  LoopOfCurvatures(*this, targets, costs, scores, curvatures);
}

absl::StatusOr<BiasInterval> SquareLoss::ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                                   ConstVectorRef scores,
                                                   const RunContext& /*context*/) const {
  const double total = costs.sum();
  if (!(total > 0)) {
    return BiasInterval{-kInfinity, kInfinity, 0.0};
  }
  // The mean, then the mean of what is left: equal residuals have their own value as mean, to the
  // last bit.
  const Vector residuals = targets - scores;
  double mean = costs.dot(residuals) / total;
  mean += costs.dot((residuals.array() - mean).matrix()) / total;
  return BiasInterval{mean, mean, mean};
}

}  // namespace mercer
