#include "server/gateway/url.h"

#include <algorithm>
#include <cstdint>

namespace mercer::gateway {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The length of the character that `text` begins with; 0: none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) {
    return 0;
  }
  uint32_t value = first & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
    value = value << 6 | (byte(i) & 0x3fu);
  }
  const bool too_long = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  return too_long || surrogate || value > 0x10ffff ? 0 : size;
}

}  // namespace

std::optional<std::string> DecodePercents(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || HexDigit(text[i + 1]) < 0 || HexDigit(text[i + 2]) < 0) {
        return std::nullopt;
      }
      decoded.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' && plus_is_space ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view QueryOf(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::optional<Parameters> ParseQuery(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (part.empty()) {
      continue;
    }
    const size_t equals = std::min(part.find('='), part.size());
    auto name = DecodePercents(part.substr(0, equals), true);
    auto value = DecodePercents(part.substr(std::min(equals + 1, part.size())), true);
    if (!name.has_value() || !value.has_value() || !IsUtf8(*name) || !IsUtf8(*value)) {
      return std::nullopt;
    }
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterBytes(text);
    if (size == 0) {
      return false;
    }
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace mercer::gateway
