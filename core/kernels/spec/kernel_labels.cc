#include "core/kernels/spec/kernel_labels.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/utf8.h"

namespace mercer {
namespace {

void CheckLabel(const std::string& label, const char* field, FieldViolations& violations) {
  violations.Check(label.size() <= kMaxLabelBytes, field,
                   absl::StrCat("has ", label.size(), " bytes, may have ", kMaxLabelBytes));
  violations.Check(IsLabelText(label), field, "must be UTF-8 text without control characters");
  violations.Check(label.empty() || !absl::StripAsciiWhitespace(label).empty(), field,
                   "must not be blanks alone");
}

}  // namespace

bool IsLabelText(const std::string& label) {
  bool has_control = false;
  for (size_t i = 0; i < label.size(); ++i) {
    // U+0080 to U+009F, which terminals may obey as well, are two bytes.
    const bool is_further = label[i] == '\xC2' && i + 1 < label.size() &&
                            static_cast<unsigned char>(label[i + 1]) < 0xA0;
    has_control |= is_further || absl::ascii_iscntrl(static_cast<unsigned char>(label[i]));
  }
  return !has_control && IsUtf8(label);
}

absl::Status ValidateKernelLabels(const KernelLabels& labels) {
  FieldViolations violations;
  CheckLabel(labels.name, "name", violations);
  violations.Check(
      labels.name != kNameOfBias, "name",
      absl::StrCat("'", kNameOfBias, "' is the constant's among the parts of a value"));
  CheckLabel(labels.group, "group", violations);
  return violations.ToStatus();
}

std::string MemberName(const KernelSpec& member, bool several_bandwidths,
                       bool several_column_sets) {
  const std::string& name = member.labels.name;
  std::vector<std::string> parts;
  if (several_bandwidths) {
    parts.push_back("bandwidth=" + ShortestText(member.bandwidth));
  }
  if (several_column_sets) {
    parts.push_back(absl::StrCat("columns=", absl::StrJoin(member.columns, "+")));
  }
  return name.empty() || parts.empty() ? name
                                       : absl::StrCat(name, "(", absl::StrJoin(parts, ", "), ")");
}

KernelGroups GroupsOf(const std::vector<KernelSpec>& kernels) {
  KernelGroups groups;
  HashMap<std::string, Index> place_of;
  for (const KernelSpec& kernel : kernels) {
    const auto [place, is_new] = place_of.try_emplace(kernel.labels.group, groups.num_groups());
    if (is_new) {
      groups.names.push_back(kernel.labels.group);
    }
    groups.group_of.push_back(place->second);
  }
  return groups;
}

}  // namespace mercer
