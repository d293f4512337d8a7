#include "core/base/status/shorten.h"

namespace mercer {
namespace {

constexpr std::string_view kMark = "...";

// The second and later bytes of a character are 10xxxxxx.
bool IsInsideCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

}  // namespace

std::string Shorten(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return std::string(text);
  }
  const size_t room = max_bytes < kMark.size() ? 0 : max_bytes - kMark.size();
  size_t end = room;
  while (end > 0 && IsInsideCharacter(text[end])) {
    --end;
  }
  // A character has at most four bytes: whatever this is, it is not UTF-8 and is cut anywhere.
  if (room - end > 3) {
    end = room;
  }
  return std::string(text.substr(0, end)).append(kMark);
}

}  // namespace mercer
