// A start for many rows: the same problem on a sample of them, where every step costs less. Weights
// and function are then near those of all rows, so that the large first steps, in which most rows
// are support vectors on their way, are those of the sample.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/lowrank/low_rank_family.h"
#include "core/objectives/weight_regularizer.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer::lp_mkl {

// The gap to which a sample need be solved at most: that of other rows is not worth more.
inline constexpr double kSampleStartGap = 0.01;

struct SampleStart {
  Vector weights;
  SvmWarmStart machine;
};

// How many rows the sample has, of `rows` with factors of `rank` columns; 0: none is worth it.
Index SampleStartRows(Index rows, Index rank);

// Solves the problem on the sample, from `weights`, to the gap; nothing where there is no sample or
// it has no such solution. Reports the stage "sample". A function of its arguments alone. Its
// memory is below that of the family: a quarter of its rows. Errors: kCancelled.
absl::StatusOr<std::optional<SampleStart>> StartFromSample(const LowRankKernelFamily& family,
                                                           const WeightRegularizer& regularizer,
                                                           const SvmProblem& problem,
                                                           const MklLoopOptions& options,
                                                           const Vector& weights, double gap,
                                                           uint64_t seed, RunContext& context);

}  // namespace mercer::lp_mkl
