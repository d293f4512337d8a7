// max(0, 1 - y f), y in {-1, +1}: the loss of the support vector machine.
#pragma once

#include "core/objectives/loss.h"

namespace mercer {

class HingeLoss final : public Loss {
 public:
  LossKind kind() const override { return LossKind::kHinge; }
  std::string_view name() const override { return "hinge"; }
  bool is_margin_loss() const override { return true; }
  double Value(double target, double cost, double score) const override;
  double Slope(double target, double cost, double score) const override;
  double Curvature(double target, double cost, double score) const override;
  double Conjugate(double target, double cost, double slope) const override;
  double Prox(double target, double cost, double point, double step) const override;
  Interval DualBox(double target, double cost) const override;
  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override;
};

}  // namespace mercer
