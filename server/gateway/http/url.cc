#include "server/gateway/http/url.h"

#include <algorithm>

#include "core/base/status/utf8.h"

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

}  // namespace mercer::gateway
