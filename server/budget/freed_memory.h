// Memory that the allocator keeps once it is free.
#pragma once

#include <atomic>
#include <cstdint>
#include <malloc.h>

namespace mercer::server {

// What lay in small blocks stays with the arena of the thread that took it, between blocks that are in use, while the next thread takes
// fresh memory beside. Gives it back to the system once there is much of it. Thread-safe.
class FreedMemory {
 public:
  // So many bytes have just been freed. True: all that has gone back to the system.
  bool Add(int64_t bytes) {
    if (bytes_.fetch_add(bytes) + bytes < kMostBytes) {
      return false;
    }
    bytes_ = 0;
    malloc_trim(0);
    return true;
  }

  static constexpr int64_t kMostBytes = int64_t{32} << 20;

 private:
  std::atomic<int64_t> bytes_{0};  // since the last time
};

}  // namespace mercer::server
