#include "core/solvers/mkl/mkl_loop.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"

namespace mercer {
namespace {

// The gap that the next machine is solved to, as a share of the gap of the whole problem, or of its
// part due to the weights (docs/mathematics/lp_mkl.md, section 3).
constexpr double kInnerGapShare = 0.1;
constexpr double kLeastInnerGapShare = 0.02;  // of the gap asked for
// The least gap that a machine of a loss with a curvature is solved to. It is below rounding: a
// start within a larger one would pass for the solution, and its energies with it.
constexpr double kLeastCurvedGap = 1e-17;
constexpr double kLeastFollowedGap = 1e-12;  // of a machine of a method, whatever it asks for
constexpr double kRetreat = 0.4;
constexpr int64_t kMaxReductions = 3;
constexpr int64_t kOverRelaxedSteps = 2;
constexpr int64_t kMaxFruitless = 30;
constexpr int64_t kSlow = 6;  // machines without a better gap, after which another step is tried
constexpr int64_t kStallsToShorten = 3;
constexpr double kFirstPower = 2;  // of energies in a closed form; the shortest is its own
constexpr double kShortestPower = 0.5;
constexpr double kFastRate = 1.0 / 8;  // below, over-relaxed steps do as well as Newton's for less

}  // namespace

void MklLoop::Begin(Vector weights, double inner_gap, double target) {
  state_.weights = std::move(weights);
  state_.inner_gap = HasFixedWeights() ? 0.5 * target : inner_gap;
  state_.solving = false;
  state_.power = 0;
  state_.outer = 0;
  state_.fruitless = 0;
  state_.newton_from = kOverRelaxedSteps;
  state_.last = {};
  state_.best = {};
}

void MklLoop::SetKernels(const KernelFamily* family) {
  kernel_ = nullptr;
  family_ = family;
}

// Kernels are functions of problem and weights, so they are no part of the state.
absl::Status MklLoop::Prepare(RunContext& context) {
  if (kernel_ == nullptr || kernel_weights_.size() != state_.weights.size() ||
      kernel_weights_ != state_.weights) {
    kernel_ = nullptr;
    MERCER_ASSIGN_OR_RETURN(kernel_, family_->CombineForSearch(state_.weights, context));
    kernel_weights_ = state_.weights;
  }
  return absl::OkStatus();
}

absl::StatusOr<MklProgress> MklLoop::Solve(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (!state_.solving) {
    MERCER_RETURN_IF_ERROR(inner_.Start(*kernel_, state_.dual, state_.inner_gap, context));
    state_.solving = true;
  }
  if (!inner_.done()) {
    MERCER_RETURN_IF_ERROR(inner_.Step(context));
  }
  if (!inner_.done()) {
    return MklProgress::kSolving;
  }
  state_.solving = false;
  MERCER_RETURN_IF_ERROR(BoundSolution(context));
  if (state_.best.primal <= 1e-300) {
    return MklProgress::kObjectiveZero;
  }
  // Of a method many short steps may each be for little: its caller knows when to stop.
  const bool exhausted = options_.method == nullptr && state_.fruitless >= kMaxFruitless;
  return exhausted || (HasFixedWeights() && inner_.stuck()) ? MklProgress::kNumericalLimit
                                                            : MklProgress::kSolved;
}

absl::Status MklLoop::BoundSolution(RunContext& context) {
  state_.dual = inner_.dual();
  if (!working_only_) {
    return BoundAll(context);
  }
  // Those of the last weights too: whether a step was one for the better is asked of both.
  std::vector<Index> working;
  for (Index k = 0; k < state_.weights.size(); ++k) {
    if (state_.weights(k) > 0 || (state_.last.weights.size() > 0 && state_.last.weights(k) > 0)) {
      working.push_back(k);
    }
  }
  return BoundAmong(working, context);
}

absl::Status MklLoop::BoundAll(RunContext& context) {
  MERCER_RETURN_IF_ERROR(BoundAmong({}, context));
  const bool improved = state_.best.Improve(bounds_, state_.weights, function_);
  state_.fruitless = improved ? 0 : state_.fruitless + 1;
  if (inner_.stuck()) {
    state_.fruitless += kMaxFruitless / 5;
  }
  return absl::OkStatus();
}

// Of the problem with these kernels alone, all when there are none: energies of others are 0, so
// that none of them comes in.
absl::Status MklLoop::BoundAmong(const std::vector<Index>& kernels, RunContext& context) {
  const Index count = kernels.empty() ? family_->num_kernels() : static_cast<Index>(kernels.size());
  const auto machines = static_cast<Index>(inner_.ranges().size());
  Matrix of_machines(count, machines);
  MERCER_RETURN_IF_ERROR(inner_.Energies(*family_, state_.dual, kernels, of_machines, context));
  of_machines = of_machines.cwiseMax(0.0);
  bounds_all_ = kernels.empty();
  const auto of_all = [&](const Matrix& energies) {
    const Vector sums = machines == 1 ? Vector(energies.col(0)) : Vector(energies.rowwise().sum());
    if (bounds_all_) {
      return sums;
    }
    Vector all = Vector::Zero(family_->num_kernels());
    all(kernels) = sums;
    return all;
  };
  energies_ = of_all(of_machines);
  MachineFunctions functions = inner_.Functions(of_machines);
  function_ = std::move(functions.dual);
  MERCER_ASSIGN_OR_RETURN(
      bounds_,
      BoundPoint({*problem_.loss, problem_.targets, problem_.costs, regularizer_, state_.weights,
                  state_.dual, energies_, functions.scores, functions.other_scale, inner_.ranges(),
                  machines == 1 ? Vector() : of_all(functions.energies)},
                 context));
  return absl::OkStatus();
}

// The optimum of a machine is known between its bounds.
absl::Status MklLoop::MoveWeights(double target, RunContext& context) {
  if (options_.method != nullptr && !HasFixedWeights()) {
    return FollowMethod(target, context);
  }
  double value = inner_.lower();
  if (regularizer_.has_maximisers() && state_.last.upper < kInfinity) {
    MERCER_ASSIGN_OR_RETURN(value, GapWithout(state_.last.weights, context));
  }
  return value > state_.last.upper * (1.0 + 1e-12) ? Retreat(context) : Advance(target, context);
}

// Where some weights maximise the optimum of a machine, it bounds nothing: there the gap has to
// shrink, of the problem without the kernels that have no weight here nor in `others`. Kernels that
// a step is not about may open the gap of the whole.
absl::StatusOr<double> MklLoop::GapWithout(const Vector& others, const RunContext& context) const {
  const Vector energies = (state_.weights.array() > 0 || others.array() > 0).select(energies_, 0.0);
  MERCER_ASSIGN_OR_RETURN(const DualRay ray,
                          MaximizeOnDualRay(*problem_.loss, problem_.targets, problem_.costs,
                                            state_.dual, regularizer_.Support(energies), context));
  PointBounds bounds = bounds_;
  bounds.dual = ray.value;
  return bounds.RelativeGap();
}

// Weights that stay where they are, and gaps that the accuracy of the machine alone leaves, ask for
// a more exact one.
absl::Status MklLoop::FollowMethod(double target, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(
      const double linear,
      problem_.loss->DualValue(problem_.targets, problem_.costs, state_.dual, context));
  Vector weights = options_.method->Next(
      {state_.weights, energies_, bounds_, state_.best.primal - state_.best.lower, inner_.lower(),
       inner_.upper(), linear},
      target);
  // The share is that of the machine to come: the method may have changed it.
  const double share = options_.method->inner_gap_share();
  const double gap = bounds_.RelativeGap();
  const bool linear_pieces = problem_.loss->is_piecewise_linear();
  const double least =
      linear_pieces
          ? std::max(share / kInnerGapShare * kLeastInnerGapShare * target, kLeastFollowedGap)
          : std::max(share * target * target, kLeastCurvedGap);  // as in NextInnerGap
  const double asked = weights == state_.weights ? 0.5 * state_.inner_gap
                       : linear_pieces           ? share * gap
                                                 : share * gap * gap;
  state_.inner_gap = std::max(std::min(state_.inner_gap, asked), least);
  state_.weights = std::move(weights);
  ++state_.outer;
  return RescaleDual(energies_, context);
}

void MklLoop::TryWeights(Vector weights, double target) {
  working_only_ = false;
  state_.solving = false;
  state_.weights = std::move(weights);
  state_.inner_gap = std::min(state_.inner_gap, kInnerGapShare * target);
}

// The last step of the weights raised the optimum. A step of Newton's method is shortened, three
// times at the most; after that the closed form takes its place, which cannot raise an optimum that
// all weights minimise. The step is shortened in the weights of kernels, also where they are ratios
// of minimising and maximising ones: the points between are then not those of steps in the two, but
// the step has the same end and the same first-order change.
absl::Status MklLoop::Retreat(const RunContext& context) {
  LastWeights& last = state_.last;
  if (last.newton && ++last.reductions <= kMaxReductions) {
    state_.weights =
        regularizer_.Normalized(last.weights + kRetreat * (state_.weights - last.weights));
  } else {
    if (last.newton) {
      PostponeNewton();
    }
    state_.weights = regularizer_.ClosedForm(last.weights, last.energies);
    last.upper = kInfinity;
  }
  state_.dual = last.dual;
  return RescaleDual(last.energies, context);
}

// Newton's model is poor here: the method is tried again after as many steps as there were, so that
// the others alone would hardly have been faster.
void MklLoop::PostponeNewton() {
  state_.newton_from = 2 * std::max(state_.outer, kOverRelaxedSteps);
}

// Replaces the dual by its best multiple for the machine of the new weights, whose quadratic form
// is known from the energies.
absl::Status MklLoop::RescaleDual(const Vector& energies, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const DualRay ray,
                          MaximizeOnDualRay(*problem_.loss, problem_.targets, problem_.costs,
                                            state_.dual, state_.weights.dot(energies), context));
  if (ray.scale > 0) {
    state_.dual *= ray.scale;
    inner_.Repair(state_.dual);
  }
  return absl::OkStatus();
}

// The gap to which the next machine is solved. Energies are as exact as the square root of the
// inner gap for a loss with a curvature. Where the bounds depend on their maximum, p near 1, a
// start within a share of the gap would be taken for the solution, and the weights would follow
// energies of the weights before. Newton's method squares its error with every step, so that the
// square of the gap costs a step more.
double MklLoop::NextInnerGap(double gap, double target) const {
  if (problem_.loss->is_piecewise_linear()) {
    return std::max(std::min(state_.inner_gap, kInnerGapShare * gap), kLeastInnerGapShare * target);
  }
  return std::max({std::min(state_.inner_gap, kInnerGapShare * gap * gap),
                   kInnerGapShare * target * target, kLeastCurvedGap});
}

absl::Status MklLoop::Advance(double target, RunContext& context) {
  const double weight_gap = bounds_.weight_gap / std::max(std::abs(bounds_.primal), 1e-300);
  if (HasFixedWeights() || weight_gap <= 0.1 * target) {
    state_.inner_gap =
        std::max(std::min(0.5 * target, 0.5 * state_.inner_gap), kLeastInnerGapShare * target);
    return absl::OkStatus();
  }
  state_.inner_gap = NextInnerGap(std::min(weight_gap, bounds_.RelativeGap()), target);
  LastWeights from{state_.weights, state_.dual, energies_, inner_.upper(), false, 0};
  MERCER_ASSIGN_OR_RETURN(Vector weights, NextWeights(from, context));
  if (regularizer_.has_maximisers()) {
    // Of the other steps none is known to lower the gap.
    from.upper = kInfinity;
    if (from.newton) {
      MERCER_ASSIGN_OR_RETURN(from.upper, GapWithout(weights, context));
    }
  }
  state_.weights = std::move(weights);
  state_.last = std::move(from);
  ++state_.outer;
  return RescaleDual(energies_, context);
}

// New weights from those of the last machine. A closed form cannot raise the optimum, whatever the
// bounds say: nothing is asked of the point after it.
absl::StatusOr<Vector> MklLoop::NextWeights(LastWeights& from, RunContext& context) {
  const bool slow = state_.fruitless >= kSlow;
  if (slow && state_.last.newton) {
    PostponeNewton();
  }
  // Of sparse weights the closed form would leave those that are 0 where they are.
  if (options_.steps == WeightSteps::kAlternation ||
      (slow && !state_.last.newton && !regularizer_.is_sparse())) {
    from.upper = kInfinity;
    return regularizer_.ClosedForm(state_.weights, energies_);
  }
  from.newton = options_.steps == WeightSteps::kNewton && state_.outer >= state_.newton_from &&
                regularizer_.OverRelaxedRate() >= kFastRate;
  if (from.newton) {
    MERCER_ASSIGN_OR_RETURN(std::optional<Vector> weights, NewtonWeights(context));
    if (weights.has_value()) {
      return *std::move(weights);
    }
    from.newton = regularizer_.has_maximisers() ? false : from.newton;
  }
  return RelaxedWeights();
}

// An over-relaxed step may cycle where some weights maximise the optimum, which guards nothing: it
// becomes shorter, down to the closed form, whenever the gap has stalled for three machines.
Vector MklLoop::RelaxedWeights() {
  if (!regularizer_.has_maximisers()) {
    return regularizer_.OverRelaxed(state_.weights, energies_);
  }
  if (state_.power == 0) {
    state_.power = kFirstPower;
  }
  const bool stalled = state_.fruitless > 0 && state_.fruitless % kStallsToShorten == 0;
  if (stalled && !state_.last.newton) {
    state_.power = std::max(kShortestPower, 0.5 * state_.power);
  }
  return regularizer_.Relaxed(state_.weights, energies_, state_.power);
}

// The weights at which the second-order model of the optimum as a function of them is best, with
// the Hessian that the curved samples give. Nothing where there is no model, for want of such
// samples, for too many kernels or because the Hessian cannot be factored.
absl::StatusOr<std::optional<Vector>> MklLoop::NewtonWeights(RunContext& context) const {
  const std::vector<Index> kernels = regularizer_.Candidates(state_.weights, energies_);
  if (kernels.size() > kMaxModelKernels) {
    return std::optional<Vector>();
  }
  MERCER_ASSIGN_OR_RETURN(std::optional<Matrix> hessian,
                          inner_.Hessian(*family_, kernels, context));
  if (!hessian.has_value()) {
    return std::optional<Vector>();
  }
  const WeightModel model{state_.weights(kernels), energies_(kernels), *std::move(hessian)};
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> solution,
                          regularizer_.SolveModel(model, kernels, context));
  if (!solution.has_value()) {
    return std::optional<Vector>();
  }
  Vector weights = Vector::Zero(state_.weights.size());
  weights(kernels) = *solution;
  return std::optional<Vector>(regularizer_.Normalized(weights));
}

absl::StatusOr<Vector> MklLoop::EnergiesOf(const Vector& dual, const std::vector<Index>& kernels,
                                           RunContext& context) const {
  Vector all = Vector::Zero(family_->num_kernels());
  if (!kernels.empty()) {
    Matrix energies(static_cast<Index>(kernels.size()), static_cast<Index>(inner_.ranges().size()));
    MERCER_RETURN_IF_ERROR(inner_.Energies(*family_, dual, kernels, energies, context));
    all(kernels) = energies.rowwise().sum();
  }
  return all;
}

absl::StatusOr<Vector> MklLoop::BiasesSoFar(RunContext& context) const {
  if (kernel_ == nullptr || kernel_weights_ != state_.weights || !inner_.has_point()) {
    return absl::FailedPreconditionError("no machine has been begun yet");
  }
  return inner_.BiasesSoFar(context);
}

absl::Status MklLoop::Load(ByteReader& reader, RunContext& context) {
  if (family_ != nullptr) {
    MERCER_RETURN_IF_ERROR(Prepare(context));
  }
  MERCER_RETURN_IF_ERROR(inner_.Load(reader, kernel_.get(), context));
  return state_.solving && !inner_.has_point()
             ? absl::InvalidArgumentError("not a state of the loop: no machine is being solved")
             : absl::OkStatus();
}

}  // namespace mercer
