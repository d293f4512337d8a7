// A growing array that is written once and then read once, front to back: it never exists twice
// while it grows, and gives its pages back while it is read.
#pragma once

#include <cstddef>

#include "absl/status/status.h"

#include "core/base/status/status_macros.h"
#include "core/data/table/page_buffer.h"

namespace mercer {

template <typename T>
class PageArray {
 public:
  // Errors: kResourceExhausted.
  absl::Status Add(T value) {
    if (size_ == capacity_) {
      MERCER_RETURN_IF_ERROR(buffer_.Reserve((size_ + 1) * sizeof(T)));
      capacity_ = buffer_.capacity() / sizeof(T);
    }
    data()[size_++] = value;
    return absl::OkStatus();
  }
  size_t size() const { return size_; }

  // The next value; requires that there is one. Values behind it may no longer be read.
  T TakeNext() {
    constexpr size_t kPiece = (size_t{1} << 20) / sizeof(T);
    const T value = data()[next_++];
    if (next_ % kPiece == 0) {
      buffer_.Discard((next_ - kPiece) * sizeof(T), next_ * sizeof(T));
    }
    return value;
  }

 private:
  T* data() { return reinterpret_cast<T*>(buffer_.data()); }

  PageBuffer buffer_;
  size_t capacity_ = 0;
  size_t size_ = 0;
  size_t next_ = 0;
};

}  // namespace mercer
