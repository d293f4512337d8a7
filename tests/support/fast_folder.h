// Where tests put files that are synced thousands of times and have to outlast a process, not the machine.
#pragma once

#include <filesystem>
#include <unistd.h>

namespace mercer {

inline std::filesystem::path FastFolder() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace mercer
