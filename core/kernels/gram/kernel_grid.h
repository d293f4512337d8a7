// A family of kernels, as far as it is known without data.
#pragma once

#include <cstddef>

#include "core/base/status/errors.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// True when the bandwidths, or the multiples of the median, are `count` values between two ends
// rather than a list.
bool IsLogSpaced(const KernelGrid& grid);

// How many kernels a grid makes for each column set; 0 when it is spaced and has no valid count.
size_t NumBandwidths(const KernelGrid& grid);

// Adds the violations of ExpandKernels that need no data. `g` is the grid's place in its list.
void CheckKernelGrid(size_t g, const KernelGrid& grid, FieldViolations& violations);

}  // namespace mercer
