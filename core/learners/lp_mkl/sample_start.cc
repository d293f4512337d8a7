#include "core/learners/lp_mkl/sample_start.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/landmarks.h"

namespace mercer::lp_mkl {
namespace {

// So many rows for each column of the factors hold the function that all rows have, up to a few per
// cent of its values, and cost a small part of what all rows do.
constexpr Index kRowsOfColumn = 16;
constexpr Index kLeastRows = 4000;
constexpr Index kLeastRatio = 4;  // of all rows to those of the sample
constexpr double kFirstSampleGap = 0.1;
constexpr double kMixed = 0.01;  // the share of the first weights in those of the start

// The problem on some rows, whose costs make up for the others.
SvmProblem OnRows(const SvmProblem& problem, const std::vector<Index>& rows) {
  const Vector costs = problem.costs(rows);
  const double ratio = SumOfRows(problem.costs) / std::max(SumOfRows(costs), 1e-300);
  return {problem.loss, problem.targets(rows), ratio * costs};
}

// The loop on the sample, up to the gap; false when it ends before. Errors: those of the loop.
absl::StatusOr<bool> Reach(double gap, const MklState& state, MklLoop& loop, RunContext& context) {
  for (;;) {
    context.ReportStage("sample");
    MERCER_ASSIGN_OR_RETURN(const MklProgress progress, loop.Solve(context));
    if (state.best.gap <= gap) {
      return true;
    }
    if (progress == MklProgress::kSolved) {
      MERCER_RETURN_IF_ERROR(loop.MoveWeights(gap, context));
    } else if (progress != MklProgress::kSolving) {
      return false;
    }
  }
}

}  // namespace

Index SampleStartRows(Index rows, Index rank) {
  const Index sample = std::max(kLeastRows, kRowsOfColumn * rank);
  return rows / kLeastRatio >= sample ? sample : 0;
}

absl::StatusOr<std::optional<SampleStart>> StartFromSample(const LowRankKernelFamily& family,
                                                           const WeightRegularizer& regularizer,
                                                           const SvmProblem& problem,
                                                           const MklLoopOptions& options,
                                                           const Vector& weights, double gap,
                                                           uint64_t seed, RunContext& context) {
  const Index count = SampleStartRows(family.size(), family.joint_rank());
  if (count == 0) {
    return std::optional<SampleStart>();
  }
  const std::vector<Index> rows = DrawRows(family.size(), count, seed, "sample-start");
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<LowRankKernelFamily> some,
                          family.OnRows(rows, context));
  const SvmProblem sample = OnRows(problem, rows);
  MklState state;
  state.dual = Vector::Zero(count);
  MklLoop loop(regularizer, sample, options, state);
  loop.Begin(weights, std::max(kFirstSampleGap, gap), gap);
  loop.SetKernels(some.get());
  const absl::StatusOr<bool> reached = Reach(gap, state, loop, context);
  if (absl::IsCancelled(reached.status())) {
    return reached.status();
  }
  // A sample that has no solution, as one of a single class, costs the start and not the run.
  if (!reached.ok() || !*reached) {
    return std::optional<SampleStart>();
  }
  // Kernels that lost their weight on the sample can come back.
  SampleStart start{regularizer.Normalized((1 - kMixed) * state.weights + kMixed * weights),
                    loop.inner().successor()};
  start.machine.proximal_step *= problem.costs.maxCoeff() / sample.costs.maxCoeff();
  return std::optional(std::move(start));
}

}  // namespace mercer::lp_mkl
