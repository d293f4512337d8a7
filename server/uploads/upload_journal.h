// What is known for certain of an unfinished upload: its header, and how far each part is on the disk.
//
// A file "<stem>.journal": the magic, a version, the length of the beginning and its CRC-32C, 8 bytes each; the beginning:
// the length of the caller's name in 8 bytes, that name, and the header (in version 1 the header alone); then records of 32
// bytes, each written after the bytes that it vouches for: the part, its size, the time in microseconds since 1970, and the
// CRC-32C of these 24 bytes. The last whole record of a part holds, and there is no part behind that of the last whole
// record. Whatever follows a record that is not whole was torn by a crash and is cut off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/blobs/file_system.h"

namespace mercer::server {

// What a journal says.
struct JournalContent {
  std::string caller;  // who began the upload; empty: unknown
  std::string header;
  std::vector<int64_t> sizes;  // of the parts that were begun
  absl::Time last_time = absl::InfinitePast();
};

// Not thread-safe.
class UploadJournal {
 public:
  // Makes the file, in the place of one that may be there; it is on the disk with its name afterwards, or not there.
  static absl::StatusOr<std::unique_ptr<UploadJournal>> Create(const std::string& path,
                                                               const std::string& caller,
                                                               const std::string& header,
                                                               FileSystem& file_system);
  // Reads the file and goes on with it. Errors: kDataLoss (it is none, or its header is damaged).
  static absl::StatusOr<std::unique_ptr<UploadJournal>> Open(const std::string& path,
                                                             FileSystem& file_system,
                                                             JournalContent* content);

  // Vouches for the first `size` bytes of the part, for ever. After an error only the destructor may follow.
  absl::Status Record(int part, int64_t size, absl::Time now);

 private:
  explicit UploadJournal(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  std::unique_ptr<WritableFile> file_;
};

}  // namespace mercer::server
