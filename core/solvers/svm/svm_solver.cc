#include "core/solvers/svm/svm_solver.h"

#include <limits>

#include "core/base/status/status_macros.h"

namespace mercer {

absl::Status SvmSolver::Run(RunContext& context) {
  while (!done()) {
    MERCER_RETURN_IF_ERROR(Step(std::numeric_limits<int64_t>::max(), context));
  }
  return absl::OkStatus();
}

absl::Status SvmSolver::Step(int64_t max_iterations, RunContext& context) {
  for (int64_t i = 0; i < max_iterations && !done(); ++i) {
    MERCER_RETURN_IF_ERROR(Iterate(context));
  }
  return absl::OkStatus();
}

}  // namespace mercer
