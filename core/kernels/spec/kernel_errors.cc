#include "core/kernels/spec/kernel_errors.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer {

std::string KernelField(size_t kernel) { return absl::StrCat("kernels[", kernel, "]"); }

std::string KernelText(size_t kernel, const KernelSpec& spec) {
  std::string text = KernelField(kernel);
  if (!spec.labels.name.empty()) {
    absl::StrAppend(&text, " '", spec.labels.name, "'");
  }
  if (!spec.labels.group.empty()) {
    absl::StrAppend(&text, " of group '", spec.labels.group, "'");
  }
  return text;
}

std::string SameNameText(const std::string& name, size_t entry, size_t other) {
  return absl::StrCat("two kernels would have the name '", name, "', one of ", KernelField(entry),
                      " and one of ", KernelField(other));
}

absl::Status NameKernel(size_t kernel, const KernelSpec& spec, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) {
    return status;
  }
  ErrorMetadata metadata = GetErrorMetadata(status);
  metadata.insert(metadata.begin(), {"kernel", KernelField(kernel)});
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(KernelText(kernel, spec), ": ", status.message())),
      GetReason(status), metadata);
}

}  // namespace mercer
