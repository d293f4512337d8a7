// The iterations of SmoSolver: working set selection, the step, shrinking, and the estimate of the
// gap between certificates. Formulas: docs/mathematics/svm.md, sections 1 and 2.
#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/solvers/svm/smo.h"
#include "core/solvers/svm/smo_loops.h"

namespace mercer {
namespace {

// Below this many active samples shrinking costs more than it saves.
constexpr Index kMinShrinkSize = 256;
// How many entries of columns are read between two looks at cancellation: about 5 ms of work.
constexpr int64_t kEntriesPerCheck = 4'000'000;
// A round on float columns reduces the violation at most by this factor before h is made exact
// again.
constexpr double kSingleRoundReduction = 1e-4;

}  // namespace

// One step on the pair (i, j): dual(i) += step, dual(j) -= step.
struct SmoSolver::Pair {
  Index i = 0;  // positions among the active samples
  Index j = 0;
  double violation = 0;  // score_i + h(j) + down_gain(j) > 0
  double curvature = 0;  // K_ii + K_jj - 2 K_ij
  double step = 0;
};

// Sets the costs of raising and lowering one dual variable besides the gradient: the slope of
// epsilon |dual| on the side to which it moves, or infinity where the box ends.
void SmoSolver::SetBounds(Index position) {
  const Index sample = state_.active[static_cast<size_t>(position)];
  const double value = state_.dual(sample);
  up_cost_(position) = value < upper_(sample) ? (value >= 0 ? epsilon_ : -epsilon_) : kInfinity;
  down_gain_(position) = value > lower_(sample) ? (value <= 0 ? -epsilon_ : epsilon_) : -kInfinity;
}

// How far the active samples are from optimal: max up - min down, which is at most 0 at a solution;
// -infinity when no pair can move.
double SmoSolver::Violation() const {
  double up = -kInfinity;
  double down = kInfinity;
  for (Index t = 0; t < state_.residual.size(); ++t) {
    up = std::max(up, -state_.residual(t) - up_cost_(t));
    down = std::min(down, -(state_.residual(t) + down_gain_(t)));
  }
  return up > -kInfinity && down < kInfinity ? up - down : -kInfinity;
}

double SmoSolver::KktTolerance() const {
  const bool replace = state_.not_psd && options_.kkt_tolerance <= 0;
  return replace ? 1e-3 * problem_.targets.lpNorm<Eigen::Infinity>() : options_.kkt_tolerance;
}

double SmoSolver::RoundTolerance() const {
  double tolerance = std::max(KktTolerance(), state_.precision);
  if (state_.single_precision) {
    tolerance = std::max(tolerance, kSingleRoundReduction * state_.round_violation);
  }
  return tolerance;
}

int64_t SmoSolver::EstimateInterval() const {
  return std::clamp<int64_t>(static_cast<int64_t>(state_.active.size()) / 4, 16, 200);
}

int64_t SmoSolver::ShrinkInterval() const {
  return std::min<int64_t>(int64_t{kernel_.size()}, 1000);
}

// Along the pair the dual objective grows by t violation - t^2/2 curvature, which is largest at
// violation / curvature: the step goes so far, or to the end of the room. A floor keeps rounding in
// K_ii + K_jj - 2 K_ij, near zero for samples that are nearly equal, from making steps of any
// length.
void SmoSolver::TakeStep(Pair& pair) {
  const Index sample_i = state_.active[static_cast<size_t>(pair.i)];
  const Index sample_j = state_.active[static_cast<size_t>(pair.j)];
  double& dual_i = state_.dual(sample_i);
  double& dual_j = state_.dual(sample_j);
  // A step ends where a variable meets its bound or, in regression, the kink of |dual| at zero:
  // behind it the objective has another slope, which the next choice of a pair takes into account.
  const double end_i = dual_i >= 0 ? upper_(sample_i) : 0.0;
  const double end_j = dual_j <= 0 ? lower_(sample_j) : 0.0;
  const double scale = active_diagonal_(pair.i) + active_diagonal_(pair.j);
  const double floor =
      (state_.single_precision ? smo::kSingleCurvatureFloor : smo::kCurvatureFloor) * scale;
  const double newton_step = pair.violation / std::max({pair.curvature, floor, 1e-300});
  const double room_i = end_i - dual_i;
  const double room_j = dual_j - end_j;
  pair.step = std::min({newton_step, room_i, room_j});
  dual_i = pair.step >= room_i ? end_i : dual_i + pair.step;
  dual_j = pair.step >= room_j ? end_j : dual_j - pair.step;
  state_.dual_value += pair.step * (pair.violation - 0.5 * pair.step * pair.curvature);
  if (pair.curvature < -1e-6 * scale) {
    state_.not_psd = true;
  }
  SetBounds(pair.i);
  SetBounds(pair.j);
}

absl::Status SmoSolver::IterateWithinRound(int64_t count, RunContext& context, bool* round_over) {
  while (count > 0 && !*round_over) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const int64_t size = std::max<int64_t>(1, state_.residual.size());
    const int64_t chunk = std::min(count, std::max<int64_t>(1, kEntriesPerCheck / size));
    if (state_.single_precision) {
      MERCER_RETURN_IF_ERROR(
          IterateOn(columns_->singles, active_diagonal_single_.data(), chunk, context, round_over));
    } else {
      MERCER_RETURN_IF_ERROR(
          IterateOn(columns_->doubles, active_diagonal_.data(), chunk, context, round_over));
    }
    count -= chunk;
  }
  return absl::OkStatus();
}

// Each iteration raises the variable that gains most by it, and lowers the one with which a step
// would gain most in objective, violation^2 / curvature (Fan, Chen and Lin, WSS 2).
template <typename T>
absl::Status SmoSolver::IterateOn(ColumnCache<T>& columns, const T* diagonal, int64_t count,
                                  RunContext& context, bool* round_over) {
  const Index size = state_.residual.size();
  const double tolerance = RoundTolerance();
  double* h = state_.residual.data();
  const smo::DownTerms<T> terms{h, down_gain_.data(), diagonal, size};
  smo::UpChoice up = smo::ChooseUp(h, up_cost_.data(), size);
  for (int64_t k = 0; k < count; ++k) {
    if (up.position < 0) {
      *round_over = true;
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(const T* column_i, columns.Get(up.position, context));
    const double diagonal_i = static_cast<double>(diagonal[up.position]);
    const smo::DownChoice down = smo::ChooseDown(terms, column_i, diagonal_i, up.score);
    if (down.position < 0 || down.violation <= tolerance) {
      *round_over = true;
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(const T* column_j, columns.Get(down.position, context));
    Pair pair{.i = up.position, .j = down.position};
    pair.violation = up.score + (h[down.position] + down_gain_(down.position));
    pair.curvature = diagonal_i + static_cast<double>(diagonal[down.position]) -
                     2.0 * static_cast<double>(column_i[down.position]);
    TakeStep(pair);
    up = smo::UpdateAndChooseUp(h, up_cost_.data(), column_i, column_j, pair.step, size);
    ++state_.iterations;
  }
  return absl::OkStatus();
}

// Sets aside variables that sit at a bound (or at the kink) and whose gradient keeps them there by
// more than any violation that is left: raising one gains less than lowering any other costs, and
// the reverse, so that no pair will choose it as long as gradients change little.
void SmoSolver::Shrink() {
  state_.next_shrink = state_.iterations + ShrinkInterval();
  const Index size = state_.residual.size();
  if (!options_.shrinking || size < kMinShrinkSize) {
    return;
  }
  const Vector up = -state_.residual - up_cost_;
  const Vector down = -(state_.residual + down_gain_);
  const double max_up = up.maxCoeff();
  const double min_down = down.minCoeff();
  std::vector<Index> kept;
  std::vector<Index> samples;
  for (Index t = 0; t < size; ++t) {
    if (up(t) >= min_down || down(t) <= max_up) {
      kept.push_back(t);
      samples.push_back(state_.active[static_cast<size_t>(t)]);
    }
  }
  if (static_cast<Index>(kept.size()) > size - size / 8) {
    return;  // compact columns would be rebuilt for too little
  }
  Vector residual(static_cast<Index>(kept.size()));
  for (size_t t = 0; t < kept.size(); ++t) {
    residual(static_cast<Index>(t)) = state_.residual(kept[t]);
  }
  state_.residual = std::move(residual);
  SetActive(std::move(samples));
}

// The duality gap for the bias b, a sum over samples of
//   dual(i) z(i) + epsilon |dual(i)| + sup_{A <= x <= B} (-x z(i) - epsilon |x|),  z = h + b.
// Samples that are set aside contribute nothing as long as they are rightly so.
double SmoSolver::EstimateGap() const {
  double sum = 0;
  double count = 0;
  double max_up = -kInfinity;
  double min_down = kInfinity;
  const Index size = state_.residual.size();
  for (Index t = 0; t < size; ++t) {
    const double up = -state_.residual(t) - up_cost_(t);
    const double down = -(state_.residual(t) + down_gain_(t));
    max_up = std::max(max_up, up);
    min_down = std::min(min_down, down);
    if (up == down) {  // free: the bias that makes its gradient vanish
      sum += up;
      count += 1;
    }
  }
  const double bias = count > 0 ? sum / count : 0.5 * (max_up + min_down);
  double gap = 0;
  for (Index t = 0; t < size; ++t) {
    const Index i = state_.active[static_cast<size_t>(t)];
    const double z = state_.residual(t) + bias;
    const double dual = state_.dual(i);
    gap += dual * z + epsilon_ * std::abs(dual) +
           std::max(upper_(i) * std::max(0.0, -z - epsilon_),
                    -lower_(i) * std::max(0.0, z - epsilon_));
  }
  return gap;
}

// Whether it is time for a certificate because the gap seems small enough; else plans the next
// look.
bool SmoSolver::GapLooksReached() {
  if (options_.relative_gap > 0 && !state_.not_psd) {
    if (EstimateGap() <=
        std::min(options_.relative_gap * std::abs(state_.dual_value), state_.expected_gap)) {
      return true;
    }
  }
  state_.next_estimate = state_.iterations + EstimateInterval();
  return false;
}

}  // namespace mercer
