#include "core/learners/lp_mkl/option_checks.h"

#include <cmath>
#include <string>

#include "core/base/status/errors.h"
#include "core/training/contract/loss_choice.h"

namespace mercer::lp_mkl {
namespace {

// 300 rows take 3e5 pair steps to a gap of 1e-4 at p = 1 + 1e-5 and ten times as many at a tenth of
// the distance from 1, where the dual has a kink; a run takes 1e7 at the most.
constexpr double kLeastSmoMklP = 1.000001;

// The loops that move dual and weights together.
void CheckOuterLoop(const LpMklOptions& options, FieldViolations& violations) {
  const bool smo_mkl = options.outer_loop == OuterLoopChoice::kSmoMkl;
  if (!smo_mkl && options.outer_loop != OuterLoopChoice::kInterleaved) {
    return;
  }
  const std::string name = smo_mkl ? "smo_mkl" : "interleaved";
  if (smo_mkl) {
    violations.Check(
        options.p >= kLeastSmoMklP && !std::isinf(options.p), "outer_loop",
        name +
            " is for 1.000001 <= p < inf: the steps that it takes grow with 1 / (p - 1); "
            "newton takes any p");
  } else {
    violations.Check(options.p > 1 && !std::isinf(options.p), "outer_loop",
                     name + " is for 1 < p < inf");
  }
  violations.Check(options.is_low_rank() != smo_mkl, "outer_loop",
                   name + (smo_mkl ? " is for approximation=none"
                                   : " is for approximation=nystrom or pivoted_cholesky"));
  violations.Check(!IsCurved(options.loss), "outer_loop",
                   name + " is for the losses hinge and epsilon_insensitive");
  violations.Check(options.inner_solver == InnerSolverChoice::kAuto, "outer_loop",
                   name + " has no SVM of fixed weights to solve: inner_solver must be auto");
}

}  // namespace

absl::Status CheckCombinations(const LpMklOptions& options) {
  const bool for_all_kernels = options.inner_solver <= InnerSolverChoice::kSmo;
  FieldViolations violations;
  violations.Check(for_all_kernels || options.is_low_rank(), "inner_solver",
                   "must be auto, newton or smo when approximation is none: the others are for "
                   "kernels of low rank");
  violations.Check(!IsCurved(options.loss) || options.inner_solver == InnerSolverChoice::kAuto ||
                       options.inner_solver == InnerSolverChoice::kNewton,
                   "inner_solver",
                   "must be auto or newton for the losses squared_hinge, logistic and square; the "
                   "others solve the dual of hinge and epsilon_insensitive");
  CheckOuterLoop(options, violations);
  violations.Check(options.approximation != Approximation::kNystrom || !options.own_landmarks ||
                       options.selects_by_kernels(),
                   "own_landmarks",
                   "is for landmark_selection=leverage or pivoted_cholesky: the others do not look "
                   "at kernels");
  return violations.ToStatus();
}

}  // namespace mercer::lp_mkl
