// One basis for the features of many kernels. Kernels of many widths on the same landmarks span
// nearly the same functions: a few of their features, q(x), give all others, v(x) ~ R q(x).
//
// The features are chosen on sampled rows, the landmarks among them, of which narrow kernels may
// have most of their trace: by panels, each time those of which most is left, pivots of a QR
// factorisation, until little enough of the sampled rows' squared norms is left (FindJointBasis). R
// is the least squares fit on these rows. Its entries are small in practice, though pivots alone do
// not bound them. Fresh samples then test it; of one that is kept worse than a hundred times the
// tolerance, the rows that are adds panels of their own. Source: docs/mathematics/README.md, section
// 7; Businger, Golub: Linear least squares solutions by Householder transformations. Numerische
// Mathematik 7 (1965) 269-276; on the entries of R: Gu, Eisenstat: Efficient algorithms for
// computing a strong rank-revealing QR factorization. SIAM Journal on Scientific Computing 17 (1996)
// 848-869.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

struct JointBasisOptions {
  // The largest share of the squared norms of preferred kernels that may be dropped, in [0, 1e-2]; 0
  // keeps all that can be told apart.
  double tolerance = 1e-8;
  uint64_t seed = 0;
  // The most columns; more is dropped then than the tolerance allows. 0: as many as there are
  // features.
  Index max_columns = 0;
  // Of a kernel whose features lose much of its trace more may be dropped: this share of what they
  // lose, where that is above the tolerance. 0: the same tolerance for all.
  double tolerance_of_lost = 0;
};

// A bound of the columns, which makes memory known before a run: more than kernels of real data
// need for this tolerance (3 to 7.5 for each landmark were seen at 1e-8, for kernels of one set of
// columns), and no more than features. `wide_sources` counts sets of more than two columns.
Index LargestJointRank(Index features, Index landmarks, Index kernels, Index wide_sources,
                       double tolerance);
// How many rows, besides the landmarks, a basis of at most so many columns is chosen on: enough that
// the fit of the other features is none through all of them.
Index JointSampleRows(Index most_columns);

struct JointBasis {
  std::vector<Index> features;  // the numbers of those chosen, ascending
  // S^-1 R: all features x chosen ones; v ~ restore q, where q has the chosen ones times the scales
  // S of their kernels.
  Matrix restore;
  // S of each kernel, which gives all the same mean squared norm: 0 for kernels that are zero, NaN
  // where values or their norm are out of range.
  Vector scales;
  double left_out = 0;         // the share of the squared norms of the first sample
  std::vector<Index> sampled;  // the rows that it was found from, ascending
};

// How much a row of a sample counts, so that sums over the sample stand for those over all `rows`:
// 1 each, and a landmark less, which stands for itself alone, where others are only drawn. Both lists
// ascending, `landmarks` those of the sample.
Vector SampleWeights(const std::vector<Index>& sampled, const std::vector<Index>& landmarks,
                     Index rows);

// Finds the basis. Features of `preferred` kernels, ascending, are chosen while these lose more than
// a tenth of the tolerance on the sampled rows, since values move by the root of what is lost; any
// features then while all lose more than fifty times the tolerance, or 1e-2. What is lost of a kernel
// counts by the ratio of the tolerance to the kernel's own, tolerance_of_lost included. Errors:
// kCancelled.
absl::StatusOr<JointBasis> FindJointBasis(const NystromFeatures& features,
                                          const std::vector<Index>& preferred,
                                          const PreparedData& rows,
                                          const JointBasisOptions& options, RunContext& context);

}  // namespace mercer
