// Problem      min_{f, b}  lambda/2 |f|^2 + sum_i c_i l(y_i, f(x_i) + b)  over functions
//              f = sum_{p in I} a_p K(x_p, .) of few training rows I, the pivots; K = sum_k K_k
//              (fixed weights 1), l the squared hinge max(0, 1 - y f)^2 for classes and (y - f)^2
//              for numbers; a sum over rows, not a mean; the bias is not penalised. Several outputs
//              share the pivots.
// Source       Bach, Jordan: Predictive low-rank decomposition for kernel methods. ICML 2005,
//              33-40, as the baseline of Rakotomamonjy, Flamary, Yger: Learning with infinitely
//              many features. Machine Learning 91 (2013) 43-66; docs/mathematics/csi.md.
// Notation     G, an incomplete Cholesky factor on I (kernels/lowrank/csi.h); G_I = pivots' rows;
//              f(x_i) = G(i, :) w with a = G_I^-T w, |f|^2 = |w|^2.
// Method       Pivots chosen greedily by kernel and targets, then Newton's method on G
//              (core/solvers/factor/feature_ridge.h).
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

#include "core/kernels/gram/kernel_columns.h"
#include "core/kernels/lowrank/csi.h"
#include "core/learners/csi/options.h"
#include "core/solvers/factor/feature_ridge.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::csi {

LearnerEntry Entry();

struct CsiState {
  CsiFactor::Progress progress;
  double criterion = 1;  // J of the pivots
  bool stuck = false;    // no further progress in floating point
  uint64_t next_output = 0;

  static void VisitFields(auto& visit, auto& self, const StateSizes& /*of*/) {
    visit(self.progress.pivots, self.progress.look_ahead, self.progress.done,
          Finite(self.criterion), FormerNumber(), self.stuck, self.next_output);
  }
};

class CsiLearner : public ResumableLearner<CsiState> {
 public:
  explicit CsiLearner(const CsiLearnerOptions& options)
      : ResumableLearner("csi", /*version=*/1), options_(options) {}

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
  bool IsSolved(const FeatureRidge& output) const;
  CsiOptions SelectionOptions() const;
  FeatureRidgeProblem ProblemOf(Index output) const;
  const KernelColumns& kept_columns() const;
  double ColumnOperations() const;
  bool HasKernel() const { return kept_columns().diagonal().sum() > 0; }
  absl::StatusOr<Matrix> Coefficients(RunContext& context) const;

  const CsiLearnerOptions options_;
  std::shared_ptr<const Loss> loss_;
  std::vector<Index> kept_;            // of the task's rows, those of cost > 0
  std::vector<FeatureRidge> outputs_;  // once the pivots are chosen
  // Functions of the problem, the options and the pivots.
  std::unique_ptr<KernelSumColumns> columns_;
  std::unique_ptr<SelectedKernelColumns> selected_;  // when rows have cost 0
  std::optional<CsiFactor> factor_;                  // while pivots are chosen
  std::vector<Index> feature_pivots_;                // those of features_
  std::unique_ptr<Matrix> features_;                 // G
};

}  // namespace mercer::csi
