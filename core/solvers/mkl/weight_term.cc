#include "core/solvers/mkl/weight_term.h"

#include <algorithm>
#include <cmath>

#include "core/objectives/lp_weights.h"

namespace mercer {

double WeightTerm::NormAndPowers(ConstVectorRef energies, Vector& powers) const {
  const double largest = energies.size() > 0 ? energies.maxCoeff() : 0.0;
  if (!(largest > 0)) {
    powers = Vector::Zero(energies.size());
    return 0;
  }
  const Eigen::ArrayXd ratios = energies.array() / largest;
  powers = ratios.pow(q_minus_one_);
  const double q = 1.0 + q_minus_one_;
  const double sum = (ratios * powers.array()).sum();
  // The denominator is |ratios|_q^(q-1) = (sum)^(1/p), and not a power of the norm: near p = 1 that
  // is 1 but for its last digits.
  powers /= std::pow(sum, 1.0 / p_);
  return largest * std::pow(sum, 1.0 / q);
}

double WeightTerm::DualCost(ConstVectorRef energies) const {
  Vector powers;
  const double norm = NormAndPowers(energies, powers);
  return constrained() ? 0.5 * norm : norm * norm / (8.0 * penalty_);
}

Vector WeightTerm::Weights(ConstVectorRef energies, ConstVectorRef current) const {
  Vector powers;
  const double norm = NormAndPowers(energies, powers);
  if (!(norm > 0)) {
    return current;
  }
  powers /= LpNorm(powers, p_);  // which is 1 but for rounding, the larger the nearer p is to 1
  return constrained() ? powers : Vector(norm / (2.0 * penalty_) * powers);
}

double WeightTerm::PrimalCost(ConstVectorRef weights, ConstVectorRef energies) const {
  const double half = HalfSquaredBlockNorm(weights.array() * energies.array().sqrt(), p_);
  return constrained() ? half : 1.5 * std::cbrt(penalty_) * std::pow(half, 2.0 / 3.0);
}

absl::StatusOr<DualRay> WeightTerm::MaximizeOnRay(const Loss& loss, ConstVectorRef targets,
                                                  ConstVectorRef costs, ConstVectorRef dual,
                                                  ConstVectorRef energies,
                                                  const RunContext& context) const {
  Vector powers;
  const double norm = NormAndPowers(energies, powers);
  if (constrained()) {
    return MaximizeOnDualRay(loss, targets, costs, dual, norm, context);
  }
  // The penalised form on the ray: the maximum of linear t - norm^2 t^4 / (8 penalty) over
  // 0 <= t <= largest.
  MERCER_ASSIGN_OR_RETURN(const double linear, loss.DualValue(targets, costs, dual, context));
  const double largest = LargestDualScale(loss, targets, costs, dual);
  DualRay ray;
  if (linear > 0) {
    const double scale =
        norm > 0 ? std::min(std::cbrt(2.0 * penalty_ * linear / norm / norm), largest) : largest;
    ray = {scale, scale * linear - std::pow(scale, 4) * norm * norm / (8.0 * penalty_)};
  }
  return ray;
}

// The first and second derivative of the dual objective along the curve. With x = s / N, N = |s|_q,
// e = x^(q-1):  dN = e'ds,  d2N = (q - 1) / N (sum x^(q-2) ds^2 - (e'ds)^2) + e'd2s.
WeightTerm::Slope WeightTerm::SlopeAt(const EnergyCurve& curve, double step) const {
  const Vector energies =
      (curve.energies + 2.0 * step * curve.slopes + step * step * curve.curvatures).cwiseMax(0.0);
  Vector powers;
  const double norm = NormAndPowers(energies, powers);
  if (!(norm > 0)) {
    return {curve.linear, 0};
  }
  double first = 0;
  double bend = 0;
  double square = 0;
  for (Index k = 0; k < energies.size(); ++k) {
    const double rate = 2.0 * (curve.slopes(k) + step * curve.curvatures(k));
    first += powers(k) * rate;
    bend += powers(k) * 2.0 * curve.curvatures(k);
    // x^(q-2) ds^2 is formed without a negative power of x: near an energy of 0 its rate is as
    // small as its square root.
    square += energies(k) > 0 ? powers(k) * rate * (rate / (energies(k) / norm)) : 0.0;
  }
  const double second = q_minus_one_ / norm * std::max(0.0, square - first * first) + bend;
  if (constrained()) {
    return {curve.linear - 0.5 * first, -0.5 * second};
  }
  return {curve.linear - norm * first / (4.0 * penalty_),
          -(first * first + norm * second) / (4.0 * penalty_)};
}

// The step from a dual whose energies are 0: they then grow with the square of the step, which has
// a closed form.
double WeightTerm::FirstStep(const EnergyCurve& curve) const {
  Vector powers;
  const double norm = NormAndPowers(curve.curvatures, powers);
  if (!(norm > 0)) {
    return kInfinity;
  }
  return constrained() ? curve.linear / norm
                       : std::cbrt(2.0 * penalty_ * curve.linear / norm / norm);
}

// The dual objective is concave along the curve: where its slope at the far end is not negative,
// the whole step is the best. Else the maximum is between, and is found by Newton's method for the
// zero of the slope, with a bisection wherever that leaves the bracket.
double WeightTerm::MaximizeOnCurve(const EnergyCurve& curve, double longest) const {
  constexpr double kSlopeShare = 1e-9;  // of the slope at 0: as good as the maximum
  constexpr int kMaxTrials = 100;
  if (!(curve.energies.maxCoeff() > 0)) {
    return curve.linear > 0 ? std::min(FirstStep(curve), longest) : 0.0;
  }
  Slope slope = SlopeAt(curve, 0);
  const double initial = slope.first;
  if (!(initial > 0) || !(longest > 0)) {
    return 0;
  }
  if (SlopeAt(curve, longest).first >= 0) {
    return longest;
  }
  double low = 0;
  double high = longest;
  double step = 0;
  for (int trial = 0; trial < kMaxTrials; ++trial) {
    double next = step - slope.first / slope.second;
    if (!(next > low && next < high)) {
      next = 0.5 * (low + high);
    }
    if (next == step || !(next > low && next < high)) {
      break;
    }
    step = next;
    slope = SlopeAt(curve, step);
    (slope.first > 0 ? low : high) = step;
    if (std::abs(slope.first) <= kSlopeShare * initial) {
      return step;
    }
  }
  return low;  // the objective grows up to here
}

}  // namespace mercer
