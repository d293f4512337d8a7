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
// Method       SVMs of fixed weights to an adaptive accuracy, each from the last solution; weights
//              by two over-relaxed steps, then by Newton's method on the optimum as a function of
//              the weights, guarded by that optimum; where it is refused or slow, by the others
//              for as many steps again. p = inf: a single SVM.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Per SVM one combination of kernels, all energies, and the solver's steps; 3 to 12
//              SVMs.
// Verified by  tests/core/learners/lp_mkl: fixtures of an independent cone solver, and the
//              properties of docs/mathematics/lp_mkl.md, section 10.
#pragma once

#include <memory>
#include <optional>

#include "core/learners/lp_mkl/best_point.h"
#include "core/learners/lp_mkl/inner_solver.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/options.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/solvers/svm/curved_samples.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::lp_mkl {

LearnerEntry Entry();

// What the next weights came from, for when they turn out worse.
struct LastWeights {
  Vector weights;
  Vector dual;
  Vector energies;
  double upper = kInfinity;  // of the SVM's optimum at these weights
  bool newton = false;       // the step away from here
  int64_t reductions = 0;

  // Weights that were left are whole, or none were: then no optimum is above their bound.
  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(SizedOrEmpty(self.weights, of.kernels), SizedOrEmpty(self.dual, of.rows),
          SizedOrEmpty(self.energies, of.kernels), self.upper, self.newton, self.reductions);
    visit.Require([&] {
      const bool none = self.weights.size() == 0;
      return (self.dual.size() == 0) == none && (self.energies.size() == 0) == none &&
             (!none || self.upper == kInfinity);
    });
  }
};

struct LpMklState {
  bool solving = false;  // the inner solver is at work
  Vector weights;
  Vector dual;  // where the next SVM starts
  double inner_gap = 1e-2;
  int64_t outer = 0;
  int64_t fruitless = 0;    // SVMs since the gap improved
  int64_t newton_from = 0;  // the outer step from which Newton's method is tried
  LastWeights last;
  BestPoint best;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.solving, Sized(self.weights, of.kernels), Sized(self.dual, of.rows), self.inner_gap,
          FormerNumber(), self.outer, self.fruitless, self.newton_from, Nested(self.last, of));
    self.best.VisitArrays(visit, self.best, of);
    self.best.VisitNumbers(visit, self.best);
    visit(UpTo(self.stop, StopReason::kObjectiveZero));
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
  void ReadWarmStart(const WarmStart& warm_start);
  bool HasFixedWeights() const;
  absl::Status Prepare(RunContext& context);
  absl::Status FinishSvm(RunContext& context);
  void Remember(const PointBounds& bounds);
  absl::Status RetreatWeights(const RunContext& context);
  void PostponeNewton();
  absl::Status RescaleDual(const RunContext& context);
  absl::Status AdvanceWeights(const PointBounds& bounds, RunContext& context);
  double NextInnerGap(double gap) const;
  CurvedSamples FindCurvedSamples() const;

  const LpMklOptions options_;
  SvmProblem svm_;
  std::unique_ptr<InnerSolver> inner_;
  // Functions of the problem and of state_.weights.
  LpMklKernels kernels_;
  std::unique_ptr<KernelOperator> kernel_;
  Vector kernel_weights_;
  Vector energies_;  // of the last finished SVM
};

}  // namespace mercer::lp_mkl
