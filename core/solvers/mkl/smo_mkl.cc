#include "core/solvers/mkl/smo_mkl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/objectives/lp_weights.h"

namespace mercer {
namespace {

constexpr uint64_t kSmoMklStateVersion = 1;
constexpr int64_t kMklRoundIterations = 256;
constexpr int64_t kMaxRoundsWithoutGrowth = 20;  // in which the dual did not grow
constexpr double kMklRounding = 4e-15;           // of a score, against the largest

absl::Status NotFiniteError() {
  return absl::InvalidArgumentError("the kernels hold values that are not finite");
}

}  // namespace

SmoMklSolver::SmoMklSolver(const KernelFamily& family, const SmoMklOptions& options)
    : family_(family),
      options_(options),
      term_(options.p, options.weight_penalty),
      rows_(family, options.cache_bytes) {}

ByteCount SmoMklSolver::Bytes(Index num_samples, Index num_kernels, const SmoMklOptions& options) {
  // So many tables of n x m numbers may exist at a time: products, new ones, diagonals, a saved
  // state, and one in the making in strings that grow.
  constexpr size_t kTables = 8;
  constexpr size_t kVectors = 20;
  return KernelRowCache::Bytes(num_samples, num_kernels, options.cache_bytes) +
         (ByteCount(kTables) * ByteCount(num_kernels) + ByteCount(kVectors)) *
             ByteCount(num_samples) * ByteCount(sizeof(double));
}

int64_t SmoMklSolver::IterationLimit() const {
  return options_.max_iterations > 0 ? options_.max_iterations
                                     : std::max<int64_t>(10'000'000, 100 * int64_t{num_samples()});
}

void SmoMklSolver::set_relative_gap(double relative_gap) {
  options_.relative_gap = relative_gap;
  if (state_.stop == SmoMklStop::kRelativeGap &&
      state_.best.certificate.RelativeGap() > relative_gap) {
    state_.stop = SmoMklStop::kRunning;
  }
}

absl::Status SmoMklSolver::SetProblem(const SvmProblem& problem, RunContext& context) {
  if (!(options_.p > 1) || std::isinf(options_.p) || !(options_.weight_penalty >= 0) ||
      std::isinf(options_.weight_penalty)) {
    return absl::InvalidArgumentError("1 < p < inf and 0 <= weight_penalty < inf are needed");
  }
  if (problem.loss == nullptr || problem.targets.size() != num_samples() || num_kernels() == 0) {
    return absl::InvalidArgumentError("targets and costs must have one entry per sample");
  }
  MERCER_ASSIGN_OR_RETURN(box_, MakeSvmDualBox(*problem.loss, problem.targets, problem.costs));
  diagonals_.resize(num_samples(), num_kernels());
  MERCER_RETURN_IF_ERROR(family_.Diagonals({}, diagonals_, context));
  if (!diagonals_.allFinite()) {
    return NotFiniteError();
  }
  problem_ = problem;
  return absl::OkStatus();
}

absl::Status SmoMklSolver::Start(const SvmProblem& problem, const Vector& dual,
                                 RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem, context));
  const Index n = num_samples();
  if (dual.size() != 0 && dual.size() != n) {
    return absl::InvalidArgumentError("the dual of the start must have one entry per sample");
  }
  state_ = {};
  state_.dual = dual.size() == 0 ? Vector::Zero(n) : dual;
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, state_.dual);
  state_.weights = UniformWeights(num_kernels(), options_.p);
  scores_.resize(n);
  combined_diagonal_.resize(n);
  combined_row_.resize(n);
  if (state_.dual.isZero(0)) {
    state_.products = Matrix::Zero(n, num_kernels());
    state_.exact = true;
  } else {
    MERCER_RETURN_IF_ERROR(RefreshProducts(context));
  }
  return FinishRound(context);
}

absl::Status SmoMklSolver::RefreshProducts(RunContext& context) {
  Matrix products(num_samples(), num_kernels());
  MERCER_RETURN_IF_ERROR(family_.Products(state_.dual, {}, {}, products, context));
  state_.products = std::move(products);
  state_.exact = true;
  return absl::OkStatus();
}

// Ends a round: energies, weights and scores follow from the products, the point is certified, and
// the run judged. A run ends by its gap only when the products are exact, that is recomputed from
// the kernels.
absl::Status SmoMklSolver::FinishRound(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(PointBounds certificate, Certify(context));
  if (!state_.exact && certificate.RelativeGap() <= options_.relative_gap) {
    MERCER_RETURN_IF_ERROR(RefreshProducts(context));
    MERCER_ASSIGN_OR_RETURN(certificate, Certify(context));
  }
  MERCER_RETURN_IF_ERROR(Judge(certificate, context));
  state_.round_is_due = false;
  return absl::OkStatus();
}

absl::StatusOr<PointBounds> SmoMklSolver::Certify(const RunContext& context) {
  state_.energies.resize(num_kernels());
  context.parallel().ForBlocks(num_kernels(), 1, [&](Index k, Index) {
    state_.energies(k) = std::max(0.0, state_.dual.dot(state_.products.col(k)));
  });
  state_.weights = term_.Weights(state_.energies, state_.weights);
  ForSamples(context, [&](Index first, Index size) { CombineBlock(first, size); });
  if (!state_.energies.allFinite() || !state_.weights.allFinite() || !scores_.allFinite()) {
    return NotFiniteError();
  }
  PointBounds certificate;
  MERCER_ASSIGN_OR_RETURN(
      const BiasInterval bias,
      problem_.loss->ExactBias(problem_.targets, problem_.costs, scores_, context));
  certificate.bias = bias.chosen;
  MERCER_ASSIGN_OR_RETURN(const double risk,
                          problem_.loss->TotalValue(problem_.targets, problem_.costs, scores_,
                                                    certificate.bias, context));
  certificate.primal = term_.PrimalCost(state_.weights, state_.energies) + risk;
  MERCER_ASSIGN_OR_RETURN(const DualRay ray,
                          term_.MaximizeOnRay(*problem_.loss, problem_.targets, problem_.costs,
                                              state_.dual, state_.energies, context));
  certificate.dual = ray.value;
  return certificate;
}

// Keeps the best point and the best bounds, which may come from different points, and counts rounds
// in which the dual has not grown: in exact arithmetic there are none.
absl::Status SmoMklSolver::Judge(const PointBounds& certificate, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(
      const double linear,
      problem_.loss->DualValue(problem_.targets, problem_.costs, state_.dual, context));
  const double value = linear - term_.DualCost(state_.energies);
  state_.upper_bound = std::min(state_.upper_bound, certificate.primal);
  state_.lower_bound = std::max(state_.lower_bound, certificate.dual);
  if (certificate.RelativeGap() < state_.best.certificate.RelativeGap()) {
    state_.best = {state_.dual, state_.weights, certificate};
  }
  if (state_.exact && certificate.RelativeGap() <= options_.relative_gap) {
    state_.stop = SmoMklStop::kRelativeGap;
  }
  state_.stalled_rounds = value > state_.dual_value ? 0 : state_.stalled_rounds + 1;
  state_.dual_value = std::max(value, state_.dual_value);
  return absl::OkStatus();
}

void SmoMklSolver::ForSamples(const RunContext& context,
                              const std::function<void(Index, Index)>& body) const {
  constexpr Index kBlock = 512;
  context.parallel().ForBlocks(num_samples(), kBlock,
                               [&](Index begin, Index end) { body(begin, end - begin); });
}

void SmoMklSolver::CombineBlock(Index first, Index size) {
  auto scores = scores_.segment(first, size);
  auto diagonal = combined_diagonal_.segment(first, size);
  scores.setZero();
  diagonal.setZero();
  for (Index k = 0; k < num_kernels(); ++k) {
    scores += state_.weights(k) * state_.products.col(k).segment(first, size);
    diagonal += state_.weights(k) * diagonals_.col(k).segment(first, size);
  }
}

// The variable that gains most from being raised, and by how much the best pair violates the
// conditions of optimality.
SmoMklSolver::Pair SmoMklSolver::MostViolating() const {
  Pair pair;
  double largest = -kInfinity;
  double smallest = kInfinity;
  for (Index i = 0; i < num_samples(); ++i) {
    if (state_.dual(i) < box_.upper(i) && Gain(i) > largest) {
      largest = Gain(i);
      pair.raised = i;
    }
    if (state_.dual(i) > box_.lower(i)) {
      smallest = std::min(smallest, Cost(i));
    }
  }
  pair.violation = largest > smallest ? largest - smallest : 0.0;
  return pair;
}

// Chooses the partner whose unbounded step would gain most: (violation)^2 / curvature, with the
// curvature sum_k d_k (K_ii + K_jj - 2 K_ij) of the present weights.
void SmoMklSolver::ChoosePartner(const double* row, const RunContext& context, Pair& pair) {
  const Eigen::Map<const Matrix> raised(row, num_samples(), num_kernels());
  ForSamples(context, [&](Index first, Index size) {
    auto combined = combined_row_.segment(first, size);
    combined.setZero();
    for (Index k = 0; k < num_kernels(); ++k) {
      combined += state_.weights(k) * raised.col(k).segment(first, size);
    }
  });
  constexpr double kLeastCurvature = 1e-12;  // against the diagonal
  const double gain = Gain(pair.raised);
  const double own = combined_diagonal_(pair.raised);
  double best = 0;
  for (Index j = 0; j < num_samples(); ++j) {
    const double violation = gain - Cost(j);
    if (!(state_.dual(j) > box_.lower(j)) || !(violation > 0)) {
      continue;
    }
    const double sum = own + combined_diagonal_(j);
    const double curvature =
        std::max({sum - 2.0 * combined_row_(j), kLeastCurvature * sum, 1e-300});
    const double progress = violation * (violation / curvature);
    if (progress > best) {
      best = progress;
      pair.lowered = j;
    }
  }
}

// How linear part and energies change along the pair's step t:
// s_k(t) = s_k + 2 t (g_k,i - g_k,j) + t^2 (K_k,ii + K_k,jj - 2 K_k,ij), g_k = K_k dual. With the
// slopes of epsilon |dual| on the sides to which the two variables move, the linear part is exact
// up to the next kink.
EnergyCurve SmoMklSolver::CurveOf(const Pair& pair, const double* raised_row) const {
  const Eigen::Map<const Matrix> raised(raised_row, num_samples(), num_kernels());
  EnergyCurve curve;
  curve.linear = box_.targets(pair.raised) - RaisedKink(pair.raised) -
                 (box_.targets(pair.lowered) + LoweredKink(pair.lowered));
  curve.energies = state_.energies;
  curve.slopes = (state_.products.row(pair.raised) - state_.products.row(pair.lowered)).transpose();
  curve.curvatures =
      (diagonals_.row(pair.raised) + diagonals_.row(pair.lowered) - 2.0 * raised.row(pair.lowered))
          .transpose()
          .cwiseMax(0.0);
  return curve;
}

// Moves both variables. One whose room ends the step is set to the end exactly, so that it counts
// as bounded, and not as nearly so.
void SmoMklSolver::MoveDual(const Pair& pair, double step, double longest) {
  const auto move = [&](Index i, double change, double end, bool reaches) {
    state_.dual(i) = reaches ? end : state_.dual(i) + change;
  };
  const double ceiling = CeilingOf(pair.raised);
  const double floor = FloorOf(pair.lowered);
  const bool whole = step >= longest;
  const bool raised_ends = whole && ceiling - state_.dual(pair.raised) <= longest;
  const bool lowered_ends = whole && state_.dual(pair.lowered) - floor <= longest;
  move(pair.raised, step, ceiling, raised_ends);
  move(pair.lowered, -step, floor, lowered_ends);
}

void SmoMklSolver::MoveProducts(double step, const double* raised_row, const double* lowered_row,
                                const RunContext& context) {
  const Eigen::Map<const Matrix> raised(raised_row, num_samples(), num_kernels());
  const Eigen::Map<const Matrix> lowered(lowered_row, num_samples(), num_kernels());
  ForSamples(context, [&](Index first, Index size) {
    for (Index k = 0; k < num_kernels(); ++k) {
      state_.products.col(k).segment(first, size) +=
          step * (raised.col(k).segment(first, size) - lowered.col(k).segment(first, size));
    }
    CombineBlock(first, size);
  });
  state_.exact = false;
}

// Makes one step on a pair of variables; sets `stuck` when no pair improves the dual beyond
// rounding.
absl::Status SmoMklSolver::Iterate(RunContext& context, bool* stuck) {
  Pair pair = MostViolating();
  // Violations below this are rounding in scores and targets.
  const double precision = kMklRounding * (scores_.lpNorm<Eigen::Infinity>() +
                                           problem_.targets.lpNorm<Eigen::Infinity>());
  if (!std::isfinite(precision)) {  // products that are not finite
    return NotFiniteError();
  }
  *stuck = pair.violation <= precision;
  if (*stuck) {
    return absl::OkStatus();
  }
  if (pair.raised < 0) {
    return NotFiniteError();
  }
  MERCER_ASSIGN_OR_RETURN(const double* raised_row, rows_.Get(pair.raised, context));
  ChoosePartner(raised_row, context, pair);
  if (pair.lowered < 0) {
    return NotFiniteError();
  }
  const EnergyCurve curve = CurveOf(pair, raised_row);
  const double longest = std::min(CeilingOf(pair.raised) - state_.dual(pair.raised),
                                  state_.dual(pair.lowered) - FloorOf(pair.lowered));
  const double step = term_.MaximizeOnCurve(curve, longest);
  *stuck = !(step > 0);
  if (*stuck) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const double* lowered_row, rows_.Get(pair.lowered, context));
  MoveDual(pair, step, longest);
  state_.energies =
      (curve.energies + 2.0 * step * curve.slopes + step * step * curve.curvatures).cwiseMax(0.0);
  state_.weights = term_.Weights(state_.energies, state_.weights);
  MoveProducts(step, raised_row, lowered_row, context);
  ++state_.iterations;
  state_.round_is_due =
      state_.iterations % kMklRoundIterations == 0 || state_.iterations >= IterationLimit();
  return absl::OkStatus();
}

absl::Status SmoMklSolver::Step(int64_t max_iterations, RunContext& context) {
  if (problem_.loss == nullptr) {
    return absl::FailedPreconditionError("no problem was started");
  }
  const int64_t limit = IterationLimit();
  const int64_t end = state_.iterations + std::min(max_iterations, limit - state_.iterations);
  while (!done()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    if (state_.round_is_due) {
      MERCER_RETURN_IF_ERROR(FinishRound(context));
      continue;
    }
    if (state_.iterations >= limit) {
      state_.stop = SmoMklStop::kIterationLimit;
      continue;
    }
    if (state_.iterations >= end) {
      break;
    }
    bool stuck = state_.stalled_rounds >= kMaxRoundsWithoutGrowth;
    if (!stuck) {
      MERCER_RETURN_IF_ERROR(Iterate(context, &stuck));
    }
    if (stuck && state_.exact) {
      state_.stop = SmoMklStop::kPrecision;
    } else if (stuck) {
      MERCER_RETURN_IF_ERROR(RefreshProducts(context));
      state_.round_is_due = true;
    }
  }
  return absl::OkStatus();
}

absl::Status SmoMklSolver::Run(RunContext& context) {
  while (!done()) {
    MERCER_RETURN_IF_ERROR(Step(std::numeric_limits<int64_t>::max(), context));
  }
  return absl::OkStatus();
}

// What an interrupted run needs to go on with the same bits. Products are part of it: recomputed
// ones would lack the rounding of all steps so far.
std::string SmoMklSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteUint64(kSmoMklStateVersion);
  WriteFields(state_, writer, Sizes{num_samples(), num_kernels()});
  return std::move(writer).Take();
}

absl::Status SmoMklSolver::RestoreState(const SvmProblem& problem, std::string_view bytes,
                                        RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem, context));
  ByteReader reader(bytes);
  State state;
  const bool known = reader.ReadUint64() == kSmoMklStateVersion;
  if (!known || !ReadFields(reader, state, Sizes{num_samples(), num_kernels()}) ||
      !reader.AtEnd()) {
    return absl::InvalidArgumentError("not a state of this solver for this problem");
  }
  state_ = std::move(state);
  scores_.resize(num_samples());
  combined_diagonal_.resize(num_samples());
  combined_row_.resize(num_samples());
  ForSamples(context, [&](Index first, Index size) { CombineBlock(first, size); });
  return absl::OkStatus();
}

}  // namespace mercer
