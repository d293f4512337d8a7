// Dual coordinate descent for multi-task problems: for fixed weights of the blocks epochs of exact
// steps in two dual variables of a task, then new weights in closed form, in turn.
//
// Problem      multitask_problem.h, of exponents p and q >= 1, without groups.
// Source       Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for
//              large-scale linear SVM. ICML 2008, without a bias; Keerthi, Shevade, Bhattacharyya,
//              Murthy: Improvements to Platt's SMO algorithm. Neural Comp. 13 (2001) 637-649, for
//              the two variables of largest violation; docs/mathematics/sparse_multitask_svm.md.
// Method       Scores of all rows at the beginning of an epoch give the bounds of the machine and
//              the order of the rows by slopes: the row that wants to grow most is paired with the
//              one that wants to fall most, the second with the second, and so on while the slopes
//              differ that way. A machine ends when its own gap is a share of that of the whole.
//              docs/results/sparse-multitask-svm.md has its epochs.
// Guarantees   Bounds of the whole problem after the machines of all tasks. Each step in a pair
//              lowers the machine's objective.
// Cost         Memory of the columns, a copy of those in use of one task, and no Gram matrix; of
//              other kernels the combined one of a task. An epoch takes two or three products with
//              the columns in use, in turn, on one thread but for the scores.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/multitask_solver.h"
#include "core/solvers/multitask/row_pairs.h"

namespace mercer {

struct DualCoordinateOptions {
  double relative_gap = 1e-3;
  int64_t max_steps = 2000;  // weights that machines are moved at
};

class DualCoordinateSolver : public MultitaskSolver {
 public:
  // Of a problem that must outlive this.
  DualCoordinateSolver(const MultitaskProblem& problem, const DualCoordinateOptions& options)
      : problem_(problem), options_(options), relative_gap_(options.relative_gap) {}

  absl::Status Start(RunContext& context) override;
  // An epoch of a task, its beginning, or new weights.
  absl::Status Step(RunContext& context) override;
  void SetRelativeGap(double relative_gap) override;

  MultitaskStop stop() const override { return state_.stop; }
  const MultitaskBest& best() const override { return state_.best; }
  // Weights that machines were moved at.
  int64_t iterations() const override { return state_.steps; }
  // Since the run began.
  int64_t epochs() const { return state_.epochs; }
  double NextCost() const override;

  void Save(ByteWriter& writer) const override;
  absl::Status Load(ByteReader& reader, RunContext& context) override;

 private:
  struct State {
    std::vector<Vector> duals;
    Matrix weights;
    int64_t task = 0;  // whose machine is at hand
    bool moving = false;
    Vector image;            // of its dual, as steps have left it
    int64_t visits = 0;      // epochs of it at these weights
    double machine_gap = 0;  // that is asked of each task
    int64_t epochs = 0;
    int64_t steps = 0;
    MultitaskStop stop = MultitaskStop::kRunning;
    MultitaskBest best;

    static void VisitFields(auto& visit, auto& self, const MultitaskProblem& of) {
      visit(Nested(self.duals, NoSizes()), Sized(self.weights, of.num_tasks(), of.num_blocks()),
            self.task, self.moving, self.image, self.visits, NotNegative(self.machine_gap),
            self.epochs, self.steps, UpTo(self.stop, MultitaskStop::kIterationLimit),
            Nested(self.best, NoSizes()));
      visit.Require([&] {
        return self.best.Fits(of) && DualsFit(self.duals, of) && self.task >= 0 &&
               self.task < of.num_tasks() + (self.moving ? 0 : 1) && self.weights.allFinite() &&
               (self.weights.array() >= 0).all();
      });
    }
  };

  absl::StatusOr<std::unique_ptr<RowPairs>> MakePairs(RunContext& context) const;
  // Begins with the next task whose rows are of both classes; after the last one bounds the point.
  absl::Status BeginTask(RunContext& context);
  absl::Status EndTasks(RunContext& context);
  absl::Status RunEpoch(RunContext& context);
  // A step in each pair of rows. Returns whether there were any.
  absl::StatusOr<bool> DescendAlongPairs(const Vector& slopes, RunContext& context);
  void Aim();

  const MultitaskProblem& problem_;
  const DualCoordinateOptions options_;
  double relative_gap_;
  State state_;
  std::unique_ptr<RowPairs> pairs_;  // of the task at hand
};

}  // namespace mercer
