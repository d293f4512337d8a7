// log(1 + exp(-y f)), y in {-1, +1}.
#include <algorithm>
#include <cmath>

#include "core/base/process/row_sums.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/loss_of.h"

namespace mercer {
namespace {

// 1 / (1 + exp(-x)), accurate for both signs.
double Sigmoid(double x) {
  return x >= 0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x));
}

// x log x with its limit 0 at 0.
double EntropyTerm(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// A root of an increasing function inside [low, high] to the last bits: Newton's step when it stays
// inside the bracket and the bracket shrinks, else bisection. `evaluate` sets value and derivative.
template <typename Function>
double IncreasingRoot(double low, double high, const Function& evaluate) {
  double x = low + 0.5 * (high - low);
  for (int trial = 0; trial < 200; ++trial) {
    double value = 0;
    double derivative = 0;
    evaluate(x, value, derivative);
    (value > 0 ? high : low) = x;
    if (value == 0) {
      return x;
    }
    double next = derivative > 0 ? x - value / derivative : low;
    if (!(next > low && next < high) || trial % 4 == 3) {
      next = low + 0.5 * (high - low);
    }
    if (next == x || !(next > low && next < high)) {
      return x;
    }
    x = next;
  }
  return x;
}

class LogisticLoss final : public LossOf<LogisticLoss> {
 public:
  LogisticLoss() : LossOf(LossKind::kLogistic) {}

  bool is_margin_loss() const override { return true; }
  LossCurve curve() const override { return LossCurve::kSmooth; }
  double largest_curvature() const override { return 0.25; }

  double Value(double target, double cost, double score) const override {
    const double margin = target * score;
    return cost *
           (margin >= 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
  }

  double Slope(double target, double cost, double score) const override {
    return -cost * target * Sigmoid(-target * score);
  }

  double Curvature(double target, double cost, double score) const override {
    return cost * Sigmoid(target * score) * Sigmoid(-target * score);
  }

  double Conjugate(double target, double cost, double slope) const override {
    const double a = -target * slope;  // in [0, cost]
    if (!(a >= 0 && a <= cost)) {
      return kInfinity;
    }
    return cost > 0 ? cost * (EntropyTerm(a / cost) + EntropyTerm((cost - a) / cost)) : 0.0;
  }

  double Prox(double target, double cost, double point, double step) const override {
    // x - point + step slope(x) = 0, and the slope lies between 0 and -cost target.
    const double end = point + step * cost * target;
    return IncreasingRoot(std::min(point, end), std::max(point, end),
                          [&](double x, double& value, double& derivative) {
                            value = x - point + step * Slope(target, cost, x);
                            derivative = 1.0 + step * Curvature(target, cost, x);
                          });
  }

  Interval DualBox(double target, double cost) const override {
    return target > 0 ? Interval{0.0, cost} : Interval{-cost, 0.0};
  }

  absl::StatusOr<BiasInterval> ExactBias(ConstVectorRef targets, ConstVectorRef costs,
                                         ConstVectorRef scores,
                                         const RunContext& context) const override {
    double smallest = kInfinity;
    double largest = -kInfinity;
    for (Index i = 0; i < targets.size(); ++i) {
      if (costs(i) > 0) {
        smallest = std::min(smallest, scores(i));
        largest = std::max(largest, scores(i));
      }
    }
    const Eigen::Array2d of_labels = SumOverRows(targets.size(), kRowBlock, Eigen::Array2d(0, 0),
                                                 [&](Index begin, Index end, Eigen::Array2d& sum) {
                                                   for (Index i = begin; i < end; ++i) {
                                                     sum(targets(i) > 0 ? 0 : 1) += costs(i);
                                                   }
                                                 });
    const double positive = of_labels(0);
    const double negative = of_labels(1);
    if (positive == 0 && negative == 0) {
      return BiasInterval{-kInfinity, kInfinity, 0.0};
    }
    if (positive == 0 || negative == 0) {
      const double end = positive > 0 ? kInfinity : -kInfinity;
      return BiasInterval{end, end, end};
    }
    // With all scores equal to s the root is log(positive / negative) - s; the slope is increasing
    // in every score.
    const double odds = std::log(positive / negative);
    absl::Status status;
    const auto evaluate = [&](double b, double& value, double& derivative) {
      const absl::StatusOr<Eigen::Array2d> sums =
          SumOverRows(targets.size(), kRowBlock, Eigen::Array2d(0, 0), context,
                      [&](Index begin, Index end, Eigen::Array2d& sum) {
                        for (Index i = begin; i < end; ++i) {
                          sum(0) += Slope(targets(i), costs(i), scores(i) + b);
                          sum(1) += Curvature(targets(i), costs(i), scores(i) + b);
                        }
                      });
      status.Update(sums.status());
      value = sums.ok() ? (*sums)(0) : 0.0;  // 0 ends the search
      derivative = sums.ok() ? (*sums)(1) : 0.0;
    };
    const double root = IncreasingRoot(odds - largest - 1e-6, odds - smallest + 1e-6, evaluate);
    MERCER_RETURN_IF_ERROR(status);
    return BiasInterval{root, root, root};
  }
};

}  // namespace

LossFormula losses::Logistic() {
  return {.name = "logistic", .formula = "log(1 + exp(-y f))", .make = LogisticLoss::Make};
}

}  // namespace mercer
