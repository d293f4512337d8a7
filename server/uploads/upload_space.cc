#include "server/uploads/upload_space.h"

#include <optional>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

absl::Status Exceeded(const std::string& whose, const std::string& flag, int64_t limit_bytes,
                      ErrorMetadata metadata) {
  metadata.emplace_back("limit_bytes", absl::StrCat(limit_bytes));
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "all unfinished uploads ", whose, "together may take ", limit_bytes,
                        " bytes (mercer-server ", flag, "); finish, delete or await the others")),
                    "UPLOAD_SPACE_EXCEEDED", metadata);
}

}  // namespace

absl::Status UploadSpace::Grow(int64_t bytes) {
  const std::optional<BudgetLimit> exceeded = share_.Grow(bytes, limits_);
  if (!exceeded.has_value()) {
    return absl::OkStatus();
  }
  return *exceeded == BudgetLimit::kAll
             ? Exceeded("", "--upload-space", limits_.all, {})
             : Exceeded(absl::StrCat("of ", caller_, " "), "--upload-space-per-caller",
                        limits_.of_key, {{"caller", caller_}});
}

}  // namespace mercer::server
