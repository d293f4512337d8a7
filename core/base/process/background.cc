#include "core/base/process/background.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mercer {
namespace {

constexpr int kLargestNice = 19;
// The slice of time that these threads ask for, which Linux heeds from 6.12 on. A thread with a
// shorter slice, as all have that did not ask for one, takes the processor from them the moment
// that it wakes up; otherwise it would wait for the end of their slice.
constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(20);

// The kernel's SCHED_FLAG_KEEP_POLICY: whoever has started the process as a batch or for idle
// moments means it.
constexpr uint64_t kKeepPolicy = 0x08;

// The kernel's struct sched_attr, which the C library of Debian 12 does not have.
struct ThreadAttributes {
  uint32_t size = sizeof(ThreadAttributes);
  uint32_t policy = 0;
  uint64_t flags = kKeepPolicy;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;
  uint64_t deadline = 0;
  uint64_t period = 0;
};

// Older kernels take the niceness alone.
void SetPriority(int nice) {
  ThreadAttributes attributes;
  attributes.nice = nice;
  attributes.runtime = static_cast<uint64_t>(kSlice.count());
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) {
    setpriority(PRIO_PROCESS, 0, nice);
  }
}

thread_local bool in_background = false;

}  // namespace

void EnterBackground() {
  if (in_background) {
    return;
  }
  in_background = true;
  // On Linux the number of a process stands for its first thread, and 0 for the calling one. That
  // one may have inherited a lower priority already, when a thread in the background has made it.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(getpid()));
  if (errno == 0) {
    SetPriority(std::min(nice + kBackgroundNice, kLargestNice));
  }
}

bool InBackground() { return in_background; }

}  // namespace mercer
