// lp-norm MKL whose weights and dual move together: the option outer_loop = smo_mkl. The problem is
// that of lp_mkl.h.
//
// Method       Pair steps on the joint dual (solvers/mkl/smo_mkl.h), 1.000001 <= p < inf, exact
//              kernels, hinge or epsilon-insensitive loss.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Iterations as of SMO for one SVM, each a few passes over n x m numbers. A baseline:
//              tests/bench/lp_mkl_bench.cc compares it with the outer loops of lp_mkl.h.
#pragma once

#include <memory>

#include "core/base/status/byte_count.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/options.h"
#include "core/solvers/mkl/smo_mkl.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::lp_mkl {

// Upper bound on what the solver adds to the families of learner and verifier.
ByteCount JointSolverBytes(const LpMklOptions& options, const ProblemShape& shape);

struct JointState {
  Vector start;  // the dual to begin with; empty: zero

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(SizedOrEmpty(self.start, of.rows), FormerNumber());
  }
};

class JointLpMklLearner : public ResumableLearner<JointState> {
 public:
  explicit JointLpMklLearner(const LpMklOptions& options)
      : ResumableLearner("lp_mkl", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::StatusOr<std::unique_ptr<SmoMklSolver>> MakeSolver(RunContext& context);
  int64_t SliceIterations() const;

  const LpMklOptions options_;
  SvmProblem svm_;
  LpMklKernels kernels_;                  // made by the first step
  std::unique_ptr<SmoMklSolver> solver_;  // null before the first step
};

}  // namespace mercer::lp_mkl
