#include "core/solvers/group/group_problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/solvers/group/admm_group_solver.h"
#include "core/solvers/group/fista_group_solver.h"
#include "core/solvers/group/newton_group_solver.h"

namespace mercer {
namespace {

absl::Status CheckTask(const GroupProblem& problem, Index t) {
  const GroupTask& task = problem.task(t);
  if (task.columns == nullptr || task.targets.size() != task.columns->rows() ||
      task.costs.size() != task.columns->rows() || task.columns->rows() == 0 ||
      task.columns->cols() != problem.num_columns()) {
    return absl::InvalidArgumentError(absl::StrCat("task ", t, ": sizes do not agree"));
  }
  if (!task.targets.allFinite() || !task.costs.allFinite() || (task.costs.array() < 0).any()) {
    return absl::InvalidArgumentError(
        absl::StrCat("task ", t, ": targets and costs must be finite, costs >= 0"));
  }
  if (problem.loss->is_margin_loss() && (task.targets.array().abs() != 1).any()) {
    return absl::InvalidArgumentError(absl::StrCat("task ", t, ": targets must be -1 or +1"));
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const GroupProblem& problem) {
  const std::vector<Index>& begin = problem.group_begin;
  if (begin.empty() || begin.front() != 0 ||
      std::adjacent_find(begin.begin(), begin.end(), std::greater_equal<>()) != begin.end()) {
    return absl::InvalidArgumentError("groups must begin at 0 and hold at least one column each");
  }
  if (problem.group_weights.size() != problem.num_groups() || !problem.group_weights.allFinite() ||
      (problem.group_weights.array() <= 0).any()) {
    return absl::InvalidArgumentError("every group needs a weight > 0");
  }
  return absl::OkStatus();
}

// Gives the point rows of zeros for columns that are new.
void Widen(Index columns, GroupPoint& point) {
  const Index known = point.shared.size();
  point.specific.conservativeResize(columns, Eigen::NoChange);
  point.specific.bottomRows(columns - known).setZero();
  point.shared.conservativeResize(columns);
  point.shared.tail(columns - known).setZero();
}

absl::Status DamagedState() {
  return absl::InvalidArgumentError("the state does not fit the problem");
}

}  // namespace

absl::Status GroupProblem::Check() const {
  if (loss == nullptr || tasks.empty()) {
    return absl::InvalidArgumentError("a loss and at least one task are needed");
  }
  MERCER_RETURN_IF_ERROR(CheckGroups(*this));
  for (Index t = 0; t < num_tasks(); ++t) {
    MERCER_RETURN_IF_ERROR(CheckTask(*this, t));
  }
  if (!(specific.lambda > 0) || !(shared.lambda > 0) || (!has_specific() && !has_shared())) {
    return absl::InvalidArgumentError("both lambdas must be > 0, and one of them finite");
  }
  return absl::OkStatus();
}

GroupPoint GroupPoint::Zero(Index columns, Index tasks) {
  return {Matrix::Zero(columns, tasks), Vector::Zero(columns), Vector::Zero(tasks)};
}

bool GroupPoint::Fits(const GroupProblem& problem) const {
  return specific.rows() == problem.num_columns() && specific.cols() == problem.num_tasks() &&
         shared.size() == problem.num_columns() && bias.size() == problem.num_tasks();
}

// The best bias of each task for its scores without a bias.
absl::Status GroupSolver::OptimizeBias(GroupPoint& point, const GroupEvaluation& evaluation,
                                       const RunContext& context) const {
  for (Index t = 0; problem_.bias && t < problem_.num_tasks(); ++t) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const GroupTask& task = problem_.task(t);
    const Vector scores = evaluation.scores[static_cast<size_t>(t)].array() - point.bias(t);
    MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                            problem_.loss->ExactBias(task.targets, task.costs, scores, context));
    point.bias(t) = bias.chosen;
  }
  return absl::OkStatus();
}

absl::Status GroupSolver::Evaluate(const GroupPoint& point, GroupEvaluation& evaluation,
                                   RunContext& context) {
  CountPass();
  MERCER_RETURN_IF_ERROR(EvaluateGroupProblem(problem_, point, evaluation, context));
  return ChooseSlopes(evaluation, context);
}

// The weights of the point with the best biases, which take a pass for the scores and one for
// slopes and products.
absl::Status GroupSolver::Start(GroupProblem problem, GroupPoint point, RunContext& context) {
  MERCER_RETURN_IF_ERROR(problem.Check());
  MERCER_RETURN_IF_ERROR(CheckProblem(problem));
  if (!point.Fits(problem) || !point.specific.allFinite() || !point.shared.allFinite()) {
    return absl::InvalidArgumentError("the first point does not fit the problem");
  }
  problem_ = std::move(problem);
  progress_.iterations = 0;
  progress_.passes = 0;
  progress_.decrease = kInfinity;
  progress_.stop = GroupStop::kRunning;
  if (!problem_.has_specific()) {
    point.specific.setZero();
  }
  if (!problem_.has_shared()) {
    point.shared.setZero();
  }
  point.bias.setZero();
  GroupEvaluation evaluation;
  MERCER_RETURN_IF_ERROR(Evaluate(point, evaluation, context));
  MERCER_RETURN_IF_ERROR(OptimizeBias(point, evaluation, context));
  if (!point.bias.allFinite()) {
    return absl::InvalidArgumentError(
        "all samples of a task are of one class, whose best bias is infinite");
  }
  MERCER_RETURN_IF_ERROR(Evaluate(point, evaluation, context));
  MERCER_ASSIGN_OR_RETURN(progress_.certificate,
                          CertifyGroupProblem(problem_, evaluation, 0, context));
  MERCER_RETURN_IF_ERROR(Prepare(0, point, evaluation, context));
  progress_.point = std::move(point);
  evaluation_ = std::move(evaluation);
  Judge();
  return absl::OkStatus();
}

// Weights of the new columns are 0, so that scores and slopes stay; only the products of the new
// columns are formed. When anything fails, groups and weights are put back as they were.
absl::Status GroupSolver::Extend(std::vector<Index> group_begin, Vector group_weights,
                                 RunContext& context) {
  const Index known = problem_.num_columns();
  const std::vector<Index> old_begin = std::exchange(problem_.group_begin, std::move(group_begin));
  Vector old_weights = std::exchange(problem_.group_weights, std::move(group_weights));
  const auto restore = [&](const absl::Status& status) {
    problem_.group_begin = old_begin;
    problem_.group_weights = old_weights;
    return status;
  };
  if (absl::Status status = problem_.Check(); !status.ok()) {
    return restore(status);
  }
  if (problem_.group_begin.size() < old_begin.size() ||
      !std::equal(old_begin.begin(), old_begin.end(), problem_.group_begin.begin())) {
    return restore(absl::InvalidArgumentError("the first groups must be those that there were"));
  }
  GroupPoint point = progress_.point;
  Widen(problem_.num_columns(), point);
  GroupEvaluation evaluation = evaluation_;
  CountPass();
  absl::Status status = ExtendEvaluation(problem_, point, known, evaluation, context);
  if (status.ok()) {
    status = ChooseSlopes(evaluation, context);
  }
  GroupCertificate certificate;
  if (status.ok()) {
    auto certified = CertifyGroupProblem(problem_, evaluation, 0, context);
    status = certified.status();
    certificate = certified.value_or(certificate);
  }
  if (status.ok()) {
    status = Prepare(known, point, evaluation, context);
  }
  if (!status.ok()) {
    return restore(status);
  }
  progress_.point = std::move(point);
  evaluation_ = std::move(evaluation);
  progress_.certificate = certificate;
  progress_.decrease = kInfinity;
  progress_.stop = GroupStop::kRunning;
  Judge();
  return absl::OkStatus();
}

absl::Status GroupSolver::Step(RunContext& context) {
  if (progress_.stop != GroupStop::kRunning) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return Iterate(context);
}

absl::Status GroupSolver::Run(RunContext& context) {
  while (progress_.stop == GroupStop::kRunning) {
    MERCER_RETURN_IF_ERROR(Step(context));
  }
  return absl::OkStatus();
}

void GroupSolver::SetAccuracy(const GroupAccuracy& accuracy) {
  accuracy_ = accuracy;
  if (progress_.stop == GroupStop::kGap || progress_.stop == GroupStop::kDecrease) {
    progress_.stop = GroupStop::kRunning;
  }
  Judge();
}

// The best lower bound is kept: it is one of the same problem.
absl::Status GroupSolver::MoveTo(GroupPoint point, GroupEvaluation evaluation, Objective objective,
                                 const RunContext& context) {
  const double best = progress_.certificate.dual;
  MERCER_ASSIGN_OR_RETURN(progress_.certificate,
                          CertifyGroupProblem(problem_, evaluation, 0, context));
  progress_.certificate.dual = std::max(best, progress_.certificate.dual);
  const double before = evaluation_.objective();
  progress_.point = std::move(point);
  evaluation_ = std::move(evaluation);
  const double after = evaluation_.objective();
  progress_.decrease = objective == Objective::kFalls
                           ? (before - after) / std::max(std::abs(after), 1e-300)
                           : kInfinity;
  ++progress_.iterations;
  Judge();
  return absl::OkStatus();
}

void GroupSolver::Judge() {
  if (progress_.stop == GroupStop::kPrecision || progress_.point.bias.size() == 0) {
    return;
  }
  if (progress_.certificate.RelativeGap() <= accuracy_.relative_gap) {
    progress_.stop = GroupStop::kGap;
  } else if (accuracy_.relative_decrease > 0 && progress_.decrease <= accuracy_.relative_decrease) {
    progress_.stop = GroupStop::kDecrease;
  }
}

std::string GroupSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteString(name());
  WriteFields(progress_, writer, problem_);
  SaveExtra(writer);
  return std::move(writer).Take();
}

absl::Status GroupSolver::RestoreState(GroupProblem problem, std::string_view state,
                                       RunContext& context) {
  MERCER_RETURN_IF_ERROR(problem.Check());
  MERCER_RETURN_IF_ERROR(CheckProblem(problem));
  ByteReader reader(state);
  Progress progress;
  if (reader.ReadString() != name() || !ReadFields(reader, progress, problem)) {
    return DamagedState();
  }
  problem_ = std::move(problem);
  if (!LoadExtra(reader) || !reader.AtEnd()) {
    return DamagedState();
  }
  MERCER_RETURN_IF_ERROR(EvaluateGroupProblem(problem_, progress.point, evaluation_, context));
  MERCER_RETURN_IF_ERROR(ChooseSlopes(evaluation_, context));
  const double dual = progress.certificate.dual;
  MERCER_ASSIGN_OR_RETURN(progress.certificate,
                          CertifyGroupProblem(problem_, evaluation_, 0, context));
  progress.certificate.dual = std::max(dual, progress.certificate.dual);
  progress_ = std::move(progress);
  return absl::OkStatus();
}

std::string_view GroupMethodName(GroupMethod method) {
  switch (method) {
    case GroupMethod::kNewton:
      return "newton";
    case GroupMethod::kAdmm:
      return "admm";
    case GroupMethod::kFista:
      return "fista";
  }
  return "unknown";
}

std::unique_ptr<GroupSolver> MakeGroupSolver(GroupMethod method) {
  switch (method) {
    case GroupMethod::kNewton:
      return std::make_unique<NewtonGroupSolver>();
    case GroupMethod::kAdmm:
      return std::make_unique<AdmmGroupSolver>();
    case GroupMethod::kFista:
      return std::make_unique<FistaGroupSolver>();
  }
  return nullptr;
}

}  // namespace mercer
