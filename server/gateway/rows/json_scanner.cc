#include "server/gateway/rows/json_scanner.h"

#include "absl/strings/ascii.h"

#include "core/io/text/number_parser.h"

namespace mercer::gateway {
namespace {

// The character in UTF-8.
void AppendCharacter(unsigned character, std::string* text) {
  const auto rest = [&](int shift) {
    text->push_back(static_cast<char>(0x80U | ((character >> shift) & 0x3FU)));
  };
  if (character < 0x80) {
    text->push_back(static_cast<char>(character));
  } else if (character < 0x800) {
    text->push_back(static_cast<char>(0xC0U | (character >> 6U)));
    rest(0);
  } else if (character < 0x10000) {
    text->push_back(static_cast<char>(0xE0U | (character >> 12U)));
    rest(6);
    rest(0);
  } else {
    text->push_back(static_cast<char>(0xF0U | (character >> 18U)));
    rest(12);
    rest(6);
    rest(0);
  }
}

}  // namespace

size_t JsonScanner::Position() {
  const size_t next = text_.find_first_not_of(" \t\r\n", position_);
  position_ = next == std::string_view::npos ? text_.size() : next;
  return position_;
}

char JsonScanner::Peek() { return Position() < text_.size() ? text_[position_] : '\0'; }

bool JsonScanner::Take(char sign) {
  const bool is_next = Position() < text_.size() && text_[position_] == sign;
  position_ += is_next ? 1 : 0;
  return is_next;
}

bool JsonScanner::TakeWord(std::string_view word) {
  const size_t end = Position() + word.size();
  const bool is_next =
      text_.substr(position_, word.size()) == word &&
      (end >= text_.size() || !absl::ascii_isalnum(static_cast<unsigned char>(text_[end])));
  position_ = is_next ? end : position_;
  return is_next;
}

bool JsonScanner::TakeString(std::string* value) {
  value->clear();
  if (!Take('"')) {
    return false;
  }
  while (position_ < text_.size()) {
    const char c = text_[position_++];
    if (c == '"') {
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20) {
      return false;
    }
    if (c != '\\') {
      value->push_back(c);
    } else if (!TakeEscape(value)) {
      return false;
    }
  }
  return false;
}

bool JsonScanner::TakeEscape(std::string* value) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char name = position_ < text_.size() ? text_[position_++] : '\0';
  const size_t known = name == '\0' ? std::string_view::npos : kNames.find(name);
  if (known != std::string_view::npos) {
    value->push_back(kMeanings[known]);
    return true;
  }
  return name == 'u' && TakeUnicode(value);
}

// Characters above U+FFFF are a pair of escapes: 0xD800 + upper ten bits, 0xDC00 + lower ten bits.
bool JsonScanner::TakeUnicode(std::string* value) {
  unsigned unit = 0;
  if (!TakeHex(&unit) || (unit >= 0xDC00 && unit < 0xE000)) {
    return false;
  }
  if (unit < 0xD800 || unit >= 0xE000) {
    AppendCharacter(unit, value);
    return true;
  }
  unsigned low = 0;
  if (text_.substr(position_, 2) != "\\u") {
    return false;
  }
  position_ += 2;
  if (!TakeHex(&low) || low < 0xDC00 || low >= 0xE000) {
    return false;
  }
  AppendCharacter(0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00), value);
  return true;
}

bool JsonScanner::TakeHex(unsigned* unit) {
  *unit = 0;
  for (int digit = 0; digit < 4; ++digit) {
    const char c = position_ < text_.size()
                       ? absl::ascii_tolower(static_cast<unsigned char>(text_[position_++]))
                       : '\0';
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
      return false;
    }
    *unit = 16 * *unit + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

bool JsonScanner::TakeNumber(double* value) {
  const char first = Peek();
  if (first != '-' && !absl::ascii_isdigit(static_cast<unsigned char>(first))) {
    return false;
  }
  const char* const begin = text_.data() + position_;
  const char* const end = ParseNumber(begin, value);
  if (end == nullptr) {
    return false;
  }
  position_ += static_cast<size_t>(end - begin);
  return true;
}

bool JsonScanner::SkipValue() {
  size_t depth = 0;
  std::string ignored;
  for (;;) {
    const char next = Peek();
    if (next == '"') {
      if (!TakeString(&ignored)) {
        return false;
      }
    } else if (next == '[' || next == '{') {
      ++position_;
      ++depth;
      continue;
    } else if (next == ']' || next == '}') {
      if (depth == 0) {
        return false;
      }
      ++position_;
      --depth;
    } else if ((next == ',' || next == ':') && depth > 0) {
      ++position_;
      continue;
    } else {
      const size_t end = text_.find_first_of(" \t\r\n,:]}[{\"", position_);
      const size_t stop = end == std::string_view::npos ? text_.size() : end;
      if (stop == position_) {
        return false;
      }
      position_ = stop;
    }
    if (depth == 0) {
      return true;
    }
  }
}

}  // namespace mercer::gateway
