// Takes an input apart: choices from its first bytes, text from the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mercer::fuzz {

// Reads zeros behind the end.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  uint8_t Byte() {
    const std::string_view taken = Bytes(1);
    return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
  }
  uint64_t Uint64() {
    uint64_t value = 0;
    const std::string_view taken = Bytes(sizeof(value));
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  // In [0, count).
  size_t Choice(size_t count) { return Byte() % count; }
  // At most `count` bytes.
  std::string_view Bytes(size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Up to the next line end, which is dropped.
  std::string_view Line() {
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    return line;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace mercer::fuzz
