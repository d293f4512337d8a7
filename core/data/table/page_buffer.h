// A growing byte buffer on anonymous pages: growing moves page tables, not bytes, so that a matrix
// of unknown height never exists twice in memory. Pages that were never written cost nothing;
// ShrinkToFit gives back the slack at the end.
#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace mercer {

// Page-aligned. Move-only. Not thread-safe.
class PageBuffer {
 public:
  PageBuffer() = default;
  ~PageBuffer();
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;

  // Makes room for at least `capacity` bytes; the content may move. New bytes are zero. Errors:
  // kResourceExhausted.
  absl::Status Reserve(size_t capacity);
  // Keeps the first `size` bytes, rounded up to whole pages.
  void ShrinkToFit(size_t size);
  // Gives the whole pages inside [begin, end) back to the system; their content becomes zero.
  void Discard(size_t begin, size_t end);

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t capacity() const { return capacity_; }

 private:
  char* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace mercer
