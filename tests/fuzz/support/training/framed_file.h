// Stored files end with a checksum, which no mutation hits. The targets seal an input again, so that what lies behind the
// checksum is reached.
#pragma once

#include <string>
#include <string_view>

#include "core/training/encoding/encoding.h"

namespace mercer::fuzz {

// The input with the length and the checksum of its frame (FramePayload) put right; too short ones stay as they are.
inline std::string Resealed(std::string_view bytes) {
  constexpr size_t kMagic = 8;
  constexpr size_t kHeader = kMagic + 2 * sizeof(uint64_t);
  constexpr size_t kChecksum = sizeof(uint64_t);
  if (bytes.size() < kHeader + kChecksum) {
    return std::string(bytes);
  }
  return FramePayload(bytes.substr(0, kMagic), FormatVersion(bytes),
                      bytes.substr(kHeader, bytes.size() - kHeader - kChecksum));
}

}  // namespace mercer::fuzz
