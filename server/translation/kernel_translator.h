// Kernels between the API and the core.
#pragma once

#include <string>

#include "core/base/status/errors.h"
#include "core/kernels/spec/kernel_spec.h"
#include "mercer/v1/kernel.pb.h"

namespace mercer::server {

// Violations are named "<path>.bandwidth" and so on. Ranges are the core's business
// (ValidateRecipe); this checks what the core cannot see: a missing type, parameters that the type
// or rule does not have.
// A grid without any width means the width 1: what it meant when it was stored by a server that did
// not complete requests.
KernelGrid ReadKernelGrid(const v1::KernelGrid& grid, const std::string& path,
                          FieldViolations& violations);

// A grid of a new request: one that needs a width and has none gets the median distance.
void CompleteKernelGrid(v1::KernelGrid& grid);

// The message that ReadKernelGrid reads as `grid`.
v1::KernelGrid WriteKernelGrid(const KernelGrid& grid);

v1::Kernel WriteKernel(const KernelSpec& spec);

}  // namespace mercer::server
