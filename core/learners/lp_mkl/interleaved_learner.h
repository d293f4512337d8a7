// lp-norm MKL with kernels of low rank whose weights change after every Newton step: the option
// outer_loop = interleaved. The problem is that of lp_mkl.h.
//
// Source       docs/mathematics/lp_mkl.md, section 7.
// Method       Proximal Newton steps of core/solvers/factor_svm.h. After each, the weights become
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
#include <string>
#include <string_view>

#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/options.h"
#include "core/solvers/factor_svm.h"
#include "core/training/learner.h"

namespace mercer::lp_mkl {

class InterleavedLpMklLearner : public Learner {
 public:
  explicit InterleavedLpMklLearner(const LpMklOptions& options) : options_(options) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override;
  absl::StatusOr<StepReport> Step(RunContext& context) override;
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;
  std::string SaveState() const override { return saved_; }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override;

 private:
  struct Best {
    Vector weights;
    Vector dual;
    double bias = 0;
    double gap = kInfinity;     // relative, of this very point
    double primal = kInfinity;  // best bounds of all points
    double lower = -kInfinity;
  };
  struct State {
    Vector weights;
    Vector start;     // the dual to begin with; empty: zero
    double goal = 0;  // relative gap of the whole problem to work for
    int64_t iterations = 0;
    int64_t fruitless = 0;  // certified points since the gap improved
    Best best;
    std::optional<StopReason> stop;
  };
  // A kernel of some weights, and the solver that works on it.
  struct Work {
    std::unique_ptr<KernelOperator> kernel;
    std::unique_ptr<FactorSvmSolver> solver;
  };

  absl::Status Prepare(RunContext& context);
  absl::Status Advance(RunContext& context);
  absl::StatusOr<std::unique_ptr<KernelOperator>> Combine(const Vector& weights,
                                                          RunContext& context) const;
  double InnerGap() const;
  absl::Status Certify(RunContext& context);
  absl::Status MoveWeights(RunContext& context);
  StepReport Report() const;
  std::string Serialize() const;
  absl::Status Deserialize(std::string_view bytes, RunContext& context);

  const LpMklOptions options_;
  const TrainingProblem* problem_ = nullptr;
  SvmProblem svm_;
  LpMklKernels kernels_;  // made by the first step
  State state_;
  Work work_;          // of state_.weights; empty before the first step
  std::string saved_;  // as of the end of the last whole step
  bool interrupted_ = false;
};

}  // namespace mercer::lp_mkl
