#include "core/learners/lp_mkl/sample_start.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/factor_rows.h"
#include "core/kernels/lowrank/landmarks.h"

namespace mercer::lp_mkl {
namespace {

// So many rows for each column of the factors hold the function that all rows have, up to a few per
// cent of its values, and cost a small part of what all rows do.
constexpr Index kRowsOfColumn = 16;
constexpr Index kLeastRows = 4000;
constexpr Index kLeastRatio = 4;  // of all rows to those of the sample
constexpr double kFirstSampleGap = 0.1;

// The problem on some rows, whose costs make up for the others.
SvmProblem OnRows(const SvmProblem& problem, const std::vector<Index>& rows) {
  const double ratio =
      static_cast<double>(problem.targets.size()) / static_cast<double>(rows.size());
  return {problem.loss, problem.targets(rows), ratio * problem.costs(rows)};
}

}  // namespace

Index SampleStartRows(Index rows, Index rank) {
  const Index sample = std::max(kLeastRows, kRowsOfColumn * rank);
  return rows / kLeastRatio >= sample ? sample : 0;
}

size_t SampleStartBytes(Index rows, Index max_rank) {
  // More columns than this have no sample.
  const Index rank = std::min(max_rank, rows / (kLeastRatio * kRowsOfColumn));
  return FactorRows::Bytes(SampleStartRows(rows, rank), rank);
}

absl::StatusOr<std::optional<SampleStart>> StartFromSample(const LowRankKernelFamily& family,
                                                           const WeightRegularizer& regularizer,
                                                           const SvmProblem& problem,
                                                           const MklLoopOptions& options,
                                                           const Vector& weights, uint64_t seed,
                                                           RunContext& context) {
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
  loop.Begin(weights, kFirstSampleGap, kSampleStartGap);
  loop.SetKernels(some.get());
  while (state.best.gap > kSampleStartGap) {
    absl::StatusOr<MklProgress> progress = loop.Solve(context);
    if (absl::IsInvalidArgument(progress.status())) {  // as a sample of one class
      return std::optional<SampleStart>();
    }
    MERCER_RETURN_IF_ERROR(progress.status());
    if (*progress == MklProgress::kSolved) {
      if (state.best.gap > kSampleStartGap) {
        MERCER_RETURN_IF_ERROR(loop.MoveWeights(kSampleStartGap, context));
      }
    } else if (*progress != MklProgress::kSolving) {
      break;
    }
  }
  SampleStart start{state.weights, loop.inner().successor()};
  start.machine.proximal_step *= static_cast<double>(count) / static_cast<double>(family.size());
  return std::optional(std::move(start));
}

}  // namespace mercer::lp_mkl
