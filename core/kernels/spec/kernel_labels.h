// What users call kernels, and the groups that they put them in.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// Of a name or a group as a user gives it.
inline constexpr size_t kMaxLabelBytes = 100;

// What the constant is called where a value is told as the sum of what the kernels add to it.
inline constexpr char kNameOfBias[] = "bias";

// Whether it is UTF-8 without control characters.
bool IsLabelText(const std::string& label);
// Labels are at most kMaxLabelBytes of such text, not blanks alone, and no name is kNameOfBias.
// Violations are of "name" and "group".
absl::Status ValidateKernelLabels(const KernelLabels& labels);

// The name of one kernel of a family whose name `member` has: what tells it from the others behind
// it, "name(bandwidth=0.5, columns=age)". Empty where the family has no name.
std::string MemberName(const KernelSpec& member, bool several_bandwidths, bool several_column_sets);

// The groups of a list of kernels, in the order in which their first kernels stand in it. A list
// without groups has one, whose name is empty.
struct KernelGroups {
  std::vector<std::string> names;
  std::vector<Index> group_of;  // of each kernel: the place of its group in `names`

  Index num_groups() const { return static_cast<Index>(names.size()); }
};
KernelGroups GroupsOf(const std::vector<KernelSpec>& kernels);

}  // namespace mercer
