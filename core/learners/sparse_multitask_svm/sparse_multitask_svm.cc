#include "core/learners/sparse_multitask_svm/sparse_multitask_svm.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/sparse_multitask_svm/tables.h"
#include "core/solvers/multitask/alternation_solver.h"
#include "core/solvers/multitask/column_kernels.h"
#include "core/solvers/multitask/dual_coordinate_solver.h"
#include "core/solvers/multitask/reweighted_solver.h"
#include "core/solvers/multitask/separate_tasks_solver.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "core/training/contract/single_task.h"
#include "core/training/terms/feature_term.h"

namespace mercer::sparse_multitask_svm {
namespace {

constexpr double kSliceOperations = 5e8;  // about 0.2 s
constexpr double kShareOfTarget = 0.5;    // the solver's gap, of that asked for

}  // namespace

// Of a related problem's solution the blocks that it has selected: those that the solver begins
// with.
absl::Status SparseMultitaskSvmLearner::Begin(const WarmStart* warm_start) {
  MERCER_RETURN_IF_ERROR(CheckRowsAndKernels(*problem_));
  MERCER_RETURN_IF_ERROR(CheckOptions(options_, *problem_));
  for (const TaskData& task : problem_->tasks) {
    if (!options_.allow_one_class) {
      MERCER_RETURN_IF_ERROR(InTask(task, CheckBothClasses(task.targets, task.costs)));
    }
  }
  const Matrix* weights = warm_start != nullptr && warm_start->point != nullptr
                              ? warm_start->point->witness.FindArray("weights")
                              : nullptr;
  if (weights != nullptr && weights->cols() == static_cast<Index>(problem_->kernels.size())) {
    for (Index k = 0; k < weights->cols(); ++k) {
      if ((weights->col(k).array() > 0).any()) {
        state_.first_blocks.push_back(k);
      }
    }
  }
  prepared_ = nullptr;
  solver_ = nullptr;
  return absl::OkStatus();
}

std::unique_ptr<MultitaskSolver> SparseMultitaskSvmLearner::MakeSolver() const {
  if (options_.sharing == Sharing::kJoint) {
    return MakeSolverOf(prepared_->problem);
  }
  return std::make_unique<SeparateTasksSolver>(
      prepared_->problem,
      [this](const MultitaskProblem& of_task) { return MakeSolverOf(of_task); });
}

std::unique_ptr<MultitaskSolver> SparseMultitaskSvmLearner::MakeSolverOf(
    const MultitaskProblem& problem) const {
  constexpr int64_t kMostConvexProblems = 100;
  constexpr int64_t kMostWeights = 2000;
  const double gap = kShareOfTarget * target_;
  const bool concave = options_.p < 1;
  const int64_t most_steps = options_.max_steps > 0 ? options_.max_steps
                             : concave              ? kMostConvexProblems
                                                    : kMostWeights;
  if (concave) {
    return std::make_unique<ReweightedSolver>(
        problem, ReweightedOptions{.p = options_.p,
                                   .smoothing_share = options_.smoothing,
                                   .stationarity = gap,
                                   .relative_decrease = 0,
                                   .relative_gap = 0.1 * gap,
                                   .max_steps = most_steps});
  }
  AlternationOptions options{.relative_gap = gap, .max_steps = most_steps};
  switch (options_.method) {
    case Method::kNewton:
      options.rule = TaskWeightRule::kNewton;
      break;
    case Method::kReducedGradient:
      options.rule = TaskWeightRule::kReducedGradient;
      break;
    case Method::kClosedForm:
      break;
    case Method::kCoordinateDescent:
      return std::make_unique<DualCoordinateSolver>(
          problem, DualCoordinateOptions{.relative_gap = gap, .max_steps = most_steps});
    case Method::kAuto:
    case Method::kInteriorPoint:
      if (problem.norm.is_joint()) {
        // Those of all tasks together are too many for one.
        return std::make_unique<WorkingSetSolver>(
            problem, gap,
            options_.sharing == Sharing::kJoint ? state_.first_blocks : std::vector<Index>());
      }
  }
  return std::make_unique<AlternationSolver>(problem, options);
}

absl::Status SparseMultitaskSvmLearner::Prepare(RunContext& context) {
  if (prepared_ != nullptr) {
    return absl::OkStatus();
  }
  context.ReportStage("kernels");
  MERCER_ASSIGN_OR_RETURN(PreparedProblem prepared, PrepareProblem(options_, *problem_, context));
  prepared_ = std::make_unique<const PreparedProblem>(std::move(prepared));
  return absl::OkStatus();
}

absl::Status SparseMultitaskSvmLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (!state_.begun) {
    std::unique_ptr<MultitaskSolver> solver = MakeSolver();
    MERCER_RETURN_IF_ERROR(solver->Start(context));
    solver_ = std::move(solver);
    state_.begun = true;
  } else {
    solver_->SetRelativeGap(kShareOfTarget * target_);
    for (double work = 0; work < kSliceOperations && !solver_->done();) {
      work += 1e6 + solver_->NextCost();
      MERCER_RETURN_IF_ERROR(solver_->Step(context));
    }
  }
  const bool good = solver_->best().RelativeGap() <= target_;
  if (solver_->done() && !good) {
    state_.stop = solver_->stop() == MultitaskStop::kIterationLimit ? StopReason::kIterationLimit
                                                                    : StopReason::kNumericalLimit;
  }
  return absl::OkStatus();
}

// The sum of separate tasks may be good before a task that is small against the others has begun.
double SparseMultitaskSvmLearner::Accuracy() const {
  double accuracy = solver_->best().RelativeGap();
  if (options_.sharing == Sharing::kSeparate && !solver_->done()) {
    for (size_t t = 0; t < problem_->tasks.size(); ++t) {
      const MultitaskSolver& own = static_cast<const SeparateTasksSolver&>(*solver_).of_task(t);
      accuracy = std::max(accuracy, own.best().RelativeGap());
    }
  }
  return accuracy;
}

StepReport SparseMultitaskSvmLearner::Report() const {
  const MultitaskBest& best = solver_->best();
  StepReport report;
  report.stage = "solve";
  report.primal = best.primal;
  report.dual = best.lower;
  report.accuracy = Accuracy();
  report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
  report.active_kernels = (best.weights.colwise().maxCoeff().array() > 0).count();
  for (const Vector& dual : best.dual) {
    report.support_vectors += (dual.array() != 0).count();
  }
  report.inner_iterations = solver_->iterations();
  report.has_model = true;
  report.stop = state_.stop;
  return report;
}

absl::StatusOr<TrainedPoint> SparseMultitaskSvmLearner::CurrentModel(
    RunContext& /*context*/) const {
  if (solver_ == nullptr) {
    return absl::FailedPreconditionError("the run has not begun");
  }
  TrainedPoint point = PointAt(solver_->best());
  if (options_.p < 1) {
    point.witness.arrays.emplace_back("smoothing", Smoothing());
  }
  return point;
}

Vector SparseMultitaskSvmLearner::Smoothing() const {
  const auto of = [](const MultitaskSolver& solver) {
    return static_cast<const ReweightedSolver&>(solver).smoothing();
  };
  if (options_.sharing == Sharing::kJoint) {
    return Vector::Constant(1, of(*solver_));
  }
  Vector smoothing(static_cast<Index>(problem_->tasks.size()));
  for (Index t = 0; t < smoothing.size(); ++t) {
    smoothing(t) =
        of(static_cast<const SeparateTasksSolver&>(*solver_).of_task(static_cast<size_t>(t)));
  }
  return smoothing;
}

// Of columns the sums of the rows, of other kernels the rows that count.
ModelFunction SparseMultitaskSvmLearner::FunctionAt(const MultitaskBest& at) const {
  const std::vector<TaskData>& tasks = problem_->tasks;
  const PreparedData& inputs = *tasks[0].inputs;
  if (!prepared_->layout.has_value()) {
    std::vector<ModelFunction> functions;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const auto row = static_cast<Index>(t);
      const Vector weights = at.weights.row(row).cwiseProduct(prepared_->scales.row(row));
      functions.push_back(MakeKernelFunction(inputs, tasks[t].rows, problem_->kernels, weights,
                                             at.dual[t], at.biases(static_cast<Index>(t))));
    }
    return MergeOutputs(functions, inputs);
  }
  const ColumnLayout& layout = *prepared_->layout;
  const std::vector<Index> places = layout.Inputs(inputs);
  const auto outputs = static_cast<Index>(tasks.size());
  ModelFunction function;
  function.bias.resize(outputs);
  FeatureTerm term;
  term.family.kind = FeatureFamilyKind::kColumns;
  for (const PreparedBlock& block : inputs.blocks) {
    term.num_inputs += block.values.cols();
  }
  std::vector<std::pair<Index, size_t>> selected;  // place of the input, column of the layout
  for (size_t c = 0; c < places.size(); ++c) {
    if ((at.weights.col(layout.block_of[c]).array() > 0).any()) {
      selected.emplace_back(places[c], c);
    }
  }
  std::sort(selected.begin(), selected.end());
  term.coefficients = Matrix::Zero(static_cast<Index>(selected.size()), outputs);
  for (const auto& [place, column] : selected) {
    term.groups.push_back({static_cast<double>(place)});
  }
  for (size_t t = 0; t < tasks.size(); ++t) {
    const auto output = static_cast<Index>(t);
    function.bias(output) = at.biases(static_cast<Index>(t));
    term.outputs.push_back(static_cast<int>(t));
    const auto& kernels = static_cast<const ColumnKernels&>(*prepared_->problem.tasks[t].blocks);
    for (size_t j = 0; j < selected.size(); ++j) {
      const auto column = static_cast<Index>(selected[j].second);
      const Index block = layout.block_of[selected[j].second];
      term.coefficients(static_cast<Index>(j), output) =
          at.weights(output, block) * std::sqrt(prepared_->scales(output, block)) *
          DotOfRows(kernels.Columns({column}).col(0), at.dual[t]);
    }
  }
  if (!selected.empty()) {
    function.terms.push_back(std::make_shared<const FeatureTerm>(std::move(term)));
  }
  return function;
}

TrainedPoint SparseMultitaskSvmLearner::PointAt(const MultitaskBest& at) const {
  TrainedPoint point;
  point.function = FunctionAt(at);
  Vector lower(problem_->num_rows());
  Index begin = 0;
  for (size_t t = 0; t < at.dual.size(); ++t) {
    point.witness.tasks.push_back(
        {at.dual[t], Vector::Constant(1, at.biases(static_cast<Index>(t)))});
    lower.segment(begin, at.lower_dual[t].size()) = at.lower_dual[t];
    begin += at.lower_dual[t].size();
    point.summary.num_support_vectors += (at.dual[t].array() != 0).count();
  }
  point.witness.arrays = {{"weights", at.weights}, {"lower_dual", std::move(lower)}};
  point.summary.SetKernels(problem_->kernels);
  point.summary.kernel_weights = at.weights.transpose();
  point.summary.tables =
      TablesOf(*problem_, at.norms, prepared_->problem.norm.JointNorms(at.norms));
  return point;
}

absl::StatusOr<TrainedPoint> SparseMultitaskSvmLearner::ConstantModel(RunContext& context) {
  const auto kernels = static_cast<Index>(problem_->kernels.size());
  const auto tasks = static_cast<Index>(problem_->tasks.size());
  const Matrix weights = Matrix::Zero(tasks, kernels);
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  TrainedPoint point;
  point.function.bias.resize(tasks);
  for (Index t = 0; t < tasks; ++t) {
    const TaskData& task = problem_->tasks[static_cast<size_t>(t)];
    const Vector zeros = Vector::Zero(task.targets.rows());
    MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                            loss->ExactBias(task.targets.col(0), task.costs, zeros, context));
    point.function.bias(t) = bias.chosen;
    point.witness.tasks.push_back({zeros, Vector::Constant(1, bias.chosen)});
  }
  point.witness.arrays = {{"weights", weights}, {"lower_dual", Vector::Zero(problem_->num_rows())}};
  if (options_.p < 1) {
    const Index norms = options_.sharing == Sharing::kJoint ? 1 : tasks;
    point.witness.arrays.emplace_back("smoothing", Vector::Zero(norms));
  }
  point.summary.SetKernels(problem_->kernels);
  point.summary.kernel_weights = weights.transpose();
  point.summary.tables = TablesOf(*problem_, weights, Vector::Zero(kernels));
  return point;
}

void SparseMultitaskSvmLearner::SaveParts(ByteWriter& writer) const {
  if (state_.begun) {
    solver_->Save(writer);
  }
}

absl::Status SparseMultitaskSvmLearner::LoadParts(ByteReader& reader, RunContext& context) {
  solver_ = nullptr;
  if (!state_.begun) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  std::unique_ptr<MultitaskSolver> solver = MakeSolver();
  MERCER_RETURN_IF_ERROR(OfPart(solver->Load(reader, context)));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

}  // namespace mercer::sparse_multitask_svm
