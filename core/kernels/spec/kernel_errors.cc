#include "core/kernels/spec/kernel_errors.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer {

std::string KernelField(size_t kernel) { return absl::StrCat("kernels[", kernel, "]"); }

absl::Status NameKernel(size_t kernel, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) {
    return status;
  }
  ErrorMetadata metadata = GetErrorMetadata(status);
  metadata.insert(metadata.begin(), {"kernel", KernelField(kernel)});
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(KernelField(kernel), ": ", status.message())),
      GetReason(status), metadata);
}

}  // namespace mercer
