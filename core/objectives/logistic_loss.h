// log(1 + exp(-y f)), y in {-1, +1}.
#pragma once

#include "core/objectives/loss.h"

namespace mercer {

class LogisticLoss final : public Loss {
 public:
  LossKind kind() const override { return LossKind::kLogistic; }
  std::string_view name() const override { return "logistic"; }
  bool is_margin_loss() const override { return true; }
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
