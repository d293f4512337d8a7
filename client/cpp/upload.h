// What an upload that can be resumed needs to know of its bytes before they are sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "client/cpp/client.h"

namespace mercer::client {

// Smaller uploads are simply made again: asking how far they came would cost more.
inline constexpr int64_t kResumableBytes = int64_t{4} << 20;

// The server keeps the header of an upload that can be resumed: at most 4 MiB, of which ids and digests need a few.
inline constexpr size_t kMaxResumableHeaderBytes = (size_t{4} << 20) - 1024;

// Whether an upload of so many bytes is worth it, and may have this header.
bool ShouldBeResumable(int64_t content_bytes, const v1::UploadHeader& header);

struct ContentDigest {
  std::string sha256;  // of all parts, one after the other, in lower-case hexadecimal
  int64_t bytes = 0;
};

// Reads all sources, in constant memory. Errors: those of the sources.
absl::StatusOr<ContentDigest> DigestSources(const std::vector<UploadSource>& parts);

// Fills in what makes the upload resumable: digest, size, and an upload_id that follows from these and from the header, so
// that the same upload, begun by another process, goes on where this one ended.
void MakeResumable(const ContentDigest& content, v1::UploadHeader& header);

}  // namespace mercer::client
