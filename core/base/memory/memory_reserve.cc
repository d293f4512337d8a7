#include "core/base/memory/memory_reserve.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace mercer {
namespace {

// Twice what the C library asks of the system when its memory is used up.
constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr size_t kMostBlocks = 256;
// operator new asks again until it has what it wants, and asks without end for more than there is.
constexpr int kMostAttempts = 200;
constexpr std::chrono::milliseconds kOneAllocation(10);

thread_local Allocations current = Allocations::kNeeded;

void* Map() {
  void* const block =
      mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : block;
}

// Thread-safe. Nothing here allocates; std::mutex, other than Abseil's, never does.
class Reserve {
 public:
  void Fill(size_t blocks) {
    const std::lock_guard lock(mutex_);
    wanted_ = std::min(blocks, kMostBlocks);
    MapMissing();
  }
  void Refill() {
    const std::lock_guard lock(mutex_);
    MapMissing();
  }
  // Gives one block back to the system. False: there is none.
  bool Give() {
    const std::lock_guard lock(mutex_);
    return count_ > 0 && munmap(blocks_[--count_], kBlockBytes) == 0;
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  void MapMissing() {
    while (count_ < wanted_) {
      void* const block = Map();
      if (block == nullptr) {
        return;
      }
      blocks_[count_++] = block;
    }
  }

  std::mutex mutex_;
  std::array<void*, kMostBlocks> blocks_{};
  size_t count_ = 0;
  size_t wanted_ = 0;
};

// A handler takes no arguments.
constinit Reserve reserve;

// Whether there is memory after all: others have given theirs back, or too much was asked for at
// once.
bool HasMemory() {
  void* const block = Map();
  return block != nullptr && munmap(block, kBlockBytes) == 0;
}

// One allocation asks from one place of the stack, again and again.
void GiveMemory() {
  thread_local const void* place = nullptr;
  thread_local std::chrono::steady_clock::time_point last;
  thread_local int attempts = 0;
  const void* const here = __builtin_frame_address(0);
  const auto now = std::chrono::steady_clock::now();
  if (here != place || now - last > kOneAllocation) {
    attempts = 0;
  }
  place = here;
  last = now;
  // What is left behind by an exception must go without another one.
  const bool may_fail = current == Allocations::kMayFail && std::uncaught_exceptions() == 0;
  if (may_fail || ++attempts > kMostAttempts || !(HasMemory() || reserve.Give())) {
    throw std::bad_alloc();
  }
}

}  // namespace

ScopedAllocations::ScopedAllocations(Allocations kind) : former_(current) { current = kind; }
ScopedAllocations::~ScopedAllocations() { current = former_; }

void RequireMemory(int64_t bytes) {
  void* volatile const memory = std::malloc(static_cast<size_t>(bytes));
  std::free(memory);
  if (memory == nullptr && bytes > 0) {
    throw std::bad_alloc();
  }
}

void KeepMemoryInReserve(int64_t bytes) {
  reserve.Fill(static_cast<size_t>(bytes) / kBlockBytes);
  std::set_new_handler(GiveMemory);
}

void RefillReserve() { reserve.Refill(); }

int64_t ReserveBytes() { return static_cast<int64_t>(reserve.count() * kBlockBytes); }

}  // namespace mercer
