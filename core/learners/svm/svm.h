// Problem      min_{f, b}  1/2 |f|^2 + C sum_i c_i l(y_i, f(x_i) + b),  f in the space of
//              K = sum_k K_k (fixed weights 1), l the hinge loss (classification) or the
//              epsilon-insensitive loss (regression), c_i the weights of the rows.
//              Dual: max  y'a - epsilon |a|_1 - 1/2 a'Ka,  a in the box, sum a = 0.
// Source       Fan, Chen, Lin: Working set selection using second order information for training
//              SVM. JMLR 6 (2005) 1889-1918. Smola, Schoelkopf: A tutorial on support vector
//              regression. Statistics and Computing 14 (2004) 199-222. docs/mathematics/svm.md.
// Notation     a -> dual (signed): f(x) = sum_i dual(i) K(x_i, x).
// Method       Sequential minimal optimisation (solvers/svm/smo.h) in slices of a fixed number of
//              iterations.
// Guarantees   primal and dual of a report are bounds of the optimum at every step. The accuracy is
//              that of the function itself, without the scaling that the solver's own gap allows;
//              when it misses what was asked for, the solver goes on.
// Cost         The combined Gram matrix of the rows once; two of its columns per iteration.
// Verified by  tests/core/learners/svm: fixtures of an independent cone solver, closed forms, and
//              the conformance suite.
#pragma once

#include <memory>
#include <optional>

#include "core/kernels/gram/kernel_family.h"
#include "core/learners/svm/options.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::svm {

LearnerEntry Entry();

struct SvmState {
  bool begun = false;
  Vector first_dual;          // where to begin; empty: at zero
  int64_t iterations = 0;     // of runs of the solver before the present one
  double primal = kInfinity;  // best bounds so far
  double dual = -kInfinity;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.begun, SizedOrEmpty(self.first_dual, of.rows), FormerNumber(), self.iterations,
          self.primal, self.dual, UpTo(self.stop, StopReason::kObjectiveZero));
    visit.Require([&] { return self.begun || !self.stop.has_value(); });
  }
};

class SvmLearner : public ResumableLearner<SvmState> {
 public:
  // `slice_iterations` of the solver make a step; 0: about 0.2 s by the number of rows.
  explicit SvmLearner(const SvmOptions& options, int64_t slice_iterations = 0)
      : ResumableLearner("svm", /*version=*/1),
        options_(options),
        slice_iterations_(slice_iterations) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status Prepare(RunContext& context);
  std::unique_ptr<SmoSolver> MakeSolver() const;
  int64_t SliceIterations() const;

  const SvmOptions options_;
  const int64_t slice_iterations_;
  SvmProblem svm_;
  // Functions of the problem alone.
  std::unique_ptr<KernelFamily> family_;
  std::unique_ptr<KernelOperator> kernel_;
  std::unique_ptr<SmoSolver> solver_;  // null until the first step
};

}  // namespace mercer::svm
