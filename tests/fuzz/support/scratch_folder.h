// A folder for one process, in memory where the system has such a place.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "tests/support/fast_folder.h"

namespace mercer::fuzz {

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name) {
    path_ = FastFolder() / ("mercer_fuzz_" + name + "_" + std::to_string(getpid()));
    Clear();
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Empty again.
  void Clear() const {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  std::string PathOf(const std::string& file) const { return path_ / file; }
  // Replaces the file; its path.
  std::string Write(const std::string& file, std::string_view bytes) const {
    std::ofstream out(path_ / file, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return PathOf(file);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace mercer::fuzz
