// Problem      min over f_t = sum_k f_tk + b_t, one for each task t, of
//                C sum_t sum_i c_ti max(0, 1 - y_ti f_t(x_ti)) + 1/2 |(|f_.k|_q)_k|_p^2,
//              or the norm itself (form=plain), over blocks k that all tasks share: kernels, among
//              them the linear ones of variables or of groups of variables.
// Source       Flamary, Rakotomamonjy, Gasso, Canu: Selection de variables pour l'apprentissage
//              simultane de taches. CAp 2009, 109-120; docs/mathematics/sparse_multitask_svm.md.
// Notation     d, w_tk -> weights (tasks x blocks); alpha -> dual (signed); s -> energies.
//              p < 1 and q = 2: the penalty 1/2 S^2, or S, of S = sum_k (|f_.k| + e)^p - e^p.
// Method       p = 1, q = 2: joint interior point on a working set (working_set_solver.h); p < 1: a
//              few of these problems in turn (reweighted_solver.h); else machines and weights in
//              turn (alternation_solver.h). Linear kernels of columns that no two share are solved
//              and predicted as columns.
// Differences  (1) ends by the duality gap of the whole problem; (2) the other entries of
//              docs/mathematics/sparse_multitask_svm.md, section 7.
//              sharing=separate: the same for each task alone (separate_tasks_solver.h).
// Guarantees   primal and dual of a report are bounds of the whole problem, all blocks included.
//              For p < 1 their difference is the gap of the convex problem that touches at the
//              function, 0 at stationary points alone, and dual is no bound.
// Cost         Columns: memory of the columns; 10 to 100 factorisations of the order of the rows of
//              a task, or of the working columns. Kernels: those of a family per task.
// Verified by  tests/core/learners/sparse_multitask_svm: fixtures of an independent cone solver.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/learners/sparse_multitask_svm/options.h"
#include "core/learners/sparse_multitask_svm/problem.h"
#include "core/solvers/multitask/multitask_solver.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::sparse_multitask_svm {

LearnerEntry Entry();

struct SparseMultitaskSvmState {
  std::vector<Index> first_blocks;  // of a warm start, ascending
  bool begun = false;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.first_blocks, self.begun, UpTo(self.stop, StopReason::kObjectiveZero));
    visit.Require([&] { return AreAscending(self.first_blocks, of.kernels); });
  }
};

class SparseMultitaskSvmLearner : public ResumableLearner<SparseMultitaskSvmState> {
 public:
  explicit SparseMultitaskSvmLearner(const SparseMultitaskSvmOptions& options)
      : ResumableLearner("sparse_multitask_svm", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status Prepare(RunContext& context);
  std::unique_ptr<MultitaskSolver> MakeSolver() const;
  // Of the prepared problem, or of one of its tasks.
  std::unique_ptr<MultitaskSolver> MakeSolverOf(const MultitaskProblem& problem) const;
  double Accuracy() const;
  TrainedPoint PointAt(const MultitaskBest& at) const;
  // Of p < 1: that of the best function, or of each task's.
  Vector Smoothing() const;
  ModelFunction FunctionAt(const MultitaskBest& at) const;

  const SparseMultitaskSvmOptions options_;
  std::unique_ptr<const PreparedProblem> prepared_;  // made by the first step
  std::unique_ptr<MultitaskSolver> solver_;
};

}  // namespace mercer::sparse_multitask_svm
