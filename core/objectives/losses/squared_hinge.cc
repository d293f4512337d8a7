// max(0, 1 - y f)^2, y in {-1, +1}.
#include <algorithm>
#include <vector>

#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/bias_search.h"
#include "core/objectives/loss.h"
#include "core/objectives/loss_loops.h"

namespace mercer {
namespace {

// A point t = y - score at which a sample begins or ceases to count: it does while b is below t
// (y = +1) or above t (y = -1), and its part of the slope is then 2 c (b - t).
struct BiasBreak {
  double at;
  double cost;
  bool positive;
};

// Half the slope at b is weight b - moment, over the samples that count just below `b`.
struct SlopeAt {
  double weight = 0;
  double moment = 0;
};

SlopeAt SlopeBelow(const std::vector<BiasBreak>& breaks, double b) {
  SlopeAt slope;
  for (const BiasBreak& sample : breaks) {
    if (sample.positive ? sample.at >= b : sample.at < b) {
      slope.weight += sample.cost;
      slope.moment += sample.cost * (sample.at - b);
    }
  }
  return slope;
}

class SquaredHingeLoss final : public Loss {
 public:
  SquaredHingeLoss() : Loss(LossKind::kSquaredHinge) {}

  bool is_margin_loss() const override { return true; }
  LossCurve curve() const override { return LossCurve::kPiecewiseQuadratic; }
  double largest_curvature() const override { return 2.0; }
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

double SquaredHingeLoss::Value(double target, double cost, double score) const {
  const double slack = std::max(0.0, 1.0 - target * score);
  return cost * slack * slack;
}

double SquaredHingeLoss::Slope(double target, double cost, double score) const {
  return -2.0 * cost * target * std::max(0.0, 1.0 - target * score);
}

double SquaredHingeLoss::Curvature(double target, double cost, double score) const {
  return target * score < 1.0 ? 2.0 * cost : 0.0;
}

double SquaredHingeLoss::Conjugate(double target, double cost, double slope) const {
  const double a = -target * slope;  // >= 0
  if (a < 0 || (cost <= 0 && a > 0)) {
    return kInfinity;
  }
  return a > 0 ? -a + a * a / (4.0 * cost) : 0.0;
}

double SquaredHingeLoss::Prox(double target, double cost, double point, double step) const {
  return target * point >= 1 ? point
                             : (point + 2.0 * step * cost * target) / (1.0 + 2.0 * step * cost);
}

Interval SquaredHingeLoss::DualBox(double target, double cost) const {
  if (cost <= 0) {
    return {0.0, 0.0};
  }
  return target > 0 ? Interval{0.0, kInfinity} : Interval{-kInfinity, 0.0};
}

double SquaredHingeLoss::ValueAndSlopes(ConstVectorRef targets, ConstVectorRef costs,
                                        ConstVectorRef scores, VectorRef slopes) const {
  return LoopOfValueAndSlopes(*this, targets, costs, scores, slopes);
}

void SquaredHingeLoss::Curvatures(ConstVectorRef targets, ConstVectorRef costs,
                                  ConstVectorRef scores, VectorRef curvatures) const {
  LoopOfCurvatures(*this, targets, costs, scores, curvatures);
}

absl::StatusOr<BiasInterval> SquaredHingeLoss::ExactBias(ConstVectorRef targets,
                                                         ConstVectorRef costs,
                                                         ConstVectorRef scores,
                                                         const RunContext& context) const {
  std::vector<BiasBreak> breaks;
  double low = -kInfinity;  // every positive sample is free of loss from here up
  double high = kInfinity;  // every negative one from here down
  breaks.reserve(static_cast<size_t>(targets.size()));
  PacedCheck check(context);
  for (Index i = 0; i < targets.size(); ++i) {
    MERCER_RETURN_IF_ERROR(check.After(1));
    if (costs(i) > 0) {
      const double at = targets(i) - scores(i);
      breaks.push_back({at, costs(i), targets(i) > 0});
      (targets(i) > 0 ? low : high) = targets(i) > 0 ? std::max(low, at) : std::min(high, at);
    }
  }
  if (low <= high) {
    return MakeBiasInterval(low, high);
  }
  const auto less = [](const BiasBreak& a, const BiasBreak& b) { return a.at < b.at; };
  MERCER_RETURN_IF_ERROR(SortPolled(breaks, less, context));
  // The first break at which the slope -2 (moment about the break) is >= 0; the root lies in the
  // piece below it. At `low` all samples that count are negative ones, so such a break exists.
  size_t first = 0;
  size_t last = breaks.size() - 1;
  while (first < last) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const size_t middle = first + (last - first) / 2;
    if (SlopeBelow(breaks, breaks[middle].at).moment <= 0) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  const SlopeAt slope = SlopeBelow(breaks, breaks[first].at);
  const double root = breaks[first].at + (slope.weight > 0 ? slope.moment / slope.weight : 0.0);
  return BiasInterval{root, root, root};
}

}  // namespace

LossFormula losses::SquaredHinge() {
  return {.name = "squared_hinge",
          .formula = "max(0, 1 - y f)^2",
          .make = [](double /*epsilon*/) -> absl::StatusOr<std::unique_ptr<Loss>> {
            return std::make_unique<SquaredHingeLoss>();
          }};
}

}  // namespace mercer
