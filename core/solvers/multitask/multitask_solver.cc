#include "core/solvers/multitask/multitask_solver.h"

#include "core/base/status/status_macros.h"

namespace mercer {

bool MultitaskBest::Improve(const MultitaskPoint& point) {
  if (point.dual_value > lower) {
    lower = point.dual_value;
    lower_dual = point.dual;
  }
  if (!(point.primal < primal)) {
    return false;
  }
  TakeFunction(point, point.primal);
  return true;
}

void MultitaskBest::TakeFunction(const MultitaskPoint& point, double objective) {
  primal = objective;
  dual = point.dual;
  weights = point.weights;
  norms = point.Norms();
  biases.resize(static_cast<Index>(point.biases.size()));
  for (size_t t = 0; t < point.biases.size(); ++t) {
    biases(static_cast<Index>(t)) = point.biases[t].chosen;
  }
}

bool DualsFit(const std::vector<Vector>& duals, const MultitaskProblem& problem) {
  bool fits = duals.size() == problem.tasks.size();
  for (size_t t = 0; fits && t < duals.size(); ++t) {
    fits = duals[t].size() == problem.tasks[t].targets.size() && duals[t].allFinite();
  }
  return fits;
}

bool MultitaskBest::Fits(const MultitaskProblem& problem) const {
  return DualsFit(dual, problem) && DualsFit(lower_dual, problem) &&
         weights.rows() == problem.num_tasks() && weights.cols() == problem.num_blocks() &&
         norms.rows() == weights.rows() && norms.cols() == weights.cols() &&
         biases.size() == weights.rows() && (weights.array() >= 0).all();
}

bool IsTrivial(const MultitaskProblem& problem) {
  return NextMachine(problem, 0) == problem.num_tasks();
}

int64_t NextMachine(const MultitaskProblem& problem, int64_t task) {
  while (task < problem.num_tasks() && !HasBothClasses(problem.tasks[static_cast<size_t>(task)])) {
    ++task;
  }
  return task;
}

MultitaskStop StopOf(const MultitaskBest& best, double relative_gap, int64_t steps,
                     int64_t max_steps) {
  return best.RelativeGap() <= relative_gap ? MultitaskStop::kRelativeGap
         : steps >= max_steps               ? MultitaskStop::kIterationLimit
                                            : MultitaskStop::kRunning;
}

MultitaskStop StopAtGap(MultitaskStop stop, const MultitaskBest& best, double relative_gap) {
  const bool goes_on = stop == MultitaskStop::kRelativeGap && best.RelativeGap() > relative_gap;
  return goes_on ? MultitaskStop::kRunning : stop;
}

absl::Status MultitaskSolver::Run(RunContext& context) {
  while (!done()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    MERCER_RETURN_IF_ERROR(Step(context));
  }
  return absl::OkStatus();
}

}  // namespace mercer
