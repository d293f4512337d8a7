// What a piece of work takes of memory at most, as the growth of the resident memory of a process of
// its own.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sanitized.h"

namespace mercer {

// Sanitizers keep freed memory, so that growth says nothing of what is held.
inline constexpr bool kGrowthIsMemoryHeld = !kSanitized;

// Stacks, and what the allocator of each thread begins with.
inline constexpr int64_t kCodeAndStacks = 4 << 20;

// Has the code of this program and its libraries in memory, so that none comes in when a run first comes to it. Where the system
// cannot do that (before Linux 5.14) it counts for the run.
inline void LoadCode() {
#ifdef MADV_POPULATE_READ
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char access[5] = {};
    const bool is_code = std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) == 3 &&
                         std::strncmp(access, "r-xp", 4) == 0 &&
                         line.find('/') != std::string::npos;
    if (is_code) {
      madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
    }
  }
#endif
}

// The bytes by which `work` makes the resident memory of a child process grow at most; -1 when it
// returns false there.
inline int64_t PeakGrowth(const std::function<bool()>& work) {
  int channel[2];
  if (pipe(channel) != 0) {
    return -1;
  }
  // A child's peak begins at what its parent holds, freed memory that the allocator has kept included.
  malloc_trim(0);
  const pid_t child = fork();
  if (child == 0) {
    LoadCode();
    int64_t pages = 0;
    int64_t resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    const bool done = work();
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const int64_t grown = done ? usage.ru_maxrss * 1024 - resident * sysconf(_SC_PAGESIZE) : -1;
    const bool written = write(channel[1], &grown, sizeof(grown)) == sizeof(grown);
    _exit(written ? 0 : 1);
  }
  int64_t grown = -1;
  if (child < 0 || read(channel[0], &grown, sizeof(grown)) != static_cast<ssize_t>(sizeof(grown))) {
    grown = -1;
  }
  close(channel[0]);
  close(channel[1]);
  if (child > 0) {
    waitpid(child, nullptr, 0);
  }
  return grown;
}

}  // namespace mercer
