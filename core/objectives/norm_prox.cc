// The proximal operator of |.|_q of a vector: docs/mathematics/infinite_features.md, section 9.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/objectives/block_penalty.h"

namespace mercer {
namespace {

constexpr int kMaxInnerSteps = 200;
constexpr int kMaxRootSteps = 300;

// The root u in [0, a] of u + kappa u^(q-1) = a, a > 0, by Newton's method from the right, where
// the function is convex: steps decrease until rounding stops them. kappa is given by its
// logarithm, since it may be beyond the range of doubles.
double InnerRoot(double a, double log_kappa, double q) {
  if (q >= 2) {
    double u = std::min(a, std::exp((std::log(a) - log_kappa) / (q - 1)));
    for (int step = 0; step < kMaxInnerSteps && u > 0; ++step) {
      const double power = std::exp(log_kappa + (q - 1) * std::log(u));
      const double next = u - (u + power - a) / (1 + (q - 1) * power / u);
      if (!(next < u)) {
        break;
      }
      u = next;
    }
    return u;
  }
  // For q < 2 the equation is solved in s = u^(q-1), in which it is convex:
  // s^(1/(q-1)) + kappa s = a.
  const double inverse = 1 / (q - 1);
  double s = std::min(std::pow(a, q - 1), std::exp(std::log(a) - log_kappa));
  const double kappa = std::exp(log_kappa);
  for (int step = 0; step < kMaxInnerSteps && s > 0; ++step) {
    const double power = std::pow(s, inverse);
    const double next = s - (power + kappa * s - a) / (inverse * power / s + kappa);
    if (!(next < s)) {
      break;
    }
    s = next;
  }
  return std::pow(s, inverse);
}

Vector InnerRoots(const Vector& a, double log_kappa, double q) {
  return a.unaryExpr(
      [&](double value) { return value > 0 ? InnerRoot(value, log_kappa, q) : 0.0; });
}

// A zero of an increasing function between `low`, where it is <= 0, and `high`, where it is >= 0:
// the secant with halved weights of ends that stay (the Illinois rule), and bisection now and then.
double BracketedRoot(double low, double high, const std::function<double(double)>& function) {
  double at_low = function(low);
  double at_high = function(high);
  double x = low;
  for (int step = 0; step < kMaxRootSteps && high - low > 1e-15 * std::abs(high); ++step) {
    x = high - at_high * (high - low) / (at_high - at_low);
    if (step % 8 == 7 || !(x > low && x < high)) {
      x = 0.5 * (low + high);
    }
    const double value = function(x);
    if (value == 0 || x == low || x == high) {
      break;
    }
    if (value < 0) {
      low = x;
      at_low = value;
      at_high *= 0.5;
    } else {
      high = x;
      at_high = value;
      at_low *= 0.5;
    }
  }
  return x;
}

// The case q = infinity: v minus its projection onto the l1 ball of radius `step`, which cuts
// entries above a common level down to it.
Vector ProxOfMaximum(const ConstVectorRef& v, double step) {
  std::vector<double> sorted(v.data(), v.data() + v.size());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0;
  double level = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double candidate = (sum - step) / static_cast<double>(i + 1);
    if (candidate < sorted[i]) {
      level = candidate;
    }
  }
  return v.cwiseMin(std::max(0.0, level));
}

}  // namespace

double ConjugateExponent(double q) {
  if (std::isinf(q)) {
    return 1;
  }
  return q == 1 ? kInfinity : q / (q - 1);
}

double VectorNorm(const ConstVectorRef& v, double q) {
  const double largest = v.size() == 0 ? 0.0 : v.cwiseAbs().maxCoeff();
  if (!(largest > 0) || !std::isfinite(largest) || std::isinf(q)) {
    return largest;
  }
  const Eigen::ArrayXd ratios = v.array().abs() / largest;
  if (q == 1) {
    return largest * ratios.sum();
  }
  if (q == 2) {
    return largest * std::sqrt(ratios.square().sum());
  }
  return largest * std::pow(ratios.pow(q).sum(), 1 / q);
}

Vector ProxOfNorm(const ConstVectorRef& v, double step, double q) {
  if (step <= 0) {
    return v;
  }
  if (q == 1 || v.size() == 1) {
    return (v.array() - step).max(0.0);
  }
  if (!(VectorNorm(v, ConjugateExponent(q)) > step)) {
    return Vector::Zero(v.size());
  }
  if (std::isinf(q)) {
    return ProxOfMaximum(v, step);
  }
  if (q == 2) {
    return (1 - step / VectorNorm(v, 2)) * v;
  }
  // The conditions of optimality: u + kappa u^(q-1) = v in every entry, with kappa such that
  // |v - u|_q' = step; |v - u| increases with kappa, so that a bracketed search finds it.
  const double scale = v.maxCoeff();
  const Vector a = v / scale;
  const double goal = std::log(step / scale);
  const auto excess = [&](double log_kappa) {
    return std::log(VectorNorm(a - InnerRoots(a, log_kappa, q), ConjugateExponent(q))) - goal;
  };
  // A lower end of the bracket: kappa |u|_q^(q-1) = step, and u <= a.
  const double low = goal - (q - 1) * std::log(VectorNorm(a, q));
  double width = 1;
  while (excess(low + width) < 0 && width < 1e6) {
    width *= 2;
  }
  return scale * InnerRoots(a, BracketedRoot(low, low + width, excess), q);
}

}  // namespace mercer
