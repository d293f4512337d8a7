// The form of a tar archive: ustar, with a pax header before what ustar cannot say (files of 8 GiB and more). Regular
// files with short ASCII names, nothing else.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/digest/sha256.h"

namespace mercer::server {

inline constexpr int64_t kTarBlockBytes = 512;
// Names are written as they are: longer ones are a mistake of the caller.
inline constexpr size_t kMaxTarName = 100;

// What stands before the content of a file.
std::string TarHeader(std::string_view name, int64_t size, absl::Time modified);
// Zeros from the end of a content of `size` bytes to the next block.
std::string TarPadding(int64_t size);
// The end of an archive.
std::string TarEnd();

// Reads an archive from its beginning to its end; not thread-safe.
//
//   while (true) {
//     MERCER_ASSIGN_OR_RETURN(const std::optional<TarFile> file, reader.Next());
//     if (!file) break;
//     ... reader.Read(buffer, capacity) until it answers 0 ...
//   }
struct TarFile {
  std::string name;
  int64_t size = 0;
};

class TarReader {
 public:
  // `digest_name`: of the file whose content speaks of all bytes before it. `input` must outlive the reader.
  TarReader(std::istream& input, std::string digest_name)
      : input_(input), digest_name_(std::move(digest_name)) {}

  // The next file; skips what is left of the one before. Nothing at the end, which nothing may follow. Errors:
  // kDataLoss (cut off, damaged, or something else than a regular file).
  absl::StatusOr<std::optional<TarFile>> Next();
  // The next bytes of the file, at most `capacity`; 0 at its end. Errors: kDataLoss.
  absl::StatusOr<size_t> Read(char* buffer, size_t capacity);
  // SHA-256 of all bytes before the header of the file `digest_name`; empty until Next() has answered that.
  const std::string& digest() const { return digest_; }

 private:
  absl::StatusOr<std::string> ReadBlock();
  absl::Status ReadExactly(char* buffer, size_t size);
  void Add(std::string_view bytes);
  absl::StatusOr<int64_t> ReadPaxSize(int64_t header_bytes);
  absl::Status ExpectEnd();

  std::istream& input_;
  const std::string digest_name_;
  Sha256 hash_;
  std::string digest_;
  int64_t left_ = 0;     // bytes of the content that were not read
  int64_t padding_ = 0;  // that follow it
};

}  // namespace mercer::server
