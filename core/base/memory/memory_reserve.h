// What operator new does when there is no memory. A piece of work may end with an error
// (RunSafely); but the code between pieces of work, which answers a call, hands work over or runs a
// thread, cannot: whoever waits for it would wait for ever, and an exception that leaves a thread
// ends the process. So that code is given memory that was kept for it.
//
//   KeepMemoryInReserve(int64_t{16} << 20);                   // once, in main
//   const ScopedAllocations scope(Allocations::kNeeded);      // while a call is answered
#pragma once

#include <cstdint>

namespace mercer {

enum class Allocations : uint8_t {
  // What a thread begins with: memory from the reserve; std::bad_alloc when that is used up, or
  // cannot help.
  kNeeded,
  kMayFail,  // std::bad_alloc at once
};

// While it lives, it decides how the current thread is given memory; afterwards, what held before
// holds again.
class ScopedAllocations {
 public:
  explicit ScopedAllocations(Allocations kind);
  ~ScopedAllocations();
  ScopedAllocations(const ScopedAllocations&) = delete;
  ScopedAllocations& operator=(const ScopedAllocations&) = delete;

 private:
  const Allocations former_;
};

// Throws std::bad_alloc when not even now so many bytes are there, for work that must not be broken
// off half way.
void RequireMemory(int64_t bytes);

// Sets memory aside, as address space that costs no pages, and has operator new ask for it
// (std::set_new_handler). Without this call every allocation that fails throws std::bad_alloc. Call
// once; `bytes` at most 64 MiB.
void KeepMemoryInReserve(int64_t bytes);
// Makes up for what was given, as far as there is memory again. Thread-safe; to be called now and
// then.
void RefillReserve();
// How many bytes the reserve still holds. Thread-safe.
int64_t ReserveBytes();

}  // namespace mercer
