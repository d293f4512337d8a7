// Kernels between the API and the core.
#pragma once

#include <string>

#include "core/base/errors.h"
#include "core/kernels/kernel_spec.h"
#include "mercer/v1/kernel.pb.h"

namespace mercer::server {

// Violations are named "<path>.bandwidth" and so on. Ranges are the core's business
// (ValidateRecipe); this checks what the core cannot see: a missing type, parameters that the type
// or rule does not have.
KernelGrid ReadKernelGrid(const v1::KernelGrid& grid, const std::string& path,
                          FieldViolations& violations);

v1::Kernel WriteKernel(const KernelSpec& spec);

}  // namespace mercer::server
