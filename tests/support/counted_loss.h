// The hinge loss with a count of its conjugates, of its values, or of its boxes: what goes through all
// samples asks for one of each, so that work can be cancelled within such a pass.
#pragma once

#include <memory>
#include <utility>

#include "core/base/process/cancellation.h"
#include "core/objectives/loss_of.h"

namespace mercer {

class CountedHingeLoss final : public LossOf<CountedHingeLoss> {
 public:
  enum class Calls { kConjugates, kValues, kBoxes };

  // The one of number `cancel_at`, from 1, cancels; 0: none does.
  CountedHingeLoss(Index cancel_at, CancellationToken token, Calls counted = Calls::kConjugates)
      : LossOf(LossKind::kHinge),
        counted_(counted),
        cancel_at_(cancel_at),
        token_(std::move(token)) {}

  Index count() const { return count_; }

  bool is_margin_loss() const override { return hinge_->is_margin_loss(); }
  LossCurve curve() const override { return hinge_->curve(); }
  double Value(double target, double cost, double score) const override {
    Count(Calls::kValues);
    return hinge_->Value(target, cost, score);
  }
  double Slope(double target, double cost, double score) const override {
    return hinge_->Slope(target, cost, score);
  }
  double Curvature(double target, double cost, double score) const override {
    return hinge_->Curvature(target, cost, score);
  }
  double Conjugate(double target, double cost, double slope) const override {
    Count(Calls::kConjugates);
    return hinge_->Conjugate(target, cost, slope);
  }
  double Prox(double target, double cost, double point, double step) const override {
    return hinge_->Prox(target, cost, point, step);
  }
  Interval DualBox(double target, double cost) const override {
    Count(Calls::kBoxes);
    return hinge_->DualBox(target, cost);
  }
  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override {
    return hinge_->ExactBias(targets, costs, scores, context);
  }

 private:
  void Count(Calls one) const {
    if (one == counted_ && ++count_ == cancel_at_) {
      token_.Cancel();
    }
  }

  const std::unique_ptr<Loss> hinge_ = *MakeLoss(LossKind::kHinge);
  const Calls counted_;
  const Index cancel_at_;
  const CancellationToken token_;
  mutable Index count_ = 0;
};

}  // namespace mercer
