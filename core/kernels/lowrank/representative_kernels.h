// Kernels that stand for others: of many widths on the same values, features in between follow from
// those of their neighbours.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// The kernels, ascending, whose features give those of all others but for some ten times the share
// `tolerance` of their squared norms. A kernel that is left out lies between two that are not: the
// same values of pairs, and bandwidths in a ratio of at most exp(0.065 (12.5 + log10 tolerance)),
// 1.34 for 1e-8, as was measured for Gaussian kernels. All kernels where that leaves none out.
// Errors: kCancelled.
absl::StatusOr<std::vector<Index>> RepresentativeKernels(const std::vector<KernelSpec>& kernels,
                                                         const PreparedData& data, double tolerance,
                                                         const RunContext& context);

}  // namespace mercer
