// Problem      min_{f, b, d}  1/2 sum_k |f_k|^2 / d_k + C sum_i c_i l(y_i, f(x_i) + b),
//              f = sum_k f_k, d >= 0, |d|_p <= 1, 1 <= p <= inf; c_i the weights of the rows; l the
//              hinge, the squared hinge or the logistic loss (classification), the
//              epsilon-insensitive or the square loss (regression), as core/objectives has them,
//              without factors 1/2.
//              Dual: max  sum_i -conjugate_i(-a_i) - 1/2 |s(a)|_q,  s_k = a'K_k a, sum a = 0,
//              q = p / (p - 1).
// Source       Kloft, Brefeld, Sonnenburg, Zien: lp-norm multiple kernel learning. JMLR 12 (2011)
//              953-997; docs/mathematics/lp_mkl.md, sections 1 to 6.
// Notation     d -> weights, a -> dual (signed), s -> energies; f_k = d_k K_k a.
// Method       SVMs of fixed weights and steps of the weights in turn (solvers/mkl/mkl_loop.h).
//              p = inf: a single SVM.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Per SVM one combination of kernels, all energies, and the solver's steps; 3 to 12
//              SVMs.
// Verified by  tests/core/learners/lp_mkl: fixtures of an independent cone solver, and the
//              properties of docs/mathematics/lp_mkl.md, section 10.
#pragma once

#include <optional>

#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/options.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::lp_mkl {

LearnerEntry Entry();

struct LpMklState {
  MklState mkl;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(Nested(self.mkl, MklSizes{of.rows, of.kernels}),
          UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

class LpMklLearner : public ResumableLearner<LpMklState> {
 public:
  explicit LpMklLearner(const LpMklOptions& options);

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  Vector StartWeights(const WarmStart* warm_start) const;
  absl::Status Prepare(RunContext& context);

  const LpMklOptions options_;
  const LpBall ball_;
  SvmProblem svm_;
  LpMklKernels kernels_;         // made by the first step
  std::optional<MklLoop> loop_;  // on state_.mkl
};

}  // namespace mercer::lp_mkl
