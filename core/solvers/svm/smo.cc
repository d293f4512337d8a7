#include "core/solvers/svm/smo.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/svm/smo_loops.h"

namespace mercer {
namespace {

// Up to this many samples columns are read from the double Gram itself; beyond, float copies halve
// the memory traffic.
constexpr Index kMaxDoubleSize = 1000;
// Diagonals outside this range leave too little of float's exponents.
constexpr double kMinSingleDiagonal = 1e-12;
constexpr double kMaxSingleDiagonal = 1e12;
constexpr Index kGradientRows = 512;
constexpr int kMaxStalledRounds = 10;

// out += K delta from the columns of a dense Gram whose delta is not 0, in their order.
absl::Status AddDenseProduct(const Matrix& gram, const Vector& delta, Vector& out,
                             RunContext& context) {
  std::vector<Index> changed;
  for (Index i = 0; i < delta.size(); ++i) {
    if (delta(i) != 0) {
      changed.push_back(i);
    }
  }
  const Vector zeros = Vector::Zero(std::min(kGradientRows, delta.size()));
  context.parallel().ForBlocks(delta.size(), kGradientRows, [&](Index begin, Index end) {
    for (size_t c = 0; c < changed.size(); c += 4) {
      if (c % 256 == 0 && context.cancelled()) {
        return;
      }
      const double* columns[4];
      double weights[4];
      for (size_t k = 0; k < 4; ++k) {
        const bool in_range = c + k < changed.size();
        columns[k] = in_range ? gram.col(changed[c + k]).data() + begin : zeros.data();
        weights[k] = in_range ? delta(changed[c + k]) : 0.0;
      }
      smo::AddFourColumns(columns, weights, out.data() + begin, end - begin);
    }
  });
  return context.CheckCancelled();
}

}  // namespace

ByteCount SmoColumnBytes(Index num_samples, const SmoOptions& options) {
  const ByteCount n(num_samples);
  return std::min(n * n * ByteCount(2 * sizeof(float) + sizeof(double)),
                  ByteCount(options.cache_bytes));
}

SmoSolver::SmoSolver(const KernelOperator& kernel, const SmoOptions& options,
                     std::unique_ptr<SmoColumns> columns)
    : kernel_(kernel),
      options_(options),
      columns_(columns != nullptr ? std::move(columns)
                                  : std::make_unique<SmoColumns>(kernel, options.cache_bytes)) {}

SmoSolver::~SmoSolver() = default;

absl::Status SmoSolver::SetProblem(const SvmProblem& problem) {
  const Index n = kernel_.size();
  if (problem.loss == nullptr || !problem.loss->is_piecewise_linear()) {
    return absl::InvalidArgumentError("the loss must be hinge or epsilon-insensitive");
  }
  if (n == 0 || problem.targets.size() != n || problem.costs.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat("the kernel has ", n, " samples, targets ",
                                                   problem.targets.size(), ", costs ",
                                                   problem.costs.size()));
  }
  lower_.resize(n);
  upper_.resize(n);
  for (Index i = 0; i < n; ++i) {
    const double target = problem.targets(i);
    const bool good_target =
        problem.loss->is_margin_loss() ? std::abs(target) == 1.0 : std::isfinite(target);
    if (!good_target || !(problem.costs(i) >= 0) || !std::isfinite(problem.costs(i))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sample ", i + 1, ": target ", target, " or cost ", problem.costs(i), " is not allowed"));
    }
    const Interval box = problem.loss->DualBox(target, problem.costs(i));
    lower_(i) = box.low;
    upper_(i) = box.high;
  }
  problem_ = problem;
  epsilon_ = problem.loss->epsilon();
  return absl::OkStatus();
}

absl::Status SmoSolver::ReadDiagonal(RunContext& context) {
  if (diagonal_.size() == 0) {
    Vector diagonal(kernel_.size());
    MERCER_RETURN_IF_ERROR(kernel_.Diagonal(diagonal, context));
    diagonal_ = std::move(diagonal);
  }
  return absl::OkStatus();
}

absl::Status SmoSolver::Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                              RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  MERCER_RETURN_IF_ERROR(ReadDiagonal(context));
  state_ = State();
  const double largest = diagonal_.maxCoeff();
  state_.single_precision = kernel_.size() > kMaxDoubleSize && largest >= kMinSingleDiagonal &&
                            largest <= kMaxSingleDiagonal;
  MERCER_RETURN_IF_ERROR(PlaceStart(warm_start, context));
  ActivateAll();
  return FinishRound(context);
}

absl::Status SmoSolver::PlaceStart(const SvmWarmStart& warm_start, RunContext& context) {
  const Index n = kernel_.size();
  state_.dual = Vector::Zero(n);
  state_.base_dual = Vector::Zero(n);
  state_.base_scores = Vector::Zero(n);
  if (warm_start.dual.size() == 0) {
    return absl::OkStatus();
  }
  if (warm_start.dual.size() != n ||
      (warm_start.scores.size() != 0 && warm_start.scores.size() != n)) {
    return absl::InvalidArgumentError(absl::StrCat("the warm start has ", warm_start.dual.size(),
                                                   " dual variables and ", warm_start.scores.size(),
                                                   " scores for ", n, " samples"));
  }
  const bool known =
      warm_start.scores.size() == n && warm_start.scores.allFinite() && warm_start.dual.allFinite();
  state_.dual = warm_start.dual;
  if (known) {
    state_.base_dual = warm_start.dual;
    state_.base_scores = warm_start.scores;
  }
  if (warm_start.rescale && known) {
    RescaleStart();
  }
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, state_.dual);
  return RefreshScores(context);
}

// Replaces the dual by its best multiple within the box: the objective along the ray is
// s linear - s^2/2 quadratic.
void SmoSolver::RescaleStart() {
  const double linear = problem_.targets.dot(state_.dual) - epsilon_ * state_.dual.lpNorm<1>();
  const double quadratic = state_.dual.dot(state_.base_scores);
  double scale = quadratic > 0 ? linear / quadratic : kInfinity;
  for (Index i = 0; i < state_.dual.size(); ++i) {
    if (state_.dual(i) != 0) {
      scale = std::min(scale, (state_.dual(i) > 0 ? upper_(i) : lower_(i)) / state_.dual(i));
    }
  }
  if (!(scale > 0) || !std::isfinite(scale)) {
    return;
  }
  state_.dual *= scale;
  // What is at its bound but for rounding must not count as free.
  constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
  for (Index i = 0; i < state_.dual.size(); ++i) {
    const double end = state_.dual(i) > 0 ? upper_(i) : lower_(i);
    if (std::abs(end - state_.dual(i)) <= kRounding * std::abs(end)) {
      state_.dual(i) = end;
    }
  }
  state_.base_dual = state_.dual;
  state_.base_scores *= scale;
}

absl::Status SmoSolver::RefreshScores(RunContext& context) {
  const Vector delta = state_.dual - state_.base_dual;
  if ((delta.array() == 0).all()) {
    return absl::OkStatus();
  }
  Vector scores = state_.base_scores;
  if (const Matrix* dense = kernel_.Dense()) {
    MERCER_RETURN_IF_ERROR(AddDenseProduct(*dense, delta, scores, context));
  } else {
    Vector product(delta.size());
    MERCER_RETURN_IF_ERROR(kernel_.Apply(delta, product, context));
    scores += product;
  }
  state_.base_scores = std::move(scores);
  state_.base_dual = state_.dual;
  return absl::OkStatus();
}

void SmoSolver::SetActive(std::vector<Index> active) {
  state_.active = std::move(active);
  const auto size = static_cast<Index>(state_.active.size());
  up_cost_.resize(size);
  down_gain_.resize(size);
  active_diagonal_.resize(size);
  for (Index position = 0; position < size; ++position) {
    SetBounds(position);
    active_diagonal_(position) = diagonal_(state_.active[static_cast<size_t>(position)]);
  }
  active_diagonal_single_ = active_diagonal_.cast<float>();
  columns_->doubles.SetActive(state_.active);
  columns_->singles.SetActive(state_.active);
}

void SmoSolver::ActivateAll() {
  SetActive(IndexRange(0, kernel_.size()));
  state_.residual = state_.base_scores - problem_.targets;
}

// Ends a round: h is made exact in double for all samples, which are all active again, a
// certificate is computed, the run judged, and the next round planned.
absl::Status SmoSolver::FinishRound(RunContext& context) {
  MERCER_RETURN_IF_ERROR(RefreshScores(context));
  auto certificate = CertifySvm(*problem_.loss, problem_.targets, problem_.costs, state_.dual,
                                state_.base_scores, true, context);
  MERCER_RETURN_IF_ERROR(certificate.status());
  state_.certificate = *certificate;
  state_.dual_value = certificate->unscaled_dual;
  double expected_violation = kInfinity;
  double drift = 0;
  if (state_.residual.size() > 0) {
    expected_violation = Violation();
    // Should this certificate not do, the next one waits for a clear improvement.
    state_.expected_gap = 0.5 * EstimateGap();
    for (size_t t = 0; t < state_.active.size(); ++t) {
      const Index i = state_.active[t];
      const double exact = state_.base_scores(i) - problem_.targets(i);
      drift = std::max(drift, std::abs(exact - state_.residual(static_cast<Index>(t))));
    }
  }
  ActivateAll();
  JudgeRound(expected_violation, drift);
  state_.next_shrink = state_.iterations;
  state_.next_estimate = state_.iterations + EstimateInterval();
  return absl::OkStatus();
}

bool SmoSolver::GapIsReached() const {
  const double gap = options_.gap_of_function ? state_.certificate.UnscaledRelativeGap()
                                              : state_.certificate.RelativeGap();
  return options_.relative_gap > 0 && !state_.not_psd && gap <= options_.relative_gap;
}

void SmoSolver::set_relative_gap(double relative_gap) {
  options_.relative_gap = relative_gap;
  if (state_.stop == SvmStop::kRelativeGap && !GapIsReached()) {
    state_.stop = SvmStop::kRunning;
  }
}

// `expected_violation` is what the round believed to have reached, `drift` the largest error of its
// gradient.
void SmoSolver::JudgeRound(double expected_violation, double drift) {
  const double violation = Violation();
  state_.precision = 4e-15 * (state_.base_scores.lpNorm<Eigen::Infinity>() +
                              problem_.targets.lpNorm<Eigen::Infinity>());
  const bool stalled = !(violation < 0.9 * state_.round_violation);
  state_.stalled_rounds = stalled ? state_.stalled_rounds + 1 : 0;
  state_.round_violation = violation;
  if (GapIsReached()) {
    state_.stop = SvmStop::kRelativeGap;
  } else if (KktTolerance() > 0 && violation <= KktTolerance()) {
    state_.stop = SvmStop::kKktTolerance;
  } else if (violation <= state_.precision) {
    state_.stop = SvmStop::kPrecision;
  } else if (state_.single_precision) {
    state_.single_precision =
        drift <= 0.1 * expected_violation && state_.stalled_rounds < kMaxStalledRounds;
    state_.stalled_rounds = state_.single_precision ? state_.stalled_rounds : 0;
  } else if (drift > 0.25 * violation || state_.stalled_rounds >= kMaxStalledRounds) {
    state_.stop = SvmStop::kPrecision;
  }
}

absl::Status SmoSolver::Step(int64_t max_iterations, RunContext& context) {
  if (problem_.loss == nullptr) {
    return absl::FailedPreconditionError("no problem was started");
  }
  const int64_t cap = options_.max_iterations > 0
                          ? options_.max_iterations
                          : std::max<int64_t>(10'000'000, 100 * int64_t{kernel_.size()});
  const int64_t end = state_.iterations + std::min(max_iterations, cap - state_.iterations);
  while (!done()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    bool round_over = false;
    if (state_.iterations >= state_.next_estimate) {
      round_over = GapLooksReached();
    }
    if (!round_over && state_.iterations >= state_.next_shrink) {
      Shrink();
    }
    const bool last = state_.iterations >= cap;
    if (!round_over && !last) {
      if (state_.iterations >= end) {
        return absl::OkStatus();
      }
      const int64_t count =
          std::min({end, cap, state_.next_shrink, state_.next_estimate}) - state_.iterations;
      MERCER_RETURN_IF_ERROR(IterateWithinRound(count, context, &round_over));
    }
    if (round_over || last) {
      MERCER_RETURN_IF_ERROR(FinishRound(context));
    }
    if (last && !done()) {
      state_.stop = SvmStop::kIterationLimit;
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
