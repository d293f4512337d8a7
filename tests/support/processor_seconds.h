// The processor time of the whole process, so that a loaded machine does not matter.
#pragma once

#include <ctime>

namespace mercer {

inline double ProcessorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace mercer
