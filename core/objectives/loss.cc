#include "core/objectives/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/objectives/loss_loops.h"

namespace mercer {
namespace {

// The sum of `term(i)` over the samples, one after the other, so that the bits are those of a loop
// that is not polled.
template <typename Term>
absl::StatusOr<double> SumPolled(Index samples, const Term& term, const RunContext& context) {
  constexpr Index kPiece = 100'000;  // some milliseconds
  double sum = 0;
  for (Index begin = 0; begin < samples; begin += kPiece) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = std::min(begin + kPiece, samples);
    for (Index i = begin; i < end; ++i) {
      sum += term(i);
    }
  }
  return sum;
}

}  // namespace

std::string_view Loss::name() const { return AllLosses()[static_cast<size_t>(kind_)].name; }

double Loss::ValueAndSlopes(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                            VectorRef slopes) const {
  return LoopOfValueAndSlopes(*this, targets, costs, scores, slopes);
}

void Loss::Curvatures(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                      VectorRef curvatures) const {
  LoopOfCurvatures(*this, targets, costs, scores, curvatures);
}

double Loss::TotalValue(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                        double bias) const {
  double sum = 0;
  for (Index i = 0; i < targets.size(); ++i) {
    sum += Value(targets(i), costs(i), scores(i) + bias);
  }
  return sum;
}

double Loss::DualValue(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef dual) const {
  double sum = 0;
  for (Index i = 0; i < targets.size(); ++i) {
    sum -= Conjugate(targets(i), costs(i), -dual(i));
  }
  return sum;
}

absl::StatusOr<double> Loss::TotalValue(ConstVectorRef targets, ConstVectorRef costs,
                                        ConstVectorRef scores, double bias,
                                        const RunContext& context) const {
  const auto value = [&](Index i) { return Value(targets(i), costs(i), scores(i) + bias); };
  return SumPolled(targets.size(), value, context);
}

absl::StatusOr<double> Loss::DualValue(ConstVectorRef targets, ConstVectorRef costs,
                                       ConstVectorRef dual, const RunContext& context) const {
  const auto value = [&](Index i) { return -Conjugate(targets(i), costs(i), -dual(i)); };
  return SumPolled(targets.size(), value, context);
}

void Loss::RepairDual(ConstVectorRef targets, ConstVectorRef costs, bool balanced,
                      VectorRef dual) const {
  double positive = 0;
  double negative = 0;
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = DualBox(targets(i), costs(i));
    dual(i) = std::isfinite(dual(i)) ? std::clamp(dual(i), box.low, box.high) : 0.0;
    (dual(i) > 0 ? positive : negative) += std::abs(dual(i));
  }
  if (!balanced || std::abs(positive - negative) <= 1e-13 * std::max(positive, negative)) {
    return;  // a balanced dual keeps its bits
  }
  const double factor = std::min(positive, negative) / std::max(positive, negative);
  for (Index i = 0; i < dual.size(); ++i) {
    if (positive > negative ? dual(i) > 0 : dual(i) < 0) {
      dual(i) *= factor;
    }
  }
}

absl::Span<const LossFormula> AllLosses() {
  static const auto& all = *new std::vector<LossFormula>{
#define MERCER_LOSS(Name) losses::Name(),
#include "core/objectives/losses/losses.inc"
#undef MERCER_LOSS
  };
  return all;
}

absl::StatusOr<std::unique_ptr<Loss>> MakeLoss(LossKind kind, double epsilon) {
  const auto place = static_cast<size_t>(kind);
  return place < AllLosses().size() ? AllLosses()[place].make(epsilon)
                                    : absl::InvalidArgumentError("unknown loss");
}

}  // namespace mercer
