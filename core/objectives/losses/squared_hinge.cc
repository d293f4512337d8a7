// max(0, 1 - y f)^2, y in {-1, +1}.
#include <algorithm>
#include <cmath>

#include "core/base/process/row_sums.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/bias_search.h"
#include "core/objectives/loss_of.h"

namespace mercer {
namespace {

// A sample has a break at t = y - score: it counts while b is below t (y = +1) or above t (y = -1),
// and its part of half the slope in b is then c (b - t).
struct BreakRange {
  BreakRange& operator+=(const BreakRange& other) {
    positive = std::max(positive, other.positive);
    negative = std::min(negative, other.negative);
    cost += other.cost;
    moment += other.moment;
    return *this;
  }

  double positive = -kInfinity;  // every positive sample is free of loss from here up
  double negative = kInfinity;   // every negative one from here down
  double cost = 0;
  double moment = 0;
};

// What samples say at b: half the slope there is -moment, and beside it, up to the next break,
// weight more for each unit of b.
struct SlopeAt {
  SlopeAt& operator+=(const SlopeAt& other) {
    moment += other.moment;
    weight += other.weight;
    rising += other.rising;
    falling += other.falling;
    below = std::max(below, other.below);
    above = std::min(above, other.above);
    return *this;
  }

  double moment = 0;          // sum of c (t - b) over the samples that count at b
  double weight = 0;          // their costs
  double rising = 0;          // the costs of those that count just above b, but not at it
  double falling = 0;         // just below it
  double below = -kInfinity;  // the breaks next to b
  double above = kInfinity;
};

class SquaredHingeLoss final : public LossOf<SquaredHingeLoss> {
 public:
  SquaredHingeLoss() : LossOf(LossKind::kSquaredHinge) {}

  bool is_margin_loss() const override { return true; }
  LossCurve curve() const override { return LossCurve::kPiecewiseQuadratic; }
  double largest_curvature() const override { return 2.0; }

  double Value(double target, double cost, double score) const override {
    const double slack = std::max(0.0, 1.0 - target * score);
    return cost * slack * slack;
  }

  double Slope(double target, double cost, double score) const override {
    return -2.0 * cost * target * std::max(0.0, 1.0 - target * score);
  }

  double Curvature(double target, double cost, double score) const override {
    return target * score < 1.0 ? 2.0 * cost : 0.0;
  }

  double Conjugate(double target, double cost, double slope) const override {
    const double a = -target * slope;  // >= 0
    if (a < 0 || (cost <= 0 && a > 0)) {
      return kInfinity;
    }
    return a > 0 ? -a + a * a / (4.0 * cost) : 0.0;
  }

  double Prox(double target, double cost, double point, double step) const override {
    return target * point >= 1 ? point
                               : (point + 2.0 * step * cost * target) / (1.0 + 2.0 * step * cost);
  }

  Interval DualBox(double target, double cost) const override {
    if (cost <= 0) {
      return {0.0, 0.0};
    }
    return target > 0 ? Interval{0.0, kInfinity} : Interval{-kInfinity, 0.0};
  }

  // Newton's method on the slope, which is piecewise linear and never falls: a step that stays
  // within its piece ends at the root. Every fourth step halves the bracket, so that it always
  // ends.
  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override {
    const auto add_breaks = [&](Index begin, Index end, BreakRange& sum) {
      for (Index i = begin; i < end; ++i) {
        if (costs(i) > 0) {
          const double at = targets(i) - scores(i);
          sum.positive = targets(i) > 0 ? std::max(sum.positive, at) : sum.positive;
          sum.negative = targets(i) > 0 ? sum.negative : std::min(sum.negative, at);
          sum.cost += costs(i);
          sum.moment += costs(i) * at;
        }
      }
    };
    MERCER_ASSIGN_OR_RETURN(
        const BreakRange breaks,
        SumOverRows(targets.size(), kRowBlock, BreakRange(), context, add_breaks));
    if (breaks.positive <= breaks.negative) {
      return MakeBiasInterval(breaks.positive, breaks.negative);
    }
    double low = breaks.negative;
    double high = breaks.positive;
    if (!std::isfinite(low) || !std::isfinite(high)) {
      return MakeBiasInterval(low, high);  // of scores out of range no finite bias is the best
    }
    double bias = breaks.moment / breaks.cost;  // where every sample counted, it would be the root
    for (int trial = 1;; ++trial) {
      if (!(bias > low && bias < high) || trial % 4 == 0) {
        bias = 0.5 * low + 0.5 * high;
      }
      const auto add_slopes = [&](Index begin, Index end, SlopeAt& sum) {
        for (Index i = begin; i < end; ++i) {
          const double at = targets(i) - scores(i);
          const bool counts = targets(i) > 0 ? at > bias : at < bias;
          const double cost = counts ? costs(i) : 0.0;
          sum.moment += cost * (at - bias);
          sum.weight += cost;
          sum.below = at < bias ? std::max(sum.below, at) : sum.below;
          sum.above = at > bias ? std::min(sum.above, at) : sum.above;
          if (at == bias) {
            (targets(i) > 0 ? sum.falling : sum.rising) += costs(i);
          }
        }
      };
      MERCER_ASSIGN_OR_RETURN(const SlopeAt slope, SumOverRows(targets.size(), kRowBlock, SlopeAt(),
                                                               context, add_slopes));
      const bool up = slope.moment > 0;
      const double weight = slope.weight + (up ? slope.rising : slope.falling);
      const double root = weight > 0 ? bias + slope.moment / weight : bias;
      if (root == bias || (up ? root <= slope.above : root >= slope.below)) {
        return BiasInterval{root, root, root};
      }
      (up ? low : high) = bias;
      if (!(std::nextafter(low, high) < high)) {  // rounding: no number lies between
        return BiasInterval{bias, bias, bias};
      }
      bias = root;
    }
  }
};

}  // namespace

LossFormula losses::SquaredHinge() {
  return {.name = "squared_hinge", .formula = "max(0, 1 - y f)^2", .make = SquaredHingeLoss::Make};
}

}  // namespace mercer
