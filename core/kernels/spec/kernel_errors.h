// Errors of one kernel among several.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// The kernel's name as a field: "kernels[3]" for the kernel 3, counted from 0.
std::string KernelField(size_t kernel);

// The same for people, with the labels that the kernel was given: "kernels[3] 'hsv' of group
// 'colours'".
std::string KernelText(size_t kernel, const KernelSpec& spec);

// What is wrong with a name that a kernel of one entry of a list and one of another would have.
std::string SameNameText(const std::string& name, size_t entry, size_t other);

// `status` with the kernel named in message and metadata, its reason kept; codes other than
// kInvalidArgument stay as they are.
absl::Status NameKernel(size_t kernel, const KernelSpec& spec, const absl::Status& status);

}  // namespace mercer
