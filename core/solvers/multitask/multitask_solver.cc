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
  primal = point.primal;
  dual = point.dual;
  weights = point.weights;
  return true;
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
         (weights.array() >= 0).all();
}

absl::Status MultitaskSolver::Run(RunContext& context) {
  while (!done()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    MERCER_RETURN_IF_ERROR(Step(context));
  }
  return absl::OkStatus();
}

}  // namespace mercer
