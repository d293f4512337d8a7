// Problem      min_{f, b}  lambda/2 |f|^2 + sum_i c_i l(y_i, f(x_i) + b)  over functions f = sum_{p
//              in I} a_p K(x_p, .) of few training rows I, the pivots; K = sum_k K_k (fixed weights
//              1), l the squared hinge max(0, 1 - y f)^2 for classes and (y - f)^2 for numbers; a
//              sum over rows, not a mean; the bias is not penalised. Several outputs share the
//              pivots.
// Source       Bach, Jordan: Predictive low-rank decomposition for kernel methods. ICML 2005,
//              33-40, as the baseline of Rakotomamonjy, Flamary, Yger: Learning with infinitely
//              many features. Machine Learning 91 (2013) 43-66; docs/mathematics/csi.md.
// Notation     G, an incomplete Cholesky factor on I -> core/kernels/csi.h; G_I = its pivots' rows;
//              f(x_i) = G(i, :) w with a = G_I^-T w, |f|^2 = |w|^2.
// Method       Pivots chosen greedily by kernel and targets, then Newton's method on G
//              (core/solvers/feature_ridge.h).
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

#include "core/kernels/csi.h"
#include "core/kernels/kernel_columns.h"
#include "core/learners/csi/options.h"
#include "core/solvers/feature_ridge.h"
#include "core/training/learner.h"

namespace mercer::csi {

LearnerEntry Entry();

class CsiLearner : public Learner {
 public:
  explicit CsiLearner(const CsiLearnerOptions& options) : options_(options) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override;
  absl::StatusOr<StepReport> Step(RunContext& context) override;
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;
  std::string SaveState() const override { return saved_; }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override;

 private:
  absl::Status CheckLambda(const TaskData& task) const;
  absl::Status Prepare(RunContext& context);
  absl::Status SelectPivots(RunContext& context);
  absl::Status BuildFeatures(RunContext& context);
  absl::Status Begin(RunContext& context);
  absl::Status Solve(RunContext& context);
  bool IsSolved(const FeatureRidge& output) const;
  CsiOptions SelectionOptions() const;
  FeatureRidgeProblem ProblemOf(Index output) const;
  const KernelColumns& kept_columns() const;
  double ColumnOperations() const;
  bool HasKernel() const { return kept_columns().diagonal().sum() > 0; }
  absl::StatusOr<Matrix> Coefficients(RunContext& context) const;
  StepReport Report() const;
  std::string Serialize() const;
  absl::Status Deserialize(std::string_view bytes, RunContext& context);

  const CsiLearnerOptions options_;
  const TrainingProblem* problem_ = nullptr;
  std::shared_ptr<const Loss> loss_;
  std::vector<Index> kept_;  // of the task's rows, those of cost > 0
  // What decides the future of the run: the choice of pivots so far, and then the solvers.
  CsiFactor::Progress progress_;
  double criterion_ = 1;               // J of the pivots
  std::vector<FeatureRidge> outputs_;  // once the pivots are chosen
  size_t next_output_ = 0;
  double goal_ = 0;     // relative gap that each output is solved to
  bool stuck_ = false;  // no further progress in floating point
  std::string saved_;   // as of the end of the last whole step
  bool interrupted_ = false;
  // Functions of the problem, the options and the pivots.
  std::unique_ptr<KernelSumColumns> columns_;
  std::unique_ptr<SelectedKernelColumns> selected_;  // when rows have cost 0
  std::optional<CsiFactor> factor_;                  // while pivots are chosen
  std::vector<Index> feature_pivots_;                // those of features_
  std::unique_ptr<Matrix> features_;                 // G
};

}  // namespace mercer::csi
