// The bandwidths of a family of kernels, as far as they are known without data.
#pragma once

#include <cstddef>

#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// True when the bandwidths, or the multiples of the median, are `count` values between two ends
// rather than a list.
bool IsLogSpaced(const KernelGrid& grid);

// How many kernels a grid makes for each column set; 0 when it is spaced and has no valid count.
size_t NumBandwidths(const KernelGrid& grid);

}  // namespace mercer
