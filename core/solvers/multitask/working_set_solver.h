// Multi-task problems with p = 1 and q = 2 of many blocks: the joint interior point on a working
// set of them, which grows by the blocks whose energies are above the level of its solution.
//
// Source       docs/mathematics/sparse_multitask_svm.md.
// Guarantees   After every solve on the working set one pass over all blocks gives bounds of the
//              whole problem; the best function and the best dual are kept. The function 0 is
//              tried first: it is the exact optimum of some data at every cost.
// Cost         5 to 100 iterations of the interior point (joint_interior_point.h), and one pass for
//              every working set, of which there are 1 to 10.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/multitask/joint_interior_point.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/multitask_solver.h"

namespace mercer {

class WorkingSetSolver : public MultitaskSolver {
 public:
  // Of a problem that must outlive this, with p = 1 and q = 2. Begins with these blocks, or,
  // without any, with those whose energies are largest at the dual of constants.
  WorkingSetSolver(const MultitaskProblem& problem, double relative_gap,
                   std::vector<Index> blocks = {})
      : problem_(problem), relative_gap_(relative_gap), first_blocks_(std::move(blocks)) {}

  absl::Status Start(RunContext& context) override;
  // One iteration of the interior point, or a pass over all blocks.
  absl::Status Step(RunContext& context) override;
  void SetRelativeGap(double relative_gap) override;

  MultitaskStop stop() const override { return state_.stop; }
  int64_t iterations() const override;
  const MultitaskBest& best() const override { return state_.best; }
  double NextCost() const override { return solver_ != nullptr ? solver_->IterationCost() : 0; }
  Index working_blocks() const { return static_cast<Index>(state_.blocks.size()); }
  // Products with the columns of all blocks: the bounds of constants, and one for every solve.
  int64_t passes() const { return state_.solves + 1; }

  void Save(ByteWriter& writer) const override;
  absl::Status Load(ByteReader& reader, RunContext& context) override;

 private:
  struct State {
    std::vector<Index> blocks;  // the working ones, ascending
    double tolerance = 0;
    int64_t solves = 0;
    int64_t iterations = 0;  // of finished solves
    MultitaskStop stop = MultitaskStop::kRunning;
    MultitaskBest best;

    static void VisitFields(auto& visit, auto& self, const MultitaskProblem& of) {
      visit(self.blocks, NotNegative(self.tolerance), self.solves, self.iterations,
            UpTo(self.stop, MultitaskStop::kIterationLimit), Nested(self.best, NoSizes()));
      visit.Require([&] {
        return AreAscending(self.blocks, of.num_blocks()) && self.best.Fits(of) &&
               (self.stop != MultitaskStop::kRunning || !self.blocks.empty());
      });
    }
  };

  std::vector<Index> FirstBlocks(const MultitaskPoint& constants) const;
  absl::Status Restart(RunContext& context);
  absl::Status Bound(RunContext& context);
  // Interior points have no zeros: sets those dual variables of the best function to 0 that the
  // margins say are 0 at the optimum, as far as the gap asked for allows, so that it needs fewer
  // rows.
  absl::Status Round(RunContext& context);
  absl::Status Continue(const MultitaskPoint& point, const Vector& weights, RunContext& context);
  bool CoversAll() const;

  const MultitaskProblem& problem_;
  double relative_gap_;
  const std::vector<Index> first_blocks_;
  State state_;
  std::unique_ptr<JointInteriorPoint> solver_;
};

}  // namespace mercer
