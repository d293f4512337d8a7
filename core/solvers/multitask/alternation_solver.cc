#include "core/solvers/multitask/alternation_solver.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/weight_hessian.h"
#include "core/solvers/mkl/weight_method.h"
#include "core/solvers/svm/curved_samples.h"

namespace mercer {
namespace {

constexpr double kFirstMachineGap = 1e-2;
constexpr double kShareOfMachine = 0.1;  // of the gap of the whole
constexpr double kCoarseMachine = 0.3;   // of that gap: the next ones are solved more exactly
constexpr double kLeastMachineGap = 1e-13;
constexpr int64_t kFirstSteps = 8;  // in closed form, before Newton's
constexpr int64_t kMostShortened = 5;
constexpr double kShorter = 0.35;

}  // namespace

absl::Status AlternationSolver::Start(RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckMultitaskProblem(problem_));
  const TaskNorm& norm = problem_.norm;
  const bool gradient = options_.rule == TaskWeightRule::kReducedGradient;
  if (options_.rule != TaskWeightRule::kClosedForm &&
      (!norm.is_joint() || norm.form() != TaskNormForm::kSquared)) {
    return absl::InvalidArgumentError("these steps of weights are for p = 1, q = 2, squared");
  }
  const Index blocks = problem_.num_blocks();
  state_ = {};
  state_.duals = DualOfConstants(problem_);
  kernel_ = nullptr;
  machine_ = nullptr;
  method_ = gradient ? std::make_unique<ReducedGradientMethod>(blocks) : nullptr;
  state_.simplex = Vector::Constant(blocks, 1 / static_cast<double>(blocks));
  state_.machine_gap = std::max(kFirstMachineGap, kShareOfMachine * relative_gap_);
  TakeWeights(norm.FirstWeights(problem_.num_tasks(), blocks));
  MERCER_ASSIGN_OR_RETURN(const MultitaskPoint constants,
                          EvaluateMultitask(problem_, state_.duals,
                                            Matrix::Zero(problem_.num_tasks(), blocks), context));
  state_.best.Improve(constants);
  if (IsTrivial(problem_) || state_.best.RelativeGap() <= relative_gap_) {
    state_.stop = MultitaskStop::kRelativeGap;
  }
  return absl::OkStatus();
}

void AlternationSolver::SetRelativeGap(double relative_gap) {
  state_.stop = StopAtGap(state_.stop, state_.best, relative_gap);
  relative_gap_ = relative_gap;
}

void AlternationSolver::TakeWeights(Matrix weights) {
  state_.weights = std::move(weights);
  state_.task = 0;
  state_.lower = 0;
  state_.upper = 0;
}

absl::Status AlternationSolver::MakeMachine(RunContext& context) {
  const MultitaskTask& task = problem_.tasks[static_cast<size_t>(state_.task)];
  const Vector weights = state_.weights.row(state_.task);
  MERCER_ASSIGN_OR_RETURN(kernel_, task.blocks->Combine(weights, context));
  machine_ = std::make_unique<InnerSolver>(InnerSolverChoice::kAuto,
                                           SvmProblem{problem_.loss, task.targets, task.costs});
  return absl::OkStatus();
}

absl::Status AlternationSolver::StartMachine(RunContext& context) {
  state_.task = NextMachine(problem_, state_.task);
  if (state_.task == problem_.num_tasks()) {
    return EndMachines(context);
  }
  MERCER_RETURN_IF_ERROR(MakeMachine(context));
  state_.solving = true;
  return machine_->Start(*kernel_, state_.duals[static_cast<size_t>(state_.task)],
                         state_.machine_gap, context);
}

absl::Status AlternationSolver::Step(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  if (!state_.solving) {
    return StartMachine(context);
  }
  MERCER_RETURN_IF_ERROR(machine_->Step(context));
  if (machine_->done()) {
    state_.duals[static_cast<size_t>(state_.task)] = machine_->dual();
    // At the dual as it is, not at the best multiples of it: what the next point has.
    state_.lower += machine_->certificate().unscaled_dual;
    state_.upper += machine_->certificate().unscaled_primal;
    state_.solving = false;
    machine_ = nullptr;
    kernel_ = nullptr;
    ++state_.task;
  }
  return absl::OkStatus();
}

absl::Status AlternationSolver::EndMachines(RunContext& context) {
  ++state_.steps;
  MERCER_ASSIGN_OR_RETURN(const MultitaskPoint point,
                          EvaluateMultitask(problem_, state_.duals, state_.weights, context));
  state_.best.Improve(point);
  state_.stop = StopOf(state_.best, relative_gap_, state_.steps, options_.max_steps);
  return MoveWeights(point, context);
}

absl::Status AlternationSolver::MoveWeights(const MultitaskPoint& point, RunContext& context) {
  const double gap = state_.best.RelativeGap();
  // Machines are certified by the best multiples of their duals, and may be less exact as they are.
  const bool coarse = MultitaskGap(state_.upper, state_.lower) > kCoarseMachine * gap;
  state_.machine_gap = std::max(
      kLeastMachineGap,
      std::min((coarse ? kShareOfMachine : 1.0) * state_.machine_gap, kShareOfMachine * gap));
  if (options_.rule == TaskWeightRule::kClosedForm) {
    TakeWeights(problem_.norm.NextWeights(point.Norms(), point.energies));
    return absl::OkStatus();
  }
  const Vector beta = problem_.norm.BlockWeights(problem_.num_blocks());
  const Vector squares = beta.array().square();
  const Vector energies = point.energies.colwise().sum().transpose().cwiseQuotient(squares);
  if (method_ != nullptr) {
    const PointBounds bounds{.primal = state_.best.primal, .dual = state_.best.lower};
    const Vector before = state_.simplex;
    state_.simplex = method_->Next({before, energies, bounds, bounds.primal - bounds.dual,
                                    state_.lower, state_.upper, point.linear},
                                   relative_gap_);
    // Weights that stay ask for the same machines, more exactly solved.
    const double asked =
        state_.simplex == before ? 0.5 * state_.machine_gap : method_->inner_gap_share() * gap;
    state_.machine_gap = std::max(kLeastMachineGap, std::min(state_.machine_gap, asked));
  } else if (state_.newton_from.size() > 0 && state_.lower > state_.newton_upper &&
             state_.shortened < kMostShortened) {
    state_.simplex = state_.newton_from + kShorter * (state_.simplex - state_.newton_from);
    ++state_.shortened;
  } else {
    MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> next, NewtonStep(energies, context));
    state_.newton_from = next.has_value() ? state_.simplex : Vector();
    state_.newton_upper = state_.upper;
    state_.shortened = 0;
    state_.simplex = next.has_value() ? *next : LpBall(1).OverRelaxed(state_.simplex, energies);
  }
  TakeWeights(state_.simplex.cwiseQuotient(squares).transpose().replicate(problem_.num_tasks(), 1));
  return absl::OkStatus();
}

// Weights at which the model of the optimum is least; nothing where there is none.
absl::StatusOr<std::optional<Vector>> AlternationSolver::NewtonStep(const Vector& energies,
                                                                    RunContext& context) {
  const LpBall simplex(1);
  const std::vector<Index> blocks = simplex.Candidates(state_.simplex, energies);
  if (state_.steps <= kFirstSteps || blocks.size() > kMaxModelKernels) {
    return std::optional<Vector>();
  }
  const auto count = static_cast<Index>(blocks.size());
  WeightModel model{state_.simplex(blocks), energies(blocks), Matrix::Zero(count, count)};
  bool curved = false;
  for (size_t t = 0; t < problem_.tasks.size(); ++t) {
    MERCER_ASSIGN_OR_RETURN(const std::optional<Matrix> hessian, HessianOf(t, blocks, context));
    if (hessian.has_value()) {
      model.hessian += *hessian;
      curved = true;
    }
  }
  if (!curved) {
    return std::optional<Vector>();
  }
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> solution,
                          simplex.SolveModel(model, blocks, context));
  if (!solution.has_value()) {
    return std::optional<Vector>();
  }
  Vector next = Vector::Zero(state_.simplex.size());
  next(blocks) = *solution;
  return std::optional<Vector>(simplex.Normalized(next));
}

// Of the machine of a task, in the weights d; nothing where its dual is at its bounds.
absl::StatusOr<std::optional<Matrix>> AlternationSolver::HessianOf(size_t t,
                                                                   const std::vector<Index>& blocks,
                                                                   RunContext& context) const {
  const MultitaskTask& task = problem_.tasks[t];
  const Vector& dual = state_.duals[t];
  const CurvedSamples free = FreeSamples({*problem_.loss, task.targets, task.costs}, dual);
  if (free.rows.size() < 2) {
    return std::optional<Matrix>();
  }
  Matrix products(static_cast<Index>(free.rows.size()), static_cast<Index>(blocks.size()));
  MERCER_RETURN_IF_ERROR(task.blocks->Products(dual, blocks, free.rows, products, context));
  const Vector beta = problem_.norm.BlockWeights(problem_.num_blocks())(blocks);
  products *= beta.array().square().inverse().matrix().asDiagonal();
  const Vector weights = state_.weights.row(static_cast<Index>(t));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelOperator> kernel,
                          task.blocks->Combine(weights, context));
  return WeightHessian(*kernel, free, products, context);
}

void AlternationSolver::Save(ByteWriter& writer) const {
  WriteFields(state_, writer, problem_);
  if (method_ != nullptr) {
    method_->Save(writer);
  }
  if (state_.solving) {
    machine_->Save(writer);
  }
}

absl::Status AlternationSolver::Load(ByteReader& reader, RunContext& context) {
  State read;
  if (!ReadFields(reader, read, problem_)) {
    return absl::InvalidArgumentError("not a state of the alternation");
  }
  state_ = std::move(read);
  kernel_ = nullptr;
  machine_ = nullptr;
  method_ = nullptr;
  if (options_.rule == TaskWeightRule::kReducedGradient) {
    method_ = std::make_unique<ReducedGradientMethod>(problem_.num_blocks());
    MERCER_RETURN_IF_ERROR(method_->Load(reader));
  }
  if (state_.solving) {
    MERCER_RETURN_IF_ERROR(MakeMachine(context));
    return machine_->Load(reader, kernel_.get(), context);
  }
  return absl::OkStatus();
}

}  // namespace mercer
