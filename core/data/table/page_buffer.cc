#include "core/data/table/page_buffer.h"

#include <algorithm>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mercer {
namespace {

size_t RoundUpToPages(size_t size) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

}  // namespace

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) {
    munmap(data_, capacity_);
  }
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

absl::Status PageBuffer::Reserve(size_t capacity) {
  constexpr size_t kFirstCapacity = size_t{1} << 20;
  if (capacity <= capacity_) {
    return absl::OkStatus();
  }
  if (capacity > std::numeric_limits<size_t>::max() / 4) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a buffer of ", capacity, " bytes cannot exist"));
  }
  const size_t wanted = RoundUpToPages(std::max({capacity, 2 * capacity_, kFirstCapacity}));
  void* moved = data_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : mremap(data_, capacity_, wanted, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", wanted, " bytes"));
  }
  data_ = static_cast<char*>(moved);
  capacity_ = wanted;
  return absl::OkStatus();
}

void PageBuffer::ShrinkToFit(size_t size) {
  const size_t kept = RoundUpToPages(size);
  if (data_ == nullptr || kept >= capacity_) {
    return;
  }
  munmap(data_ + kept, capacity_ - kept);
  capacity_ = kept;
  if (kept == 0) {
    data_ = nullptr;
  }
}

void PageBuffer::Discard(size_t begin, size_t end) {
  const size_t first = RoundUpToPages(begin);
  const size_t last = RoundUpToPages(end + 1) - RoundUpToPages(1);
  if (first < last) {
    madvise(data_ + first, last - first, MADV_DONTNEED);
  }
}

}  // namespace mercer
