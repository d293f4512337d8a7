#include "server/uploads/upload_space.h"

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

absl::Status UploadSpace::Share::Grow(int64_t bytes) {
  if (space_ == nullptr) {
    return absl::OkStatus();
  }
  const absl::Status taken = space_->Take(bytes, caller_, limits_);
  bytes_ += taken.ok() ? bytes : 0;
  return taken;
}

void UploadSpace::Share::Release() {
  if (space_ != nullptr) {
    space_->GiveBack(bytes_, caller_);
  }
  space_.reset();
  bytes_ = 0;
}

UploadSpace::Share UploadSpace::NewShare(const std::string& caller,
                                         const UploadSpaceLimits& limits) {
  Share share;
  share.space_ = shared_from_this();
  share.caller_ = caller;
  share.limits_ = limits;
  return share;
}

int64_t UploadSpace::taken() const {
  absl::MutexLock lock(&mutex_);
  return taken_;
}

absl::Status UploadSpace::Take(int64_t bytes, const std::string& caller,
                               const UploadSpaceLimits& limits) {
  absl::MutexLock lock(&mutex_);
  if (limits.all >= 0 && bytes > limits.all - taken_) {
    return Exceeded("", "--upload-space", limits.all, {});
  }
  const auto found = taken_by_.find(caller);
  const int64_t has = found == taken_by_.end() ? 0 : found->second;
  if (limits.of_caller >= 0 && bytes > limits.of_caller - has) {
    return Exceeded(absl::StrCat("of ", caller, " "), "--upload-space-per-caller", limits.of_caller,
                    {{"caller", caller}});
  }
  taken_by_[caller] = has + bytes;  // first, as it may find no memory
  taken_ += bytes;
  return absl::OkStatus();
}

void UploadSpace::GiveBack(int64_t bytes, const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  taken_ -= bytes;
  const auto found = taken_by_.find(caller);
  if (found != taken_by_.end() && (found->second -= bytes) <= 0) {
    taken_by_.erase(found);
  }
}

}  // namespace mercer::server
