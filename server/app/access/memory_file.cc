#include "server/app/access/memory_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace mercer::server {
namespace {

std::string PathOf(int descriptor) { return absl::StrCat("/proc/self/fd/", descriptor); }

absl::Status Failed(const char* step) {
  return absl::InternalError(absl::StrCat("a file in memory: ", step, ": ", std::strerror(errno)));
}

}  // namespace

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

absl::Status MemoryFile::Replace(const std::string& text) {
  const int file = memfd_create("mercer", MFD_CLOEXEC);
  if (file < 0) {
    return Failed("memfd_create");
  }
  const absl::Cleanup close_file = [file] { close(file); };
  ++generation_;
  const timespec times[2] = {{generation_, 0}, {generation_, 0}};
  std::ofstream writer(PathOf(file), std::ios::binary);
  writer << text << std::flush;
  if (!writer || futimens(file, times) != 0) {
    return Failed("write");
  }
  // The number, and with it the path, goes over from the old file to the new one.
  const int moved =
      descriptor_ < 0 ? fcntl(file, F_DUPFD_CLOEXEC, 0) : dup3(file, descriptor_, O_CLOEXEC);
  if (moved < 0) {
    return Failed("dup");
  }
  if (descriptor_ < 0) {
    descriptor_ = moved;
    path_ = PathOf(descriptor_);
  }
  return access(path_.c_str(), R_OK) == 0 ? absl::OkStatus() : Failed(path_.c_str());
}

}  // namespace mercer::server
