// The disk space that all unfinished uploads take together.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace mercer::server {

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
      bytes_ = std::exchange(other.bytes_, 0);
      limit_ = other.limit_;
      return *this;
    }
    // Takes more. False, and nothing changes, when the limit forbids it.
    bool Grow(int64_t bytes) {
      if (space_ == nullptr || !space_->Take(bytes, limit_)) {
        return space_ == nullptr;
      }
      bytes_ += bytes;
      return true;
    }
    int64_t limit() const { return limit_; }

   private:
    friend class UploadSpace;
    void Release() {
      if (space_ != nullptr) {
        space_->GiveBack(bytes_);
      }
      space_.reset();
      bytes_ = 0;
    }

    std::shared_ptr<UploadSpace> space_;
    int64_t bytes_ = 0;
    int64_t limit_ = 0;
  };

  // A share of nothing yet. Its growth keeps all shares together within `limit` bytes; negative: as many as it wants.
  Share NewShare(int64_t limit) {
    Share share;
    share.space_ = shared_from_this();
    share.limit_ = limit;
    return share;
  }
  int64_t taken() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return taken_;
  }

 private:
  bool Take(int64_t bytes, int64_t limit) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (limit >= 0 && bytes > limit - taken_) {
      return false;
    }
    taken_ += bytes;
    return true;
  }
  void GiveBack(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    taken_ -= bytes;
  }

  mutable absl::Mutex mutex_;
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

// kResourceExhausted with reason UPLOAD_SPACE_EXCEEDED.
absl::Status UploadSpaceExceeded(int64_t limit_bytes);

}  // namespace mercer::server
