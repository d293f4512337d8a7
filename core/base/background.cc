#include "core/base/background.h"

#include <algorithm>
#include <cerrno>
#include <sys/resource.h>
#include <unistd.h>

namespace mercer {
namespace {

constexpr int kLargestNice = 19;

thread_local bool in_background = false;

}  // namespace

void EnterBackground() {
  if (in_background) {
    return;
  }
  in_background = true;
  // On Linux the number of a process stands for its first thread, and 0 for the calling one. That one may have
  // inherited a lower priority already, when a thread in the background has made it.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(getpid()));
  if (errno == 0) {
    setpriority(PRIO_PROCESS, 0, std::min(nice + kBackgroundNice, kLargestNice));
  }
}

bool InBackground() { return in_background; }

}  // namespace mercer
