#include "core/learners/csi/csi.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/objectives/dual_ray.h"
#include "core/training/contract/single_task.h"

namespace mercer::csi {
namespace {

constexpr double kSliceOperations = 3e8;   // multiplications of a step, about 0.2 s
constexpr double kSolverOperations = 6e8;  // of floating point numbers, where solvers count those
constexpr Index kPanel = 256;              // pivots whose rows of G are gathered at a time
constexpr double kShareOfTarget = 0.5;     // the gap of each output, of that asked for
constexpr double kRoundingOfZero = 1e-27;
constexpr double kNoCoefficient = 1e-12;  // of the largest
constexpr double kMostCost = 1e140;       // squares of slopes are finite

}  // namespace

absl::Status CsiLearner::Begin(const WarmStart* /*warm_start*/) {
  MERCER_RETURN_IF_ERROR(CheckTaskRows(*problem_));
  FieldViolations violations;
  violations.Check(!problem_->kernels.empty(), "kernels", "at least one kernel is needed");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const TaskData& task = problem_->tasks[0];
  const bool classification = problem_->kind == TargetKind::kClassification;
  MERCER_ASSIGN_OR_RETURN(loss_,
                          MakeLoss(classification ? LossKind::kSquaredHinge : LossKind::kSquare));
  if (classification) {
    MERCER_RETURN_IF_ERROR(CheckBothClasses(task.targets, task.costs));
  }
  MERCER_RETURN_IF_ERROR(CheckLambda(task));
  kept_.clear();
  for (Index i = 0; i < task.costs.size(); ++i) {
    if (task.costs(i) > 0) {
      kept_.push_back(i);
    }
  }
  solver_ = nullptr;
  columns_ = nullptr;
  selected_ = nullptr;
  factor_.reset();
  feature_pivots_.clear();
  features_ = nullptr;
  return absl::OkStatus();
}

// The solver's problem is ours divided by lambda.
absl::Status CsiLearner::CheckLambda(const TaskData& task) const {
  const double largest_target = std::max(1.0, task.targets.lpNorm<Eigen::Infinity>());
  const Vector costs = task.costs / options_.lambda;
  const bool vanish = ((task.costs.array() > 0) && !(costs.array() >= 1 / kMostCost)).any();
  const std::string is = absl::StrCat("is ", options_.lambda);
  FieldViolations violations;
  violations.Check(SumOfRows(costs) <= kMostCost / largest_target, "lambda",
                   is + ", too small: the weights of the rows divided by it overflow");
  violations.Check(!vanish, "lambda",
                   is + ", too large: the weights of the rows divided by it vanish");
  return violations.ToStatus();
}

CsiOptions CsiLearner::SelectionOptions() const {
  return {.max_columns = options_.max_pivots,
          .kappa = options_.kappa,
          .look_ahead = options_.look_ahead,
          .tolerance = options_.tolerance};
}

const KernelColumns& CsiLearner::kept_columns() const {
  return selected_ != nullptr ? static_cast<const KernelColumns&>(*selected_) : *columns_;
}

SvmProblem CsiLearner::ProblemOf(Index output) const {
  const TaskData& task = problem_->tasks[0];
  return {loss_, task.targets.col(output)(kept_), task.costs(kept_) / options_.lambda};
}

std::unique_ptr<CurvedSvmSolver> CsiLearner::MakeSolver() const {
  return std::make_unique<CurvedSvmSolver>(MakeFeatureSystem(*features_), solver_gap_);
}

absl::Status CsiLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (!state_.progress.done) {
    return SelectPivots(context);
  }
  return state_.outputs.empty() ? StartOutputs(context) : Solve(context);
}

absl::Status CsiLearner::Prepare(RunContext& context) {
  if (columns_ != nullptr) {
    return absl::OkStatus();
  }
  const TaskData& task = problem_->tasks[0];
  context.ReportStage("kernels");
  MERCER_ASSIGN_OR_RETURN(
      columns_, KernelSumColumns::Make(task.inputs, task.rows, problem_->kernels, context));
  if (kept_.size() < task.rows.size()) {
    selected_ = std::make_unique<SelectedKernelColumns>(*columns_, kept_);
  }
  return absl::OkStatus();
}

// About how many multiplications a column of the kernel takes: distances once for each source, then
// the values of every kernel.
double CsiLearner::ColumnOperations() const {
  constexpr double kKernelValue = 10;
  const TaskData& task = problem_->tasks[0];
  const SourceFinder finder(*task.inputs);
  std::set<std::string> sources;
  double of_pair = 0;
  for (const KernelSpec& kernel : problem_->kernels) {
    const absl::StatusOr<KernelSource> source = finder.Find(kernel);
    if (source.ok() && sources.insert(SourceKey(*source)).second) {
      of_pair += static_cast<double>(std::max<size_t>(1, source->columns.size()));
    }
    of_pair += kKernelValue;
  }
  return static_cast<double>(task.rows.size()) * of_pair;
}

absl::Status CsiLearner::SelectPivots(RunContext& context) {
  if (!HasKernel()) {  // a kernel that is zero has no pivots; the model is a bias
    state_.progress.done = true;
    return absl::OkStatus();
  }
  const Matrix& targets = problem_->tasks[0].targets;
  if (!factor_.has_value()) {
    MERCER_ASSIGN_OR_RETURN(
        CsiFactor factor,
        CsiFactor::Make(kept_columns(), targets(kept_, Eigen::all), SelectionOptions()));
    factor_.emplace(std::move(factor));
    MERCER_RETURN_IF_ERROR(factor_->Restore(state_.progress, context));
  }
  const auto most = static_cast<double>(
      std::min<int64_t>(options_.max_pivots, static_cast<int64_t>(kept_.size())));
  const double column = ColumnOperations();
  for (double operations = 0; operations < kSliceOperations && !factor_->done();) {
    context.ReportStage("pivots", static_cast<double>(factor_->cholesky().rank()) / most);
    operations += factor_->NextOperations() + 2 * column;
    MERCER_RETURN_IF_ERROR(factor_->Advance(context));
  }
  state_.progress = factor_->progress();
  state_.criterion = factor_->objective().back();
  if (state_.progress.done) {
    feature_pivots_ = state_.progress.pivots;
    features_ = std::make_unique<Matrix>((*std::move(factor_)).TakeCholesky().TakeFactor());
    factor_.reset();
  }
  return absl::OkStatus();
}

// Makes the factor G of pivots that are known.
absl::Status CsiLearner::BuildFeatures(RunContext& context) {
  if (features_ != nullptr && feature_pivots_ == state_.progress.pivots) {
    return absl::OkStatus();
  }
  const KernelColumns& kernel = kept_columns();
  IncompleteCholesky cholesky(kernel, static_cast<Index>(state_.progress.pivots.size()));
  for (const Index pivot : state_.progress.pivots) {
    if (pivot < 0 || pivot >= kernel.size() || !(cholesky.diagonal()(pivot) > 0)) {
      return absl::DataLossError("not a state of csi for this problem");
    }
    MERCER_RETURN_IF_ERROR(cholesky.Append(pivot, context));
  }
  feature_pivots_ = state_.progress.pivots;
  features_ = std::make_unique<Matrix>(std::move(cholesky).TakeFactor());
  return absl::OkStatus();
}

// Every output begins at its best constant, so that there is a model whenever a run ends.
absl::Status CsiLearner::StartOutputs(RunContext& context) {
  MERCER_RETURN_IF_ERROR(BuildFeatures(context));
  context.ReportStage("solve");
  const Vector zero = Vector::Zero(static_cast<Index>(kept_.size()));
  std::vector<CsiOutput> outputs;
  for (Index o = 0; o < problem_->num_outputs(); ++o) {
    const SvmProblem problem = ProblemOf(o);
    MERCER_ASSIGN_OR_RETURN(
        const SvmCertificate certificate,
        CertifySvm(*loss_, problem.targets, problem.costs, zero, zero, true, context));
    CsiOutput output;
    output.weights = Vector::Zero(features_->cols());
    output.bias = certificate.bias.chosen;
    output.primal = certificate.primal;
    MERCER_RETURN_IF_ERROR(TakeDual(problem, zero, certificate, output, context));
    outputs.push_back(std::move(output));
  }
  state_.outputs = std::move(outputs);
  return absl::OkStatus();
}

// Takes a dual over when its best multiple is a higher bound than that of the one before.
absl::Status CsiLearner::TakeDual(const SvmProblem& problem, const Vector& dual,
                                  const SvmCertificate& certificate, CsiOutput& output,
                                  const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const DualRay ray,
                          MaximizeOnDualRay(*loss_, problem.targets, problem.costs, dual,
                                            certificate.quadratic_form, context));
  const double lower = std::max(certificate.dual, ray.value);
  if (lower > output.lower) {
    output.dual = Vector::Zero(problem_->tasks[0].targets.rows());
    output.dual(kept_) = dual;
    output.lower = lower;
  }
  return absl::OkStatus();
}

bool CsiLearner::IsSolved(const CsiOutput& output) const {
  return output.stuck || RelativeGap(output.primal, output.lower) <= kShareOfTarget * target_;
}

// Solves outputs in turn; those that are solved are left out.
absl::Status CsiLearner::Solve(RunContext& context) {
  context.ReportStage("solve");
  const std::vector<CsiOutput>& outputs = state_.outputs;
  state_.stuck = solver_ == nullptr &&
                 std::all_of(outputs.begin(), outputs.end(),
                             [this](const CsiOutput& output) { return IsSolved(output); });
  double operations = 0;
  size_t solved = 0;  // in succession
  while (operations < kSolverOperations && solved < outputs.size()) {
    if (solver_ == nullptr && IsSolved(outputs[state_.next_output])) {
      state_.next_output = (state_.next_output + 1) % outputs.size();
      ++solved;
      continue;
    }
    solved = 0;
    MERCER_ASSIGN_OR_RETURN(const double of_step, SolveNextOutput(context));
    operations += of_step;
  }
  return absl::OkStatus();
}

// Makes a step of the solver of the output whose turn it is, and says about how many operations
// that took.
absl::StatusOr<double> CsiLearner::SolveNextOutput(RunContext& context) {
  CsiOutput& output = state_.outputs[state_.next_output];
  if (solver_ == nullptr) {
    solver_gap_ = kShareOfTarget * target_;
    std::unique_ptr<CurvedSvmSolver> solver = MakeSolver();
    MERCER_RETURN_IF_ERROR(solver->Start(ProblemOf(static_cast<Index>(state_.next_output)),
                                         {.dual = output.dual(kept_)}, context));
    solver_ = std::move(solver);
  }
  const double operations = solver_->NextCost();
  const int64_t before = solver_->iterations();
  MERCER_RETURN_IF_ERROR(solver_->Step(1, context));
  const SvmCertificate& certificate = solver_->certificate();
  MERCER_RETURN_IF_ERROR(
      TakeDual(solver_->problem(), solver_->dual(), certificate, output, context));
  if (certificate.primal < output.primal) {
    output.weights = solver_->weights();
    output.bias = certificate.bias.chosen;
    output.primal = certificate.primal;
  }
  state_.iterations += solver_->iterations() - before;
  if (solver_->done() || IsSolved(output)) {
    output.stuck = solver_->done() && solver_->stop() != SvmStop::kRelativeGap;
    solver_ = nullptr;
  }
  return operations;
}

StepReport CsiLearner::Report() const {
  StepReport report;
  report.active_kernels = static_cast<Index>(problem_->kernels.size());
  report.support_vectors = static_cast<Index>(state_.progress.pivots.size());
  if (state_.outputs.empty()) {
    report.stage = "pivots";
    report.fraction = 0.9 * static_cast<double>(state_.progress.pivots.size()) /
                      static_cast<double>(options_.max_pivots);
    return report;
  }
  const TaskData& task = problem_->tasks[0];
  report.stage = "solve";
  report.primal = 0;
  report.dual = 0;
  for (const CsiOutput& output : state_.outputs) {
    report.primal += options_.lambda * output.primal;
    report.dual += options_.lambda * output.lower;
  }
  report.inner_iterations = static_cast<Index>(state_.iterations);
  report.accuracy = RelativeGap(report.primal, report.dual);
  report.fraction = 0.9 + 0.1 * FractionOfGap(report.accuracy, problem_->relative_gap);
  report.has_model = true;
  const double size = std::max(1.0, SquaredNormOfColumns(task.targets));
  if (report.primal <= kRoundingOfZero * task.costs.maxCoeff() * size) {
    report.stop = StopReason::kObjectiveZero;
  } else if (state_.stuck) {
    report.stop = StopReason::kNumericalLimit;
  }
  return report;
}

// The coefficients a = G_I^-T w, pivots x outputs, by back substitution, panel by panel from the
// last pivots on. What rounding leaves where rows beyond the margin have nothing to say is no
// coefficient.
absl::StatusOr<Matrix> CsiLearner::Coefficients(RunContext& context) const {
  const auto pivots = static_cast<Index>(feature_pivots_.size());
  Matrix coefficients(pivots, static_cast<Index>(state_.outputs.size()));
  for (size_t o = 0; o < state_.outputs.size(); ++o) {
    coefficients.col(static_cast<Index>(o)) = state_.outputs[o].weights;
  }
  for (Index end = pivots; end > 0;) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index width = std::min(kPanel, end);
    const Index begin = end - width;
    const std::vector<Index> from_panel_on(feature_pivots_.begin() + begin, feature_pivots_.end());
    const Matrix factor = (*features_)(from_panel_on, Eigen::seqN(begin, width));
    auto of_panel = coefficients.middleRows(begin, width);
    of_panel.noalias() -=
        factor.bottomRows(pivots - end).transpose() * coefficients.bottomRows(pivots - end);
    factor.topRows(width).triangularView<Eigen::Lower>().transpose().solveInPlace(of_panel);
    end = begin;
  }
  if (pivots > 0) {
    const double least = kNoCoefficient * coefficients.cwiseAbs().maxCoeff();
    coefficients = (coefficients.array().abs() > least).select(coefficients, 0.0);
  }
  return coefficients;
}

absl::StatusOr<TrainedPoint> CsiLearner::CurrentModel(RunContext& context) const {
  if (state_.outputs.empty()) {
    return absl::FailedPreconditionError("the pivots have not been chosen yet");
  }
  const TaskData& task = problem_->tasks[0];
  MERCER_ASSIGN_OR_RETURN(const Matrix coefficients, Coefficients(context));
  const Index pivots = coefficients.rows();
  TaskWitness witness{Matrix(task.targets.rows(), coefficients.cols()),
                      Vector(coefficients.cols())};
  Matrix pivot_rows(pivots, 1);
  std::vector<std::pair<Index, Index>> order;  // row of the inputs, place among the pivots
  for (Index p = 0; p < pivots; ++p) {
    const Index row = kept_[static_cast<size_t>(feature_pivots_[static_cast<size_t>(p)])];
    pivot_rows(p, 0) = static_cast<double>(row);
    order.emplace_back(task.rows[static_cast<size_t>(row)], p);
  }
  std::sort(order.begin(), order.end());
  std::vector<Index> rows;
  std::vector<Index> places;
  for (const auto& [row, place] : order) {
    rows.push_back(row);
    places.push_back(place);
  }
  TrainedPoint point;
  std::vector<ModelFunction> parts;
  for (Index o = 0; o < coefficients.cols(); ++o) {
    const CsiOutput& output = state_.outputs[static_cast<size_t>(o)];
    witness.dual.col(o) = output.dual;
    witness.bias(o) = output.bias;
    parts.push_back(MakeKernelFunction(*task.inputs, rows, problem_->kernels, columns_->scales(),
                                       coefficients.col(o)(places), witness.bias(o)));
  }
  point.function = MergeOutputs(parts, *task.inputs);
  point.witness.tasks.push_back(std::move(witness));
  point.witness.arrays = {{"pivots", std::move(pivot_rows)}, {"coefficients", coefficients}};
  point.witness.values = {{"criterion", state_.criterion}};
  point.summary.SetKernels(problem_->kernels);
  point.summary.kernel_weights =
      Matrix::Ones(static_cast<Index>(problem_->kernels.size()), coefficients.cols());
  point.summary.num_support_vectors = (coefficients.array() != 0).count();
  return point;
}

// The model of a run without pivots: the biases alone.
absl::StatusOr<TrainedPoint> CsiLearner::ConstantModel(RunContext& context) {
  CsiLearner constant(options_);
  MERCER_RETURN_IF_ERROR(constant.Start(*problem_, nullptr));
  MERCER_RETURN_IF_ERROR(constant.Prepare(context));
  constant.state_.progress.done = true;
  MERCER_RETURN_IF_ERROR(constant.StartOutputs(context));
  while (!constant.state_.stuck) {
    MERCER_RETURN_IF_ERROR(constant.Solve(context));
  }
  return constant.CurrentModel(context);
}

}  // namespace mercer::csi
