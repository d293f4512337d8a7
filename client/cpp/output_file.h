// A file that appears under its name only when it is complete.
#pragma once

#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mercer::client {

// Writes to a file beside `path` and gives it that name in Commit(); until then, and when Commit()
// is never called or fails, what was at `path` stays as it was. Keeps the permissions of a file
// that it replaces. What is no regular file (a pipe, a device) is written at once.
class OutputFile {
 public:
  // Errors: kInvalidArgument when the file cannot be written.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  // Puts what was written on the disk, as far as the file is one. Before Commit(). Errors: kDataLoss.
  absl::Status Sync();
  // Errors: kDataLoss when not all of it could be written.
  absl::Status Commit();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  bool OpenTemporary();

  std::string path_;
  std::string temporary_;  // empty when `path_` itself is written
  std::ofstream stream_;
};

}  // namespace mercer::client
