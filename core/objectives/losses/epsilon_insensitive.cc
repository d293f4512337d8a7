// max(0, |y - f| - epsilon): the loss of support vector regression.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/objectives/bias_search.h"
#include "core/objectives/loss_of.h"

namespace mercer {
namespace {

class EpsilonInsensitiveLoss final : public LossOf<EpsilonInsensitiveLoss> {
 public:
  explicit EpsilonInsensitiveLoss(double epsilon)
      : LossOf(LossKind::kEpsilonInsensitive), epsilon_(epsilon) {}

  static absl::StatusOr<std::unique_ptr<Loss>> Make(double epsilon) {
    if (!(epsilon >= 0) || !std::isfinite(epsilon)) {
      return absl::InvalidArgumentError(
          absl::StrCat("epsilon must be finite and >= 0, is ", epsilon));
    }
    return std::make_unique<EpsilonInsensitiveLoss>(epsilon);
  }

  bool is_margin_loss() const override { return false; }
  LossCurve curve() const override { return LossCurve::kPiecewiseLinear; }
  double epsilon() const override { return epsilon_; }

  double Value(double target, double cost, double score) const override {
    return cost * std::max(0.0, std::abs(target - score) - epsilon_);
  }

  double Slope(double target, double cost, double score) const override {
    if (std::abs(score - target) <= epsilon_) {
      return 0.0;
    }
    return score > target ? cost : -cost;
  }

  double Curvature(double /*target*/, double /*cost*/, double /*score*/) const override {
    return 0.0;
  }

  double Conjugate(double target, double cost, double slope) const override {
    return std::abs(slope) <= cost ? slope * target + epsilon_ * std::abs(slope) : kInfinity;
  }

  double Prox(double target, double cost, double point, double step) const override {
    const double residual = point - target;
    const double excess = std::abs(residual) - epsilon_;
    return excess <= 0 ? point : point - std::copysign(std::min(excess, step * cost), residual);
  }

  Interval DualBox(double /*target*/, double cost) const override { return {-cost, cost}; }

  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override {
    const Vector centres = (costs.array() > 0).select(targets - scores, kInfinity);
    RowSteps jumps{Matrix(centres.size(), 2), costs.replicate<1, 2>()};
    jumps.places << centres.array() - epsilon_, centres.array() + epsilon_;
    return MinimizePiecewiseLinear(-SumOfRows(costs), jumps, context);
  }

 private:
  double epsilon_;
};

}  // namespace

LossFormula losses::EpsilonInsensitive() {
  return {.name = "epsilon_insensitive",
          .formula = "max(0, |y - f| - epsilon)",
          .make = EpsilonInsensitiveLoss::Make};
}

}  // namespace mercer
