// lp-norm MKL whose weights and dual move together: the option outer_loop = smo_mkl. The problem is
// that of lp_mkl.h.
//
// Method       Pair steps on the joint dual (core/solvers/smo_mkl.h), 1.000001 <= p < inf, exact
//              kernels, hinge or epsilon-insensitive loss.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Iterations as of SMO for one SVM, each a few passes over n x m numbers. A baseline:
//              tests/bench/lp_mkl_bench.cc compares it with the outer loops of lp_mkl.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/byte_count.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/options.h"
#include "core/solvers/smo_mkl.h"
#include "core/training/learner.h"

namespace mercer::lp_mkl {

// Upper bound on what the solver adds to the families of learner and verifier.
ByteCount JointSolverBytes(const LpMklOptions& options, const ProblemShape& shape);

class JointLpMklLearner : public Learner {
 public:
  explicit JointLpMklLearner(const LpMklOptions& options) : options_(options) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override;
  absl::StatusOr<StepReport> Step(RunContext& context) override;
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;
  std::string SaveState() const override { return saved_; }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override;

 private:
  std::unique_ptr<SmoMklSolver> MakeSolver() const;
  absl::Status Prepare(RunContext& context);
  int64_t SliceIterations() const;
  StepReport Report() const;
  std::string Serialize() const;

  const LpMklOptions options_;
  const TrainingProblem* problem_ = nullptr;
  SvmProblem svm_;
  LpMklKernels kernels_;                  // made by the first step
  Vector start_;                          // the dual to begin with; empty: zero
  double goal_ = 0;                       // relative gap to work for
  std::unique_ptr<SmoMklSolver> solver_;  // null before the first step
  std::string saved_;                     // as of the end of the last whole step
};

}  // namespace mercer::lp_mkl
