#include "client/cpp/output_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace mercer::client {
namespace {

constexpr int kNameTrials = 100;

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path,
                                                               mode_t mode) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  // Behind a symbolic link, so that the link stays.
  const std::string target =
      std::filesystem::exists(found) ? std::filesystem::canonical(path, error).string() : path;
  std::unique_ptr<OutputFile> file(new OutputFile(target.empty() ? path : target));
  bool open = false;
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    file->stream_.open(path, std::ios::binary);
    open = file->stream_.is_open();
  } else {
    open = file->OpenTemporary(mode);
  }
  if (!open) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write the file '", path, "'"));
  }
  return file;
}

bool OutputFile::OpenTemporary(mode_t mode) {
  struct stat old {};
  const bool replaces = stat(path_.c_str(), &old) == 0;
  if (replaces && access(path_.c_str(), W_OK) != 0) {
    return false;
  }
  std::random_device device;
  for (int i = 0; i < kNameTrials; ++i) {
    const std::string name = absl::StrCat(path_, ".", absl::Hex(device()), ".part");
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno == EEXIST) {
      continue;
    }
    if (descriptor < 0) {
      return false;
    }
    temporary_ = name;
    const bool allowed = !replaces || fchmod(descriptor, old.st_mode & 07777) == 0;
    close(descriptor);
    stream_.open(name, std::ios::binary);
    return allowed && stream_.is_open();
  }
  return false;
}

absl::Status OutputFile::Sync() {
  stream_.flush();
  if (temporary_.empty()) {
    return absl::OkStatus();  // a pipe or a device: Commit() tells what became of it
  }
  const int descriptor = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0) {
    close(descriptor);
  }
  synced_ = synced && stream_.good();
  return synced_ ? absl::OkStatus()
                 : absl::DataLossError(absl::StrCat("the file '", path_, "' could not be written"));
}

absl::Status OutputFile::Commit() {
  stream_.close();
  const bool renamed =
      stream_.good() && (temporary_.empty() || std::rename(temporary_.c_str(), path_.c_str()) == 0);
  if (!renamed) {
    return absl::DataLossError(absl::StrCat("the file '", path_, "' could not be written"));
  }
  temporary_.clear();
  return synced_ ? SyncFolder() : absl::OkStatus();
}

absl::Status OutputFile::SyncFolder() const {
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const int descriptor =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return absl::OkStatus();  // a folder that may be written and not read
  }
  const bool synced = fsync(descriptor) == 0;
  close(descriptor);
  return synced ? absl::OkStatus()
                : absl::DataLossError(
                      absl::StrCat("the folder of '", path_, "' could not be put on the disk"));
}

OutputFile::~OutputFile() {
  stream_.close();
  if (!temporary_.empty()) {
    std::remove(temporary_.c_str());
  }
}

}  // namespace mercer::client
