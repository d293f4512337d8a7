// Problem      min_{f, b}  lambda/2 |f|^2 + sum_i c_i l(y_i, f(x_i) + b)  over functions
//              f = sum_{p in I} a_p K(x_p, .) of few training rows I, the pivots; K = sum_k K_k
//              (fixed weights 1), l the squared hinge max(0, 1 - y f)^2 for classes and (y - f)^2
//              for numbers; a sum over rows, not a mean; the bias is not penalised. Several outputs
//              share the pivots.
// Source       Bach, Jordan: Predictive low-rank decomposition for kernel methods. ICML 2005,
//              33-40, as the baseline of Rakotomamonjy, Flamary, Yger: Learning with infinitely
//              many features. Machine Learning 91 (2013) 43-66; docs/mathematics/csi.md.
// Notation     G, an incomplete Cholesky factor on I (kernels/lowrank/csi.h); G_I = pivots' rows;
//              f(x_i) = G(i, :) w with a = G_I^-T w, |f|^2 = |w|^2; u, the dual variables.
// Method       Pivots chosen greedily by kernel and targets, then Newton's method on G, one output
//              after the other (core/solvers/svm/curved_svm.h).
// Guarantees   The certificate is about the problem given the pivots. Rows of cost 0 take no part.
// Cost         Per pivot two columns of the kernel; n (2 max_pivots + 2 look_ahead) numbers; never
//              n x n.
// Verified by  tests/core/learners/csi, and the conformance suite.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/row_vectors.h"
#include "core/kernels/gram/kernel_columns.h"
#include "core/kernels/lowrank/csi.h"
#include "core/learners/csi/options.h"
#include "core/solvers/svm/curved_svm.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::csi {

LearnerEntry Entry();

// What is known of an output, in the problem divided by lambda.
struct CsiOutput {
  Vector weights;             // w
  double bias = 0;            // the best one for them
  double primal = kInfinity;  // of both
  Vector dual;                // u, feasible; of all rows, 0 for those that are left out
  double lower = -kInfinity;  // of its best multiple
  bool stuck = false;         // no further progress in floating point

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.weights, Finite(self.bias), self.primal, Sized(self.dual, of.rows), self.lower,
          self.stuck);
    visit.Require([&] { return self.weights.allFinite() && self.dual.allFinite(); });
  }
};

struct CsiState {
  CsiFactor::Progress progress;
  double criterion = 1;            // J of the pivots
  std::vector<CsiOutput> outputs;  // once the pivots are chosen
  uint64_t next_output = 0;        // whose turn it is
  int64_t iterations = 0;          // of the solvers
  bool stuck = false;              // no output can be improved

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.progress.pivots, self.progress.look_ahead, self.progress.done,
          Finite(self.criterion), Nested(self.outputs, of), self.next_output, self.iterations,
          self.stuck);
  }
};

class CsiLearner : public ResumableLearner<CsiState> {
 public:
  explicit CsiLearner(const CsiLearnerOptions& options)
      : ResumableLearner("csi", /*version=*/3), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  bool Fits(const CsiState& state) const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status CheckLambda(const TaskData& task) const;
  absl::Status Prepare(RunContext& context);
  absl::Status SelectPivots(RunContext& context);
  absl::Status BuildFeatures(RunContext& context);
  absl::Status StartOutputs(RunContext& context);
  absl::Status Solve(RunContext& context);
  absl::StatusOr<double> SolveNextOutput(RunContext& context);
  absl::Status TakeDual(const SvmProblem& problem, const Vector& dual,
                        const SvmCertificate& certificate, CsiOutput& output,
                        const RunContext& context) const;
  bool IsSolved(const CsiOutput& output) const;
  CsiOptions SelectionOptions() const;
  SvmProblem ProblemOf(Index output) const;
  std::unique_ptr<CurvedSvmSolver> MakeSolver() const;
  const KernelColumns& kept_columns() const;
  double ColumnOperations() const;
  bool HasKernel() const { return SumOfRows(kept_columns().diagonal()) > 0; }
  absl::StatusOr<Matrix> Coefficients(RunContext& context) const;

  const CsiLearnerOptions options_;
  std::shared_ptr<const Loss> loss_;
  std::vector<Index> kept_;  // of the task's rows, those of cost > 0
  // Functions of the problem, the options and the pivots.
  std::unique_ptr<KernelSumColumns> columns_;
  std::unique_ptr<SelectedKernelColumns> selected_;  // when rows have cost 0
  std::optional<CsiFactor> factor_;                  // while pivots are chosen
  std::vector<Index> feature_pivots_;                // those of features_
  std::unique_ptr<Matrix> features_;                 // G
  // Of the output whose turn it is, on the features, and the gap that it was made for; null: not
  // begun.
  std::unique_ptr<CurvedSvmSolver> solver_;
  double solver_gap_ = 0;
};

}  // namespace mercer::csi
