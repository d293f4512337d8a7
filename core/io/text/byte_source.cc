#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/io/text/readers.h"

namespace mercer {
namespace {

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    const size_t count = std::min(capacity, bytes_.size() - position_);
    std::memcpy(buffer, bytes_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  std::string bytes_;
  size_t position_ = 0;
};

class FileSource : public ByteSource {
 public:
  FileSource(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { close(descriptor_); }

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    ssize_t count = read(descriptor_, buffer, capacity);
    while (count < 0 && errno == EINTR) {
      count = read(descriptor_, buffer, capacity);
    }
    if (count < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
    }
    return static_cast<size_t>(count);
  }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace

std::unique_ptr<ByteSource> MakeMemorySource(std::string bytes) {
  return std::make_unique<MemorySource>(std::move(bytes));
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  auto source = std::make_unique<FileSource>(descriptor, path);
  struct stat info = {};
  if (fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a folder"));
  }
  return source;
}

}  // namespace mercer
