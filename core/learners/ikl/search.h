// The bandwidth at which a dual vector's energy is largest: the search of infinite kernel learning.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/training/contract/problem.h"

namespace mercer::ikl {

struct BandwidthInterval {
  double low = 0;
  double high = 0;
};

KernelSpec GaussianOf(double bandwidth);
// Gaussian kernels of these bandwidths on all columns of the task. Errors: those of
// MakeExactKernelFamily.
absl::StatusOr<std::unique_ptr<KernelFamily>> MakeFamily(const TaskData& task,
                                                         const std::vector<double>& bandwidths,
                                                         RunContext& context);

struct FoundBandwidth {
  double bandwidth = 0;
  double energy = 0;  // dual'K dual
};

// The largest local maxima over the interval of T(s) = dual'K_s dual, K_s the Gaussian kernel of
// bandwidth s, the largest first: the values at a grid of log s, and at the bandwidths `listed`;
// then every local maximum among them is bracketed by its neighbours, and the bracket divided anew
// until log s is known to 1e-4. In one dimension that takes the place of steps along dT / d log s,
// and misses only maxima narrower than the mesh of the grid. Errors: kCancelled, those of the
// kernels.
absl::StatusOr<std::vector<FoundBandwidth>> FindBandwidths(const TaskData& task,
                                                           const BandwidthInterval& interval,
                                                           const std::vector<double>& listed,
                                                           const Vector& dual, RunContext& context);

}  // namespace mercer::ikl
