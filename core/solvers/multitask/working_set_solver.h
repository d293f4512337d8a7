// Multi-task problems with p = 1 and q = 2 of many blocks: the joint interior point on a working
// set of them, which grows by the blocks whose energies are above the level of its solution.
//
// Source       docs/mathematics/sparse_multitask_svm.md.
// Method       The set changes while the interior point is on its way: whenever its products have
//              fallen to a third there is a pass over all blocks, and it goes on from where it is.
//              To wait for the solution of every set takes three times as many iterations.
// Guarantees   Every pass over all blocks gives bounds of the whole problem; the best function and
//              the best dual are kept. The function 0 is tried first: it is the exact optimum of
//              some data at every cost.
// Cost         20 to 40 iterations of the interior point (joint_interior_point.h), and one pass for
//              two of them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

  absl::Status Start(RunContext& context) override { return Begin(nullptr, context); }
  // Begins near where another one is, of the same tasks at other costs or to another gap: done at
  // once where its solution is good enough here.
  absl::Status StartFrom(const WorkingSetSolver& other, RunContext& context) {
    return Begin(&other, context);
  }
  // One iteration of the interior point, and a pass over all blocks from time to time.
  absl::Status Step(RunContext& context) override;
  void SetRelativeGap(double relative_gap) override;

  MultitaskStop stop() const override { return state_.stop; }
  int64_t iterations() const override;
  const MultitaskBest& best() const override { return state_.best; }
  double NextCost() const override { return solver_ != nullptr ? solver_->IterationCost() : 0; }
  // The blocks of the best function, ascending.
  std::vector<Index> Selected() const;
  Index working_blocks() const { return static_cast<Index>(state_.blocks.size()); }
  // Over all blocks: one for constants, and those after it.
  int64_t passes() const { return state_.passes + 1; }

  void Save(ByteWriter& writer) const override;
  absl::Status Load(ByteReader& reader, RunContext& context) override;

 private:
  struct State {
    std::vector<Index> blocks;  // the working ones, ascending
    double tolerance = 0;
    double looked = kInfinity;  // products at the last pass over all blocks
    bool warm = false;          // the interior point has begun where another one was
    int64_t passes = 0;         // passes over all blocks with their bounds
    int64_t iterations = 0;     // on working sets before this one
    MultitaskStop stop = MultitaskStop::kRunning;
    MultitaskBest best;

    static void VisitFields(auto& visit, auto& self, const MultitaskProblem& of) {
      visit(self.blocks, NotNegative(self.tolerance), NotNegative(self.looked), self.warm,
            self.passes, self.iterations, UpTo(self.stop, MultitaskStop::kIterationLimit),
            Nested(self.best, NoSizes()));
      visit.Require([&] {
        return AreAscending(self.blocks, of.num_blocks()) && self.best.Fits(of) &&
               (self.stop != MultitaskStop::kRunning || !self.blocks.empty());
      });
    }
  };

  std::vector<Index> FirstBlocks(const MultitaskPoint& constants) const;
  absl::Status Begin(const WorkingSetSolver* other, RunContext& context);
  // The interior point on the blocks, from where one is or, without any, from its own beginning;
  // `growth` is that of JointInteriorPoint::StartFrom.
  absl::Status MakeSolver(const JointInteriorPoint* from, double products, RunContext& context,
                          double growth = 0);
  // Another one's best function and best dual, with the bounds that they give here. Returns the
  // function's point.
  absl::StatusOr<MultitaskPoint> TakeBest(const MultitaskBest& best, RunContext& context);
  absl::Status Bound(RunContext& context);
  // Interior points have no zeros: sets the weights of blocks whose norms are small to 0, and those
  // dual variables of the best function that the margins say are 0 at the optimum, as far as the
  // gap asked for allows, so that it needs fewer blocks and rows. Its primal may rise by that.
  absl::Status Round(RunContext& context);
  absl::Status Continue(const MultitaskPoint& point, const Vector& weights, RunContext& context);
  absl::Status GoOn(RunContext& context);
  bool HasFailed() const;
  // So many blocks work before fewer come in at a time.
  Index MostWorking() const;

  const MultitaskProblem& problem_;
  double relative_gap_;
  const std::vector<Index> first_blocks_;
  State state_;
  std::unique_ptr<JointInteriorPoint> solver_;
};

}  // namespace mercer
