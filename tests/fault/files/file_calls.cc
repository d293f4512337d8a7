// The system calls that change files, for the whole program: those of a program itself go before those of the C library,
// for shared libraries too. Without a FileFaults each does what it always does.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fault/files/file_faults.h"

namespace {

using mercer::server::FileFaults;

// The file of a descriptor; empty when it has none.
std::string PathOf(int descriptor) {
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  char path[4096];
  const long size = syscall(SYS_readlink, link, path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

// The FileFaults that covers the file; null when none does.
FileFaults* Find(const std::string& path) {
  FileFaults* const faults = FileFaults::active();
  return faults != nullptr && faults->Covers(path) ? faults : nullptr;
}

// A path that begins with '/' is absolute, as all are that tests give to a server.
template <typename Real>
int OfPath(const FileFaults::Call& call, Real real) {
  FileFaults* const faults = Find(call.path);
  return static_cast<int>(faults != nullptr ? faults->Run(call, [&](size_t) { return real(); })
                                            : real());
}

template <typename Real>
long OfDescriptor(const char* name, int descriptor, size_t write_size, Real real) {
  if (FileFaults::active() == nullptr) {
    return real(write_size);
  }
  FileFaults::Call call{name, PathOf(descriptor), write_size};
  FileFaults* const faults = Find(call.path);
  return faults != nullptr ? faults->Run(call, real) : real(write_size);
}

template <typename Real>
int Synced(const char* name, int descriptor, Real real) {
  if (FileFaults::active() == nullptr) {
    return static_cast<int>(real());
  }
  const FileFaults::Call call{name, PathOf(descriptor), 0, descriptor};
  return OfPath(call, real);
}

void DelayRead(int descriptor) {
  if (FileFaults::active() == nullptr) {
    return;
  }
  if (const FileFaults* const faults = Find(PathOf(descriptor)); faults != nullptr) {
    faults->DelayRead();
  }
}

int OpenFile(const char* path, int flags, mode_t mode) {
  const auto real = [&] { return syscall(SYS_openat, AT_FDCWD, path, flags, mode); };
  const bool makes = (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
  return makes ? OfPath({"open", path}, real) : static_cast<int>(real());
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  return OfDescriptor("write", descriptor, size, [&](size_t taken) {
    return static_cast<int64_t>(syscall(SYS_write, descriptor, bytes, taken));
  });
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return OfDescriptor("pwrite", descriptor, size, [&](size_t taken) {
    return static_cast<int64_t>(syscall(SYS_pwrite64, descriptor, bytes, taken, offset));
  });
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite64(descriptor, bytes, size, offset);
}

ssize_t pread64(int descriptor, void* bytes, size_t size, off64_t offset) {
  DelayRead(descriptor);
  return syscall(SYS_pread64, descriptor, bytes, size, offset);
}

ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  return pread64(descriptor, bytes, size, offset);
}

int ftruncate64(int descriptor, off64_t size) noexcept {
  return static_cast<int>(OfDescriptor("ftruncate", descriptor, 0, [&](size_t) {
    return static_cast<int64_t>(syscall(SYS_ftruncate, descriptor, size));
  }));
}

int ftruncate(int descriptor, off_t size) noexcept { return ftruncate64(descriptor, size); }

int fsync(int descriptor) {
  return Synced("fsync", descriptor, [&] { return syscall(SYS_fsync, descriptor); });
}

int fdatasync(int descriptor) {
  return Synced("fdatasync", descriptor, [&] { return syscall(SYS_fdatasync, descriptor); });
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenFile(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenFile(path, flags, mode);
}

int rename(const char* from, const char* to) noexcept {
  return OfPath({"rename", from, 0, -1, true, to}, [&] { return syscall(SYS_rename, from, to); });
}

int unlink(const char* path) noexcept {
  return OfPath({"unlink", path, 0, -1, true}, [&] { return syscall(SYS_unlink, path); });
}

int rmdir(const char* path) noexcept {
  return OfPath({"rmdir", path, 0, -1, true}, [&] { return syscall(SYS_rmdir, path); });
}

int unlinkat(int folder, const char* name, int flags) noexcept {
  const bool is_whole = name[0] == '/' || FileFaults::active() == nullptr;
  const std::string path = is_whole ? name : PathOf(folder) + "/" + name;
  return OfPath({"unlinkat", path, 0, -1, true},
                [&] { return syscall(SYS_unlinkat, folder, name, flags); });
}

int remove(const char* path) noexcept {
  return OfPath({"remove", path, 0, -1, true}, [&] {
    const long removed = syscall(SYS_unlink, path);
    return removed != 0 && errno == EISDIR ? syscall(SYS_rmdir, path) : removed;
  });
}

int mkdir(const char* path, mode_t mode) noexcept {
  return OfPath({"mkdir", path}, [&] { return syscall(SYS_mkdir, path, mode); });
}

}  // extern "C"
