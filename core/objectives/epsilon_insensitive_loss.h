// max(0, |y - f| - epsilon): the loss of support vector regression.
#pragma once

#include "core/objectives/loss.h"

namespace mercer {

class EpsilonInsensitiveLoss final : public Loss {
 public:
  explicit EpsilonInsensitiveLoss(double epsilon) : epsilon_(epsilon) {}

  LossKind kind() const override { return LossKind::kEpsilonInsensitive; }
  std::string_view name() const override { return "epsilon_insensitive"; }
  bool is_margin_loss() const override { return false; }
  double epsilon() const override { return epsilon_; }
  double Value(double target, double cost, double score) const override;
  double Slope(double target, double cost, double score) const override;
  double Curvature(double target, double cost, double score) const override;
  double Conjugate(double target, double cost, double slope) const override;
  double Prox(double target, double cost, double point, double step) const override;
  Interval DualBox(double target, double cost) const override;
  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override;

 private:
  double epsilon_;
};

}  // namespace mercer
