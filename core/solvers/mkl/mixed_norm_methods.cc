#include "core/solvers/mkl/mixed_norm_methods.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mercer {
namespace {

constexpr int64_t kStallsToHalve = 3;
constexpr double kLeastPower = 0.5;
constexpr double kShareOfGap = 0.25;  // of the whole problem, to which inner weights are found
constexpr int64_t kMaxInnerSteps = 50;

absl::Status NotMethodState() {
  return absl::InvalidArgumentError("not a state of the method of weights");
}

}  // namespace

ClosedFormMethod::ClosedFormMethod(const MixedNorm& norm, double power) : norm_(norm) {
  state_.power = power;
}

Vector ClosedFormMethod::Next(const SolvedMachine& machine, double /*target*/) {
  const double gap = machine.bounds.primal - machine.bounds.dual;
  if (gap < state_.least_gap) {
    state_.least_gap = gap;
    state_.stalled = 0;
  } else if (++state_.stalled >= kStallsToHalve) {
    state_.power = std::max(kLeastPower, 0.5 * state_.power);
    state_.stalled = 0;
  }
  const MixedWeights parts = norm_.Split(machine.weights);
  return norm_.Combined(norm_.Multiplied(parts, machine.energies, state_.power),
                        norm_.SharesOf(parts, machine.energies));
}

absl::Status ClosedFormMethod::Load(ByteReader& reader) {
  State state;
  if (!ReadFields(reader, state)) {
    return NotMethodState();
  }
  state_ = state;
  return absl::OkStatus();
}

MirrorDescentMethod::MirrorDescentMethod(const MixedNorm& norm, double kappa, bool alternating)
    : norm_(norm), kappa_(kappa), alternating_(alternating) {
  const Vector sizes = norm.SumsOf(Vector::Ones(NumKernels()));
  log_size_ = std::log(sizes.maxCoeff());
}

Vector MirrorDescentMethod::Next(const SolvedMachine& machine, double target) {
  const MixedWeights parts = norm_.Split(machine.weights);
  if (state_.logarithms.size() == 0) {
    state_.logarithms = parts.inner.cwiseMax(1e-300).array().log();
  }
  if (alternating_ && !IsInnerDone(machine, parts, target)) {
    StepLogarithms(parts, machine.energies);
    return norm_.Combined(state_.logarithms.array().exp().matrix(), parts.outer);
  }
  if (alternating_) {
    state_.steps = 0;
    state_.upper = kInfinity;
    state_.lower = -kInfinity;
  } else {
    StepLogarithms(parts, machine.energies);
  }
  return norm_.Combined(state_.logarithms.array().exp().matrix(),
                        norm_.SharesOf(parts, machine.energies));
}

// With fixed outer weights the optimum of the machine is an upper bound of the optimum over inner
// weights, and linear(dual) - 1/2 sum_j M_j / outer(j) a lower one.
bool MirrorDescentMethod::IsInnerDone(const SolvedMachine& machine, const MixedWeights& parts,
                                      double target) {
  const Vector largest = norm_.LargestOf(machine.energies);
  state_.upper = std::min(state_.upper, machine.upper);
  state_.lower =
      std::max(state_.lower, machine.linear - 0.5 * largest.cwiseQuotient(parts.outer).sum());
  const double enough = kShareOfGap * std::max(machine.best_gap, target * machine.bounds.primal);
  return log_size_ == 0 || state_.upper - state_.lower <= enough || state_.steps >= kMaxInnerSteps;
}

void MirrorDescentMethod::StepLogarithms(const MixedWeights& parts, const Vector& energies) {
  Vector slopes = energies.cwiseMax(0.0);
  for (Index k = 0; k < slopes.size(); ++k) {
    slopes(k) /= parts.outer(norm_.GroupOf(k));
  }
  const double largest = slopes.maxCoeff();
  if (log_size_ == 0 || !(largest > 0)) {
    return;
  }
  ++state_.steps;
  const double step = kappa_ * std::sqrt(log_size_ / static_cast<double>(state_.steps));
  state_.logarithms += step / largest * slopes;
  // The largest of a group becomes 0 before sums are taken, which then are at least 1.
  Vector shift = Vector::Constant(norm_.groups().num_groups, -kInfinity);
  for (Index k = 0; k < slopes.size(); ++k) {
    double& of_group = shift(norm_.GroupOf(k));
    of_group = std::max(of_group, state_.logarithms(k));
  }
  for (Index k = 0; k < slopes.size(); ++k) {
    state_.logarithms(k) -= shift(norm_.GroupOf(k));
  }
  const Vector sums = norm_.SumsOf(state_.logarithms.array().exp().matrix());
  for (Index k = 0; k < slopes.size(); ++k) {
    state_.logarithms(k) -= std::log(sums(norm_.GroupOf(k)));
  }
}

absl::Status MirrorDescentMethod::Load(ByteReader& reader) {
  State state;
  if (!ReadFields(reader, state, NumKernels())) {
    return NotMethodState();
  }
  state_ = std::move(state);
  return absl::OkStatus();
}

}  // namespace mercer
