// (y - f)^2: the loss of ridge regression.
#include "core/base/process/row_vectors.h"
#include "core/objectives/loss_of.h"

namespace mercer {
namespace {

class SquareLoss final : public LossOf<SquareLoss> {
 public:
  SquareLoss() : LossOf(LossKind::kSquare) {}

  bool is_margin_loss() const override { return false; }
  LossCurve curve() const override { return LossCurve::kQuadratic; }
  double largest_curvature() const override { return 2.0; }

  double Value(double target, double cost, double score) const override {
    const double residual = target - score;
    return cost * residual * residual;
  }

  double Slope(double target, double cost, double score) const override {
    return 2.0 * cost * (score - target);
  }

  double Curvature(double /*target*/, double cost, double /*score*/) const override {
    return 2.0 * cost;
  }

  double Conjugate(double target, double cost, double slope) const override {
    if (cost > 0) {
      return slope * target + slope * slope / (4.0 * cost);
    }
    return slope == 0 ? 0.0 : kInfinity;
  }

  double Prox(double target, double cost, double point, double step) const override {
    return (point + 2.0 * step * cost * target) / (1.0 + 2.0 * step * cost);
  }

  Interval DualBox(double /*target*/, double cost) const override {
    return cost > 0 ? Interval{} : Interval{0.0, 0.0};
  }

  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& /*context*/) const override {
    const double total = SumOfRows(costs);
    if (!(total > 0)) {
      return BiasInterval{-kInfinity, kInfinity, 0.0};
    }
    // The mean, then the mean of what is left: equal residuals have their own value as mean, to the
    // last bit.
    const Vector residuals = targets - scores;
    const double mean = DotOfRows(costs, residuals) / total;
    const Vector rest = residuals.array() - mean;
    const double bias = mean + DotOfRows(costs, rest) / total;
    return BiasInterval{bias, bias, bias};
  }
};

}  // namespace

LossFormula losses::Square() {
  return {.name = "square", .formula = "(y - f)^2", .make = SquareLoss::Make};
}

}  // namespace mercer
