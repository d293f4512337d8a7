// A file that appears under its name only when it is complete.
#pragma once

#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <sys/types.h>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mercer::client {

// Writes to a file beside `path` and gives it that name in Commit(); until then, and when Commit()
// is never called or fails, what was at `path` stays as it was. Keeps the permissions of a file
// that it replaces. What is no regular file (a pipe, a device) is written at once.
class OutputFile {
 public:
  static constexpr mode_t kEverybody = 0666;  // less the user's umask
  static constexpr mode_t kOwnerOnly = 0600;

  // `mode`: of a new file. Errors: kInvalidArgument when the file cannot be written.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path,
                                                            mode_t mode = kEverybody);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  // What was written is where it belongs already, and cannot be taken back.
  bool in_place() const { return temporary_.empty(); }
  // Puts what was written on the disk, as far as the file is one. Before Commit(), which then
  // puts its name there too. Errors: kDataLoss.
  absl::Status Sync();
  // Errors: kDataLoss when not all of it could be written.
  absl::Status Commit();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  bool OpenTemporary(mode_t mode);
  // Puts the new name of the file on the disk.
  absl::Status SyncFolder() const;

  std::string path_;
  std::string temporary_;  // empty when `path_` itself is written
  bool synced_ = false;
  std::ofstream stream_;
};

}  // namespace mercer::client
