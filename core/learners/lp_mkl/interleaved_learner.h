// lp-norm MKL with kernels of low rank whose weights change after every Newton step: the option
// outer_loop = interleaved. The problem is that of lp_mkl.h.
//
// Source       docs/mathematics/lp_mkl.md, section 7.
// Method       Proximal Newton steps of solvers/factor/factor_svm.h. After each, the weights become
//              the closed form for the norms that the function has in the kernels, which lowers the
//              same subproblem: its regulariser is the block norm then. The proximal step never
//              shrinks.
// Guarantees   The subproblem decreases with every Newton step and every change of the weights.
//              primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Per Newton step, besides it, one combination of the kernels and two passes over the
//              factor. Close to the default for p >= 2; for p near 1 the closed form comes closer
//              by a share 2 / (p + 1) only.
#pragma once

#include <memory>
#include <optional>

#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/options.h"
#include "core/solvers/factor/factor_svm.h"
#include "core/solvers/mkl/best_point.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::lp_mkl {

struct InterleavedState {
  Vector weights;
  Vector start;  // the dual to begin with; empty: zero
  int64_t iterations = 0;
  int64_t fruitless = 0;  // certified points since the gap improved
  BestPoint best;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(Sized(self.weights, of.kernels), SizedOrEmpty(self.start, of.rows));
    self.best.VisitArrays(visit, self.best, {of.rows, of.kernels});
    visit(FormerNumber());
    self.best.VisitNumbers(visit, self.best);
    visit(self.iterations, self.fruitless, UpTo(self.stop, StopReason::kObjectiveZero));
    visit.Require([&] { return self.weights.allFinite() && self.weights.minCoeff() >= 0; });
  }
};

class InterleavedLpMklLearner : public ResumableLearner<InterleavedState> {
 public:
  // Version 3 since factors are those of another basis.
  explicit InterleavedLpMklLearner(const LpMklOptions& options)
      : ResumableLearner("lp_mkl", /*version=*/3), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  // A kernel of some weights, and the solver that works on it.
  struct Work {
    std::unique_ptr<KernelOperator> kernel;
    std::unique_ptr<FactorSvmSolver> solver;
  };

  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status Prepare(RunContext& context);
  absl::StatusOr<Work> MakeWork(RunContext& context);
  double InnerGap() const;
  absl::Status Certify(RunContext& context);
  absl::Status MoveWeights(RunContext& context);

  const LpMklOptions options_;
  SvmProblem svm_;
  LpMklKernels kernels_;  // made by the first step
  Work work_;             // of state_.weights; empty before the first step
};

}  // namespace mercer::lp_mkl
