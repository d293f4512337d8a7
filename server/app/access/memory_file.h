// A file without a place on a disk, for libraries that take paths only.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace mercer::server {

class MemoryFile {
 public:
  MemoryFile() = default;
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // At once: who opens path() reads the old text or the new one. Each text has a modification time of
  // its own. Errors: kInternal.
  absl::Status Replace(const std::string& text);
  // Of this process alone; stays the same. Empty before the first text.
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  long generation_ = 0;
  std::string path_;
};

}  // namespace mercer::server
