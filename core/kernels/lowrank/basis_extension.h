// A joint basis that was found for the features of some kernels, extended to those of all by least
// squares. Values of a fitted kernel differ by about the square root of the share that is lost,
// those of a projected one by the share.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/lowrank/fit_probes.h"
#include "core/kernels/lowrank/joint_basis.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

// A basis for all kernels.
struct BasisExtension {
  Matrix restore;  // v ~ restore q for the features of all kernels: features x r
  // What is lost at the rows of the fit: the share of the squared norms of the fitted kernels'
  // features, in the mean over these kernels.
  double fitted_share = 0;
  FitProbes probes;  // tell what is lost at any rows
};

// `basis` is about the features of `kernels`, ascending, one below the other; those of the others
// are fitted to it at the rows that it was found from. Errors: kInvalidArgument (products that are
// not finite), kCancelled.
absl::StatusOr<BasisExtension> ExtendBasis(const NystromFeatures& features,
                                           const std::vector<Index>& kernels,
                                           const JointBasis& basis, const PreparedData& rows,
                                           uint64_t seed, RunContext& context);

}  // namespace mercer
