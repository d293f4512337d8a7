// Errors of one kernel among several.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace mercer {

// The kernel's name as a field: "kernels[3]" for the kernel 3, counted from 0.
std::string KernelField(size_t kernel);

// `status` with the kernel named in message and metadata, its reason kept; codes other than
// kInvalidArgument stay as they are.
absl::Status NameKernel(size_t kernel, const absl::Status& status);

}  // namespace mercer
