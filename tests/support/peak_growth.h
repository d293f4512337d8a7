// What a piece of work takes of memory at most, as the growth of the resident memory of a process of
// its own.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sanitized.h"

namespace mercer {

// Sanitizers keep freed memory, so that growth says nothing of what is held.
inline constexpr bool kGrowthIsMemoryHeld = !kSanitized;

// Code and stacks that a run touches for the first time.
inline constexpr int64_t kCodeAndStacks = 4 << 20;

// The bytes of files, such as this program and its libraries, that are in the memory of this process.
inline int64_t FileBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssFile:", 0) == 0) {
      return std::strtoll(line.c_str() + 8, nullptr, 10) * 1024;
    }
  }
  return 0;
}

// The bytes by which `work` makes the resident memory of a child process grow at most; -1 when it
// returns false there. `code_bytes`, if given, is told how many of them are code that came in.
inline int64_t PeakGrowth(const std::function<bool()>& work, int64_t* code_bytes = nullptr) {
  int channel[2];
  if (pipe(channel) != 0) {
    return -1;
  }
  // A child's peak begins at what its parent holds, freed memory that the allocator has kept included.
  malloc_trim(0);
  const pid_t child = fork();
  if (child == 0) {
    const int64_t files = FileBytes();
    int64_t pages = 0;
    int64_t resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    const bool done = work();
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const int64_t grown[2] = {done ? usage.ru_maxrss * 1024 - resident * sysconf(_SC_PAGESIZE) : -1,
                              FileBytes() - files};
    const bool written = write(channel[1], grown, sizeof(grown)) == sizeof(grown);
    _exit(written ? 0 : 1);
  }
  int64_t grown[2] = {-1, 0};
  if (child < 0 || read(channel[0], grown, sizeof(grown)) != static_cast<ssize_t>(sizeof(grown))) {
    grown[0] = -1;
  }
  close(channel[0]);
  close(channel[1]);
  if (child > 0) {
    waitpid(child, nullptr, 0);
  }
  if (code_bytes != nullptr) {
    *code_bytes = grown[1];
  }
  return grown[0];
}

}  // namespace mercer
