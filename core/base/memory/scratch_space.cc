#include "core/base/memory/scratch_space.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// Written at a time, and what may wait for the disk beside it.
constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kMostUnwritten = size_t{64} << 20;

absl::Status ScratchError(int error, const char* what, const std::string& folder) {
  const std::string message = absl::StrCat("cannot ", what, " a scratch file in '", folder,
                                           "': ", std::system_category().message(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return WithReason(absl::ResourceExhaustedError(message), "DISK_FULL", {{"path", folder}});
    case EMFILE:
    case ENFILE:
      return WithReason(absl::UnavailableError(message), "TOO_MANY_FILES", {{"path", folder}});
    case ENOMEM:
      return WithReason(absl::ResourceExhaustedError(message), "OUT_OF_MEMORY");
    case EROFS:
    case EACCES:
    case EPERM:
      return WithReason(absl::FailedPreconditionError(message), "STORAGE_READ_ONLY",
                        {{"path", folder}});
    default:
      return absl::InternalError(message);
  }
}

// A file that has no name, or loses it at once on a file system that makes none without. Negative:
// see errno.
int OpenNameless(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) {
    return descriptor;
  }
  std::string path = absl::StrCat(folder, "/table-XXXXXX");
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) {
    unlink(path.c_str());
  }
  return named;
}

// Unmaps what it holds.
struct Mapping {
  Mapping(void* mapped, size_t length) : data(mapped), size(length) {}
  ~Mapping() { munmap(data, size); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* const data;
  const size_t size;
};

}  // namespace

ScratchWriter::~ScratchWriter() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

ScratchWriter::ScratchWriter(ScratchWriter&& other) noexcept
    : folder_(std::move(other.folder_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      written_(other.written_),
      begun_(other.begun_),
      waited_(other.waited_) {}

absl::Status ScratchWriter::Append(const char* bytes, size_t size) {
  if (size > size_ - written_) {
    return absl::InternalError("more bytes than the scratch file was made for");
  }
  while (size > 0) {
    const ssize_t count =
        pwrite(descriptor_, bytes, std::min(size, kPieceBytes), static_cast<off_t>(written_));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return ScratchError(errno, "write", folder_);
    }
    bytes += count;
    size -= static_cast<size_t>(count);
    written_ += static_cast<size_t>(count);
    MERCER_RETURN_IF_ERROR(LimitUnwritten());
  }
  return absl::OkStatus();
}

// Pages that no disk has yet cannot be given up when memory is short.
absl::Status ScratchWriter::LimitUnwritten() {
  if (written_ - begun_ < kPieceBytes) {
    return absl::OkStatus();
  }
  sync_file_range(descriptor_, static_cast<off_t>(begun_), static_cast<off_t>(written_ - begun_),
                  SYNC_FILE_RANGE_WRITE);
  begun_ = written_;
  if (written_ - waited_ <= kMostUnwritten) {
    return absl::OkStatus();
  }
  const size_t end = written_ - kMostUnwritten;
  const int result = sync_file_range(
      descriptor_, static_cast<off_t>(waited_), static_cast<off_t>(end - waited_),
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  waited_ = end;
  // Not every file system can be asked; what it could not write is told here.
  const bool unknown = errno == ESPIPE || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
  return result == 0 || unknown ? absl::OkStatus() : ScratchError(errno, "write", folder_);
}

absl::StatusOr<ScratchBytes> ScratchWriter::Finish() {
  if (written_ != size_) {
    return absl::InternalError("fewer bytes than the scratch file was made for");
  }
  // A page that could not be written would be read back as zeros.
  while (fdatasync(descriptor_) != 0) {
    if (errno != EINTR) {
      return ScratchError(errno, "write", folder_);
    }
  }
  void* const data = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (data == MAP_FAILED) {
    return ScratchError(errno, "map", folder_);
  }
  auto mapping = std::make_shared<const Mapping>(data, size_);
  return ScratchBytes{std::move(mapping), static_cast<const char*>(data)};
}

absl::StatusOr<ScratchWriter> ScratchSpace::Create(size_t size) const {
  const int descriptor = OpenNameless(folder_);
  if (descriptor < 0) {
    return ScratchError(errno, "make", folder_);
  }
  ScratchWriter writer(folder_, descriptor, size);
  const int error = Allocate(descriptor, size);
  if (error != 0) {
    return ScratchError(error, "make room for", folder_);
  }
  return writer;
}

int ScratchSpace::Allocate(int descriptor, size_t size) const {
  // Not posix_fallocate, which writes every page where the file system cannot do it at once.
  while (fallocate(descriptor, 0, 0, static_cast<off_t>(size)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      return 0;
    }
    if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool IsDiskError(const absl::Status& status) {
  const std::string reason = GetReason(status);
  return absl::IsUnavailable(status) || reason == "DISK_FULL" || reason == "STORAGE_READ_ONLY";
}

}  // namespace mercer
