// Landmarks chosen among all rows by what kernels see: rows that matter to their mean, each kernel
// scaled to mean value 1 with itself. For a kernel alone: a list of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/gram/mean_kernel.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// Rows of which the row sketch[j] stands for 1 / probabilities(j).
struct LeverageSketch {
  std::vector<Index> rows;
  Vector probabilities;
};

// Approximate ridge leverage scores of all rows, times n lambda, lambda = 1e-3:
//   k_ii - c_i'(W + n lambda diag(p))^-1 c_i,
// c_i the kernel's values at the rows of the sketch, W those among them, p their probabilities. With
// every row, of probability 1, they are exact. A row unlike all of the sketch has a score near k_ii,
// where scores of its features would be 0: docs/mathematics/README.md, section 7. All 1 when the
// kernel is not positive definite. Rows are streamed in blocks. Errors: kCancelled.
absl::StatusOr<Vector> LeverageScores(const MeanKernel& kernel, const LeverageSketch& sketch,
                                      RunContext& context);

// `count` different rows, ascending, with probabilities that grow with the scores by a sketch of
// `count` rows that are drawn by scores in turn, those by a sketch of `count` uniform rows: what a
// uniform draw misses, the first scores find, and the second ones judge. Source: Musco, Musco:
// Recursive sampling for the Nystrom method. NeurIPS 2017. Errors: those of MeanKernel, kCancelled.
absl::StatusOr<std::vector<Index>> DrawByLeverage(const PreparedData& inputs,
                                                  const std::vector<KernelSpec>& kernels,
                                                  Index count, uint64_t seed, RunContext& context);

// The pivots of an incomplete Cholesky factor of the mean kernel, each time the row that those
// before it represent worst, the first one of several. At most `count`, fewer when no row is left
// with more than 1e-12 of the largest value. Ascending. Errors as above.
absl::StatusOr<std::vector<Index>> PickPivots(const PreparedData& inputs,
                                              const std::vector<KernelSpec>& kernels, Index count,
                                              RunContext& context);

// An incomplete Cholesky factor of one kernel, K ~ G G', as a function of rows:
// G(i, :) = k(x_i, Z) map, Z the pivots.
struct PivotedFactor {
  std::vector<Index> pivots;  // in their order; one even where there are no columns
  Matrix map;                 // T^-T, T the pivots' rows of G: pivots x columns
};

// The factor of kernels[kernel] on pivots as above, while a row has more than `threshold` of the
// largest value left. Errors: those of MeanKernel, for a list of one; kInvalidArgument with reason
// NOT_PSD and the kernel; kCancelled.
absl::StatusOr<PivotedFactor> FactorByPivots(const PreparedData& inputs,
                                             const std::vector<KernelSpec>& kernels, size_t kernel,
                                             Index count, double threshold, RunContext& context);

// Upper bounds on what choosing `count` of `rows` rows takes, beside the columns of the chosen
// ones, for `unit_diagonals` kernels of unit diagonal in a mean.
size_t LeverageBytes(Index rows, Index count, Index unit_diagonals);
size_t PivotBytes(Index rows, Index count, Index unit_diagonals);

}  // namespace mercer
