// max(0, 1 - y f), y in {-1, +1}: the loss of the support vector machine.
#include <algorithm>

#include "core/base/process/row_vectors.h"
#include "core/objectives/bias_search.h"
#include "core/objectives/loss_of.h"

namespace mercer {
namespace {

class HingeLoss final : public LossOf<HingeLoss> {
 public:
  HingeLoss() : LossOf(LossKind::kHinge) {}

  bool is_margin_loss() const override { return true; }
  LossCurve curve() const override { return LossCurve::kPiecewiseLinear; }

  double Value(double target, double cost, double score) const override {
    return cost * std::max(0.0, 1.0 - target * score);
  }

  double Slope(double target, double cost, double score) const override {
    return target * score < 1.0 ? -cost * target : 0.0;
  }

  double Curvature(double /*target*/, double /*cost*/, double /*score*/) const override {
    return 0.0;
  }

  double Conjugate(double target, double cost, double slope) const override {
    const double a = -target * slope;  // in [0, cost]
    return a >= 0 && a <= cost ? -a : kInfinity;
  }

  double Prox(double target, double cost, double point, double step) const override {
    const double margin = target * point;
    return margin >= 1 ? point : target * std::min(1.0, margin + step * cost);
  }

  Interval DualBox(double target, double cost) const override {
    return target > 0 ? Interval{0.0, cost} : Interval{-cost, 0.0};
  }

  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override {
    const Vector places = (costs.array() > 0).select(targets - scores, kInfinity);
    // Left of all jumps every positive sample is short of its margin.
    const Vector of_positive = (targets.array() > 0).select(costs, 0.0);
    return MinimizePiecewiseLinear(-SumOfRows(of_positive), {places, costs}, context);
  }
};

}  // namespace

LossFormula losses::Hinge() {
  return {.name = "hinge", .formula = "max(0, 1 - y f)", .make = HingeLoss::Make};
}

}  // namespace mercer
