#include "core/solvers/svm/svm_newton_model.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/row_sums.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr Index kCachedRows = 512;  // stay in the nearest cache; they divide a block

}  // namespace

// The unit of scores is 1 for classes, whose margins are 1, and the deviation of the targets for
// regression.
absl::StatusOr<SvmDualBox> MakeSvmDualBox(const Loss& loss, const Vector& targets,
                                          const Vector& costs) {
  const Index n = targets.size();
  if (n == 0 || costs.size() != n) {
    return absl::InvalidArgumentError("targets and costs must have one entry per sample");
  }
  if (!loss.is_piecewise_linear()) {
    return absl::InvalidArgumentError("the loss must be the hinge or the epsilon-insensitive loss");
  }
  if (!targets.allFinite() || !costs.allFinite() || costs.minCoeff() < 0) {
    return absl::InvalidArgumentError("targets must be finite, costs finite and >= 0");
  }
  if (loss.is_margin_loss() && !(targets.array().abs() == 1.0).all()) {
    return absl::InvalidArgumentError("labels must be -1 or +1");
  }
  SvmDualBox box;
  box.targets = targets;
  box.epsilon = loss.epsilon();
  box.lower.resize(n);
  box.upper.resize(n);
  for (Index i = 0; i < n; ++i) {
    const Interval interval = loss.DualBox(targets(i), costs(i));
    box.lower(i) = interval.low;
    box.upper(i) = interval.high;
  }
  if (!(box.lower.minCoeff() < 0 && box.upper.maxCoeff() > 0)) {
    return absl::InvalidArgumentError("samples of positive cost on both sides are needed");
  }
  if (!loss.is_margin_loss()) {
    const auto rows = static_cast<double>(n);
    const Vector mean = Vector::Constant(n, SumOfRows(targets) / rows);
    const double deviation = std::sqrt(SquaredDistanceOfRows(targets, mean) / rows);
    box.score_unit = deviation > 0 ? deviation : 1.0;
  }
  return box;
}

// clip(soft(center + step residual, step epsilon), lower, upper), as the header derives.
double ProximalModel::Maximizer(Index i, double residual) const {
  double point = center(i) + step * residual;
  if (box.epsilon > 0) {
    const double flat = step * box.epsilon;
    point = point > flat ? point - flat : (point < -flat ? point + flat : 0.0);
  }
  return std::min(std::max(point, box.lower(i)), box.upper(i));
}

// The same for the rows from `begin` on whose scores are given, all at once.
void ProximalModel::Maximize(Index begin, ConstVectorRef scores, double bias,
                             VectorRef dual) const {
  const Index count = scores.size();
  dual.array() = center.segment(begin, count).array() +
                 step * ((box.targets.segment(begin, count) - scores).array() - bias);
  if (box.epsilon > 0) {
    const double flat = step * box.epsilon;
    dual.array() =
        (dual.array() > flat)
            .select(dual.array() - flat, (dual.array() < -flat).select(dual.array() + flat, 0.0));
  }
  dual = dual.cwiseMax(box.lower.segment(begin, count)).cwiseMin(box.upper.segment(begin, count));
}

// A block of rows takes tens of microseconds.
template <typename Partial, typename AddRows>
Partial ProximalModel::SumRows(const Partial& zero, const AddRows& add) const {
  const Index rows = box.targets.size();
  return run == nullptr ? SumOverRows(rows, kRowBlock, zero, add)
                        : SumOverRows(rows, kRowBlock, zero, *run, add).value_or(zero);
}

void ProximalModel::DualPoint(const Vector& scores, double bias, Vector& dual) const {
  const Index rows = box.targets.size();
  dual.resize(rows);
  const auto write = [&](Index begin, Index end) {
    Maximize(begin, scores.segment(begin, end - begin), bias, dual.segment(begin, end - begin));
  };
  if (run != nullptr) {
    run->parallel().ForBlocks(rows, kRowBlock, write);
  } else {
    write(0, rows);
  }
}

// Pieces of a block are formed in small buffers, so that a trial of the line search reads scores
// and changes once and writes nothing.
double ProximalModel::DualAlong(const Vector& scores, double bias, const Vector& change,
                                double t) const {
  return SumRows(0.0, [&](Index begin, Index end, double& sum) {
    Vector moved(kCachedRows);
    Vector dual(kCachedRows);
    for (Index first = begin; first < end; first += kCachedRows) {
      const Index count = std::min(kCachedRows, end - first);
      moved.head(count) = scores.segment(first, count) + t * change.segment(first, count);
      Maximize(first, moved.head(count), bias, dual.head(count));
      sum += change.segment(first, count).dot(dual.head(count));
    }
  });
}

Eigen::Array3d ProximalModel::SumDual(const Vector& scores, double bias) const {
  return SumRows(Eigen::Array3d(0, 0, 0), [&](Index begin, Index end, Eigen::Array3d& parts) {
    Vector dual(kCachedRows);
    for (Index first = begin; first < end; first += kCachedRows) {
      const Index count = std::min(kCachedRows, end - first);
      Maximize(first, scores.segment(first, count), bias, dual.head(count));
      parts(0) += dual.head(count).sum();
      parts(1) += dual.head(count).lpNorm<1>();
      for (Index i = 0; i < count; ++i) {
        parts(2) += IsFree(first + i, dual(i)) ? 1 : 0;
      }
    }
  });
}

// The sum of the maximisers falls with the bias, by step for each free sample: a zero of a
// monotone, piecewise linear function. Newton's step sum / (step * free samples) is taken while it
// stays inside the bracket; a bisection every fourth time makes sure that the bracket shrinks; and
// as long as there is no bracket, strides that double look for one.
absl::StatusOr<double> ProximalModel::BalanceDual(const Vector& scores, double bias, Vector& dual,
                                                  const RunContext& context) const {
  double low = -kInfinity;
  double high = kInfinity;
  double stride = box.score_unit;
  for (int trial = 0; trial < 200; ++trial) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Eigen::Array3d parts = SumDual(scores, bias);
    const double sum = parts(0);
    const double num_free = parts(2);
    if (std::abs(sum) <= 1e-15 * parts(1)) {
      break;
    }
    (sum > 0 ? low : high) = bias;
    double next = num_free > 0 ? bias + sum / (step * num_free) : kInfinity;
    const bool bracketed = std::isfinite(low) && std::isfinite(high);
    if (!(next > low && next < high) || !std::isfinite(next) || (bracketed && trial % 4 == 3)) {
      next = bracketed ? 0.5 * (low + high) : bias + (sum > 0 ? stride : -stride);
      stride *= bracketed ? 1.0 : 2.0;
    }
    if (next == bias || (bracketed && high - low <= 1e-16 * std::abs(bias))) {
      break;
    }
    bias = next;
  }
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());  // the sums of a cancelled run are none
  DualPoint(scores, bias, dual);
  const double excess = SumOfRows(dual);
  const std::vector<Index> free = FreeSamples(scores, bias);
  for (const Index i : free) {
    dual(i) = std::min(std::max(dual(i) - excess / static_cast<double>(free.size()), box.lower(i)),
                       box.upper(i));
  }
  return bias;
}

std::vector<Index> ProximalModel::FreeSamples(const Vector& scores, double bias) const {
  std::vector<Index> free;
  for (Index i = 0; i < box.targets.size(); ++i) {
    if (IsFree(i, Maximizer(i, box.targets(i) - scores(i) - bias))) {
      free.push_back(i);
    }
  }
  return free;
}

double ProximalRay::Slope(double t) const {
  Vector dual;
  model.DualPoint(scores + t * total_change, bias, dual);
  dual = eta + t * direction - dual;
  return DotOfRows(total_change, dual);
}

absl::StatusOr<double> ProximalRay::Minimize(const RunContext& context) const {
  return MinimizeOnRay([this](double t) { return Slope(t); }, context);
}

namespace {

// First the end of the bracket is doubled while the slope is negative there. Then regula falsi,
// which alone may creep from one end for ever: every third trial is a bisection. The left end, at
// which the slope is still negative, is lower than the start.
double FindMinimum(const std::function<double(double)>& slope_at) {
  const double initial = slope_at(0);
  if (!(initial < 0)) {
    return 0;
  }
  double low = 0;
  double low_slope = initial;
  double high = 1;
  double high_slope = slope_at(high);
  while (high_slope < 0 && std::abs(high_slope) > 1e-2 * -initial && high < 64) {
    low = high;
    low_slope = high_slope;
    high *= 2;
    high_slope = slope_at(high);
  }
  if (std::abs(high_slope) <= 1e-2 * -initial || high_slope < 0) {
    return high;
  }
  for (int trials = 0; trials < 60; ++trials) {
    double t = (low * high_slope - high * low_slope) / (high_slope - low_slope);
    if (trials % 3 == 2 || !(t > low && t < high)) {
      t = 0.5 * (low + high);
    }
    const double slope = slope_at(t);
    if (std::abs(slope) <= 1e-2 * -initial) {
      return t;
    }
    if (slope < 0) {
      low = t;
      low_slope = slope;
    } else {
      high = t;
      high_slope = slope;
    }
  }
  return low;
}

}  // namespace

absl::StatusOr<double> MinimizeOnRay(const std::function<double(double)>& slope,
                                     const RunContext& context) {
  // Each trial may be a pass over millions of rows; a slope of 0 is the last.
  const double length = FindMinimum([&](double t) { return context.cancelled() ? 0.0 : slope(t); });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return length;
}

}  // namespace mercer
