// The disk space that unfinished uploads take: all together, and those of each caller.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace mercer::server {

// In bytes; negative: as much as is wanted.
struct UploadSpaceLimits {
  int64_t all = -1;
  int64_t of_caller = -1;
};

// Thread-safe.
class UploadSpace : public std::enable_shared_from_this<UploadSpace> {
 public:
  // Bytes that are taken for as long as it lives.
  class Share {
   public:
    Share() = default;
    ~Share() { Release(); }
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept {
      Release();
      space_ = std::move(other.space_);
      caller_ = std::move(other.caller_);
      bytes_ = std::exchange(other.bytes_, 0);
      limits_ = other.limits_;
      return *this;
    }
    // Takes more. Nothing changes when a limit forbids it. Errors: kResourceExhausted (UPLOAD_SPACE_EXCEEDED).
    absl::Status Grow(int64_t bytes);

   private:
    friend class UploadSpace;
    void Release();

    std::shared_ptr<UploadSpace> space_;
    std::string caller_;
    int64_t bytes_ = 0;
    UploadSpaceLimits limits_;
  };

  // A share of nothing yet. Its growth keeps all shares together, and those of the caller, within the limits.
  Share NewShare(const std::string& caller, const UploadSpaceLimits& limits);
  int64_t taken() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status Take(int64_t bytes, const std::string& caller, const UploadSpaceLimits& limits)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(int64_t bytes, const std::string& caller) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> taken_by_ ABSL_GUARDED_BY(mutex_);  // callers who have something
};

}  // namespace mercer::server
