#include "core/solvers/mkl/reduced_gradient.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mercer {
namespace {

constexpr double kGolden = 0.6180339887498949;
constexpr double kZeroWeight = 1e-12;
constexpr double kSection = 0.1;  // of the longest step
constexpr double kLeastSection = 1e-8;
constexpr double kLeastShare = 1e-8;  // of the gap of the whole

}  // namespace

Vector ReducedGradientMethod::Next(const SolvedMachine& machine, double /*target*/) {
  switch (state_.phase) {
    case Phase::kPoint:
      Accept(machine);
      return BeginSearch();
    case Phase::kExtension:
      if (machine.optimum < state_.optimum) {
        Accept(machine);
        state_.extended = true;
        return Extend() ? End() : BeginSearch();
      }
      state_.low = 0;
      state_.high = state_.longest;
      state_.best = {0, state_.optimum};
      return TryLower();
    case Phase::kLower:
      state_.lower.optimum = machine.optimum;
      break;
    case Phase::kUpper:
      state_.upper.optimum = machine.optimum;
      break;
  }
  if (machine.optimum < state_.best.optimum) {
    state_.best = state_.phase == Phase::kLower ? state_.lower : state_.upper;
    state_.best_energies = machine.energies;
  }
  return Section();
}

void ReducedGradientMethod::Accept(const SolvedMachine& machine) {
  state_.point = machine.weights;
  state_.optimum = machine.optimum;
  state_.energies = machine.energies;
}

// The reduced gradient at the point: nothing is changed where no weight may move.
Vector ReducedGradientMethod::BeginSearch() {
  Index mu = 0;
  state_.point.maxCoeff(&mu);
  state_.largest = mu;
  state_.extended = false;
  const Vector slopes = -0.5 * state_.energies;
  state_.direction = Vector::Zero(num_kernels_);
  double sum = 0;
  for (Index k = 0; k < num_kernels_; ++k) {
    const double reduced = slopes(k) - slopes(mu);
    if (k != mu && (state_.point(k) > 0 || reduced < 0)) {
      state_.direction(k) = -reduced;
      sum -= reduced;
    }
  }
  state_.direction(mu) = -sum;
  if (Extend()) {
    return End();
  }
  state_.phase = Phase::kPoint;
  return state_.point;
}

// Weights at 0 that the direction would lower are left out, and the weight that was the largest
// where the search began makes up for them, so that the direction goes on descending. False where
// the search is over, since that weight is 0 itself or no weight becomes smaller.
bool ReducedGradientMethod::Extend() {
  const auto mu = static_cast<Index>(state_.largest);
  if (state_.point(mu) <= kZeroWeight) {
    return false;
  }
  Vector& direction = state_.direction;
  double sum = 0;
  for (Index k = 0; k < num_kernels_; ++k) {
    if (state_.point(k) <= kZeroWeight && direction(k) < 0) {
      direction(k) = 0;
    }
    sum += k == mu ? 0.0 : direction(k);
  }
  direction(mu) = -sum;
  state_.longest = kInfinity;
  for (Index k = 0; k < num_kernels_; ++k) {
    if (direction(k) < 0) {
      state_.longest = std::min(state_.longest, -state_.point(k) / direction(k));
    }
  }
  return std::isfinite(state_.longest);
}

// The end of the longest step, where at least one weight is exactly 0.
Vector ReducedGradientMethod::End() {
  state_.phase = Phase::kExtension;
  Vector end = At(state_.longest);
  for (Index k = 0; k < num_kernels_; ++k) {
    if (state_.direction(k) < 0 && -state_.point(k) / state_.direction(k) <= state_.longest) {
      end(k) = 0;
    }
  }
  return end / end.sum();
}

Vector ReducedGradientMethod::At(double step) const {
  const Vector moved = (state_.point + step * state_.direction).cwiseMax(0.0);
  return moved / moved.sum();
}

Vector ReducedGradientMethod::TryLower() {
  state_.phase = Phase::kLower;
  state_.lower = {state_.high - kGolden * (state_.high - state_.low), kInfinity};
  state_.upper = {};
  return At(state_.lower.step);
}

Vector ReducedGradientMethod::TryUpper() {
  state_.phase = Phase::kUpper;
  state_.upper = {state_.low + kGolden * (state_.high - state_.low), kInfinity};
  return At(state_.upper.step);
}

// The bracket loses the part beyond the worse of its two trials; the other one stays. The optimum
// may be much nearer to the beginning than a share of the longest step.
Vector ReducedGradientMethod::Section() {
  if (state_.upper.optimum == kInfinity) {
    return TryUpper();
  }
  const bool keeps_low = state_.lower.optimum <= state_.upper.optimum;
  (keeps_low ? state_.high : state_.low) = keeps_low ? state_.upper.step : state_.lower.step;
  const double width = state_.best.step > 0 || state_.extended ? kSection : kLeastSection;
  if (state_.high - state_.low <= width * state_.longest) {
    return EndSearch();
  }
  if (keeps_low) {
    state_.upper = state_.lower;
    state_.phase = Phase::kLower;
    state_.lower = {state_.high - kGolden * (state_.high - state_.low), kInfinity};
    return At(state_.lower.step);
  }
  state_.lower = state_.upper;
  return TryUpper();
}

// A search that has moved by extensions alone is over at the last of them; one that has not moved
// at all asks for a more exact machine.
Vector ReducedGradientMethod::EndSearch() {
  if (!(state_.best.step > 0)) {
    if (state_.extended) {
      return BeginSearch();
    }
    state_.inner_gap_share = std::max(0.1 * state_.inner_gap_share, kLeastShare);
    state_.phase = Phase::kPoint;
    return state_.point;
  }
  state_.point = At(state_.best.step);
  state_.optimum = state_.best.optimum;
  state_.energies = state_.best_energies;
  return BeginSearch();
}

absl::Status ReducedGradientMethod::Load(ByteReader& reader) {
  State state;
  if (!ReadFields(reader, state, num_kernels_)) {
    return absl::InvalidArgumentError("not a state of the method of weights");
  }
  state_ = std::move(state);
  return absl::OkStatus();
}

}  // namespace mercer
