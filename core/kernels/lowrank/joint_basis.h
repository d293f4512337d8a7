// One basis for the features of many kernels. Kernels of many widths on the same landmarks span
// nearly the same functions: an orthonormal L with few columns r keeps v(x) ~ S^-1 L q(x),
// q(x) = L'S v(x), where S scales every kernel to the same trace.
//
// L is found by a range finder on sampled rows, the landmarks among them, of which narrow kernels
// may have most of their trace: panels of directions B'B G, B the features of the
// sample and G random, made orthogonal to the panels before them, until what is dropped of the
// sampled rows' squared norms is at most the tolerance. Fresh samples then test it; one that is
// kept worse than a hundred times the tolerance adds panels of its own. Source:
// docs/mathematics/README.md, section 7; Halko, Martinsson, Tropp: Finding structure with
// randomness. SIAM Review 53 (2011) 217-288.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

struct JointBasisOptions {
  // The largest share of the squared norms that may be dropped, in [0, 1e-2]; 0 keeps all that can
  // be told apart.
  double tolerance = 1e-8;
  uint64_t seed = 0;
  // The most columns; more is dropped then than the tolerance allows. 0: as many as there are
  // features.
  Index max_columns = 0;
};

// A bound of the columns, which makes memory known before a run: more than kernels of real data
// need for this tolerance (3 to 7.5 for each landmark were seen at 1e-8, for kernels of one set of
// columns), and no more than features. `wide_sources` counts sets of more than two columns.
Index LargestJointRank(Index features, Index landmarks, Index kernels, Index wide_sources,
                       double tolerance);

struct JointBasis {
  Matrix reduce;               // S L: features x r; q = reduce'v
  Matrix restore;              // S^-1 L: features x r; v ~ restore q
  Vector scales;               // S of each kernel, 0 for kernels that are zero
  std::vector<Index> sampled;  // the rows that it was found from, ascending
};

// How much a row of a sample counts, so that sums over the sample stand for those over all `rows`:
// 1 each, and a landmark less, which stands for itself alone, where others are only drawn. Both lists
// ascending, `landmarks` those of the sample.
Vector SampleWeights(const std::vector<Index>& sampled, const std::vector<Index>& landmarks,
                     Index rows);

// Finds the basis. Errors: kCancelled.
absl::StatusOr<JointBasis> FindJointBasis(const NystromFeatures& features, const PreparedData& rows,
                                          const JointBasisOptions& options, RunContext& context);

}  // namespace mercer
