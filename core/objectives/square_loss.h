// (y - f)^2: the loss of ridge regression.
#pragma once

#include "core/objectives/loss.h"

namespace mercer {

class SquareLoss final : public Loss {
 public:
  LossKind kind() const override { return LossKind::kSquare; }
  std::string_view name() const override { return "square"; }
  bool is_margin_loss() const override { return false; }
  double Value(double target, double cost, double score) const override;
  double Slope(double target, double cost, double score) const override;
  double Curvature(double target, double cost, double score) const override;
  double Conjugate(double target, double cost, double slope) const override;
  double Prox(double target, double cost, double point, double step) const override;
  Interval DualBox(double target, double cost) const override;
  double ValueAndSlopes(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                        VectorRef slopes) const override;
  void Curvatures(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                  VectorRef curvatures) const override;
  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override;
};

}  // namespace mercer
