#include "core/objectives/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/process/row_sums.h"

namespace mercer {
namespace {

// Adds term(i) for the samples of a piece, one after the other.
template <typename Term>
auto AddTerms(const Term& term) {
  return [term](Index begin, Index end, double& sum) {
    for (Index i = begin; i < end; ++i) {
      sum += term(i);
    }
  };
}

}  // namespace

std::string_view Loss::name() const { return AllLosses()[static_cast<size_t>(kind_)].name; }

double Loss::TotalValue(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef scores,
                        double bias) const {
  const auto value = [&](Index i) { return Value(targets(i), costs(i), scores(i) + bias); };
  return SumOverRows(targets.size(), kRowBlock, 0.0, AddTerms(value));
}

double Loss::DualValue(ConstVectorRef targets, ConstVectorRef costs, ConstVectorRef dual) const {
  const auto value = [&](Index i) { return -Conjugate(targets(i), costs(i), -dual(i)); };
  return SumOverRows(targets.size(), kRowBlock, 0.0, AddTerms(value));
}

absl::StatusOr<double> Loss::TotalValue(ConstVectorRef targets, ConstVectorRef costs,
                                        ConstVectorRef scores, double bias,
                                        const RunContext& context) const {
  const auto value = [&](Index i) { return Value(targets(i), costs(i), scores(i) + bias); };
  return SumOverRows(targets.size(), kRowBlock, 0.0, context, AddTerms(value));
}

absl::StatusOr<double> Loss::DualValue(ConstVectorRef targets, ConstVectorRef costs,
                                       ConstVectorRef dual, const RunContext& context) const {
  const auto value = [&](Index i) { return -Conjugate(targets(i), costs(i), -dual(i)); };
  return SumOverRows(targets.size(), kRowBlock, 0.0, context, AddTerms(value));
}

void Loss::RepairDual(ConstVectorRef targets, ConstVectorRef costs, bool balanced,
                      VectorRef dual) const {
  // The magnitudes of the positive and of the negative entries.
  const Eigen::Array2d sums = SumOverRows(
      dual.size(), kRowBlock, Eigen::Array2d(0, 0),
      [&](Index begin, Index end, Eigen::Array2d& sum) {
        for (Index i = begin; i < end; ++i) {
          const Interval box = DualBox(targets(i), costs(i));
          dual(i) = std::isfinite(dual(i)) ? std::clamp(dual(i), box.low, box.high) : 0.0;
          sum(dual(i) > 0 ? 0 : 1) += std::abs(dual(i));
        }
      });
  const double positive = sums(0);
  const double negative = sums(1);
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
