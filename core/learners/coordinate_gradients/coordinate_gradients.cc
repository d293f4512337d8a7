#include "core/learners/coordinate_gradients/coordinate_gradients.h"

#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/coordinate_gradients/function.h"
#include "core/learners/coordinate_gradients/own_gradient.h"
#include "core/learners/coordinate_gradients/tables.h"
#include "core/solvers/gradients/pair_kernel.h"
#include "core/solvers/gradients/pair_solver.h"
#include "core/training/contract/input_columns.h"
#include "core/training/contract/single_task.h"

namespace mercer::coordinate_gradients {
namespace {

constexpr double kShareOfTarget = 0.5;  // the solver's gap, of that asked for

}  // namespace

absl::Status CoordinateGradientsLearner::Begin(const WarmStart* /*warm_start*/) {
  prepared_ = nullptr;
  solver_ = nullptr;
  return CheckProblem(options_, *problem_);
}

absl::Status CoordinateGradientsLearner::Prepare(RunContext& context) {
  if (prepared_ != nullptr) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(PreparedProblem prepared, PrepareProblem(options_, *problem_, context));
  prepared_ = std::make_unique<const PreparedProblem>(std::move(prepared));
  return absl::OkStatus();
}

std::unique_ptr<CoordinateWeightSolver> CoordinateGradientsLearner::MakeSolver() const {
  CoordinateWeightOptions options;
  options.relative_gap = state_.gap;
  options.method = options_.method;
  options.max_steps = options_.MostSteps();
  return std::make_unique<CoordinateWeightSolver>(prepared_->problem, options);
}

absl::Status CoordinateGradientsLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  context.ReportStage("solve");
  MERCER_RETURN_IF_ERROR(options_.own_gradient      ? SolveOwnGradient(context)
                         : options_.HasAllColumns() ? SolveFixed(context)
                                                    : StepWeights(context));
  state_.begun = true;
  if (!(state_.primal > 1e-300)) {
    state_.stop = StopReason::kObjectiveZero;
  }
  return absl::OkStatus();
}

absl::Status CoordinateGradientsLearner::SolveFixed(RunContext& context) {
  const GradientProblem& problem = prepared_->problem;
  const Vector ones = BestWeights();
  MERCER_ASSIGN_OR_RETURN(const auto kernel, DiagonalPairKernel::Make(problem, ones, context));
  const PairMachine machine{*problem.loss, problem.pair_targets, problem.pair_costs};
  MERCER_ASSIGN_OR_RETURN(const PairSolution solved,
                          SolvePairs(machine, *kernel, state_.dual, context));
  MERCER_ASSIGN_OR_RETURN(
      const GradientPoint at,
      EvaluateGradients(problem, CoordinateWeights::kFixed, ones, solved.dual, context));
  TakeSolution(at.dual, at.upper, at.lower);
  return absl::OkStatus();
}

void CoordinateGradientsLearner::TakeSolution(const Vector& dual, double upper, double lower) {
  state_.dual = dual;
  state_.primal = upper;
  state_.lower = lower;
  if (RelativeGap(upper, lower) > target_) {
    state_.stop = StopReason::kNumericalLimit;
  }
}

absl::Status CoordinateGradientsLearner::SolveOwnGradient(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const OwnGradientMachine own,
                          MakeOwnGradientMachine(*problem_, *prepared_, context));
  MERCER_ASSIGN_OR_RETURN(const PairSolution solved,
                          SolvePairs(own.machine, *own.kernel, state_.dual, context));
  MERCER_ASSIGN_OR_RETURN(const MachinePoint at,
                          EvaluateMachine(own.machine, *own.kernel, solved.dual, context));
  TakeSolution(at.dual, at.upper, at.lower);
  return absl::OkStatus();
}

// One that ended at a larger gap goes on from its weights.
absl::Status CoordinateGradientsLearner::StepWeights(RunContext& context) {
  const double gap = kShareOfTarget * target_;
  if (!state_.begun || (solver_->stop() == GradientStop::kRelativeGap && gap < state_.gap)) {
    const Vector weights = state_.begun ? solver_->best().weights : Vector();
    state_.gap = gap;
    std::unique_ptr<CoordinateWeightSolver> solver = MakeSolver();
    MERCER_RETURN_IF_ERROR(solver->Start(weights, context));
    solver_ = std::move(solver);
  } else {
    MERCER_RETURN_IF_ERROR(solver_->Step(context));
  }
  const GradientBest& best = solver_->best();
  state_.primal = best.upper;
  state_.lower = best.lower;
  const bool good = RelativeGap(best.upper, best.lower) <= target_;
  if (solver_->done() && !good) {
    state_.stop = solver_->stop() == GradientStop::kIterationLimit ? StopReason::kIterationLimit
                                                                   : StopReason::kNumericalLimit;
  }
  return absl::OkStatus();
}

Vector CoordinateGradientsLearner::BestWeights() const {
  return options_.HasAllColumns() ? Vector(Vector::Ones(prepared_->problem.num_columns()))
                                  : solver_->best().weights;
}

StepReport CoordinateGradientsLearner::Report() const {
  StepReport report;
  report.stage = "solve";
  report.primal = state_.primal;
  report.dual = state_.lower;
  report.accuracy = RelativeGap(state_.primal, state_.lower);
  report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
  report.active_kernels = (BestWeights().array() > 0).count();
  report.support_vectors =
      ((options_.HasAllColumns() ? state_.dual : solver_->best().dual).array() != 0).count();
  report.inner_iterations = options_.HasAllColumns() ? 1 : solver_->steps();
  report.has_model = true;
  report.stop = state_.stop;
  return report;
}

absl::StatusOr<TrainedPoint> CoordinateGradientsLearner::CurrentModel(RunContext& context) const {
  if (!state_.begun || prepared_ == nullptr) {
    return absl::FailedPreconditionError("the run has not begun");
  }
  if (options_.own_gradient) {
    MERCER_ASSIGN_OR_RETURN(TrainedPoint point, OwnGradientPoint(options_, *problem_, *prepared_,
                                                                 state_.dual, context));
    DescribeKernels(point);
    return point;
  }
  MERCER_ASSIGN_OR_RETURN(
      const GradientPoint at,
      EvaluateGradients(prepared_->problem, KindOf(options_), BestWeights(),
                        options_.HasAllColumns() ? state_.dual : solver_->best().dual, context));
  return PointAt(at, context);
}

absl::StatusOr<TrainedPoint> CoordinateGradientsLearner::PointAt(const GradientPoint& at,
                                                                 RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(ModelFunction function,
                          FunctionOf(options_, *problem_, *prepared_, at, context));
  MERCER_ASSIGN_OR_RETURN(std::vector<ModelTable> tables,
                          TablesOf(options_, *problem_, prepared_->problem, at, context));
  return PointOf(std::move(function), at, std::move(tables));
}

TrainedPoint CoordinateGradientsLearner::PointOf(ModelFunction function, const GradientPoint& at,
                                                 std::vector<ModelTable> tables) const {
  TrainedPoint point;
  point.function = std::move(function);
  DescribeKernels(point);
  point.summary.tables = std::move(tables);
  point.witness.arrays = {{"weights", at.weights}, {"pair_dual", at.dual}};
  if (solver_ != nullptr && solver_->best().bound_dual != at.dual) {
    point.witness.arrays.push_back({"bound_dual", solver_->best().bound_dual});
  }
  return point;
}

void CoordinateGradientsLearner::DescribeKernels(TrainedPoint& point) const {
  point.summary.SetKernels(problem_->kernels);
  point.summary.kernel_weights = Matrix::Ones(static_cast<Index>(problem_->kernels.size()), 1);
  point.summary.num_support_vectors =
      point.function.bases.empty() ? 0 : point.function.bases.front().data->rows;
}

// The functions 0. Its witness has no dual variables: how many pairs there are is not known yet.
absl::StatusOr<TrainedPoint> CoordinateGradientsLearner::ConstantModel(RunContext& context) {
  const Index columns = CountInputs(*problem_);
  GradientPoint at;
  at.weights =
      Vector::Constant(columns, options_.HasAllColumns() ? 1 : 1 / static_cast<double>(columns));
  at.energies = Vector::Zero(columns);
  ModelFunction zero;
  zero.bias = Vector::Zero(1);
  MERCER_ASSIGN_OR_RETURN(std::vector<ModelTable> tables,
                          TablesOf(options_, *problem_, GradientProblem(), at, context));
  return PointOf(std::move(zero), at, std::move(tables));
}

void CoordinateGradientsLearner::SaveParts(ByteWriter& writer) const {
  if (state_.begun && !options_.HasAllColumns()) {
    solver_->Save(writer);
  }
}

absl::Status CoordinateGradientsLearner::LoadParts(ByteReader& reader, RunContext& context) {
  solver_ = nullptr;
  if (!state_.begun) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (options_.HasAllColumns()) {
    return state_.dual.size() == NumDuals(*problem_, *prepared_, options_) ? absl::OkStatus()
                                                                           : NotAState();
  }
  std::unique_ptr<CoordinateWeightSolver> solver = MakeSolver();
  MERCER_RETURN_IF_ERROR(OfPart(solver->Load(reader)));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

}  // namespace mercer::coordinate_gradients
