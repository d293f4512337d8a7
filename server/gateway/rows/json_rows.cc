#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/base/status/utf8.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/number_parser.h"
#include "server/gateway/rows/row_texts.h"

namespace mercer::gateway {
namespace {

// Walks over the text of JSON (RFC 8259), without making anything of it.
class JsonScanner {
 public:
  // `text` must be followed by a readable byte that is part of no number.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Where the next value or sign is, spaces skipped.
  size_t Position() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
    return position_;
  }
  // Behind what was taken or skipped last.
  size_t end() const { return position_; }
  // The byte at Position(); NUL at the end.
  char Peek() { return Position() < text_.size() ? text_[position_] : '\0'; }
  // Whether that sign is next, and moves behind it.
  bool Take(char sign) {
    const bool is_next = Position() < text_.size() && text_[position_] == sign;
    position_ += is_next ? 1 : 0;
    return is_next;
  }
  // The same for "true", "false", "null".
  bool TakeWord(std::string_view word);
  // The next value, when it is a string; moves behind it. False: it is not one, or not well-formed.
  bool TakeString(std::string* value);
  // The next value, when it is a number, infinite beyond the range of double.
  bool TakeNumber(double* value);
  // Moves behind the next value, whatever it is, which is looked at no closer than its end takes. False: it has no end.
  bool SkipValue();

 private:
  bool TakeEscape(std::string* value);
  bool TakeUnicode(std::string* value);
  bool TakeHex(unsigned* unit);

  std::string_view text_;
  size_t position_ = 0;
};

void AppendCharacter(unsigned character, std::string* text) {
  std::string utf8;
  absl::CUnescape(absl::StrFormat("\\U%08x", character), &utf8);
  *text += utf8;
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
  const std::string_view digits = text_.substr(position_, 4);
  position_ += digits.size();
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), *unit, 16);
  return digits.size() == 4 && error == std::errc() && end == digits.data() + 4;
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

class ObjectListReader {
 public:
  ObjectListReader(std::string_view text, const MemoryCheck& check)
      : scanner_(text), columns_(check) {}

  absl::Status Read(v1::Rows& rows) {
    scanner_.Take('[');
    if (!scanner_.Take(']')) {
      do {
        MERCER_RETURN_IF_ERROR(ReadRow());
      } while (scanner_.Take(','));
      if (!scanner_.Take(']')) {
        return RowError(columns_.rows(), "a comma or the end of the list must follow it");
      }
    }
    return std::move(columns_).MoveTo(rows);
  }

 private:
  absl::Status ReadRow() {
    columns_.BeginRow();
    if (!scanner_.Take('{')) {
      return BadRow();
    }
    if (scanner_.Take('}')) {
      return RowError(columns_.rows(), "holds no column");
    }
    do {
      if (!scanner_.TakeString(&column_) || !scanner_.Take(':')) {
        return BadRow();
      }
      MERCER_RETURN_IF_ERROR(ReadCell());
    } while (scanner_.Take(','));
    return scanner_.Take('}') ? absl::OkStatus() : BadRow();
  }

  absl::Status ReadCell() {
    double number = 0;
    if (scanner_.TakeNumber(&number)) {
      return std::isinf(number)
                 ? CellError(columns_.rows(), column_, "the number is beyond the range of double")
                 : columns_.AddNumber(column_, number);
    }
    std::string text;
    if (scanner_.TakeString(&text)) {
      return columns_.AddText(column_, std::move(text));
    }
    if (scanner_.TakeWord("null")) {
      return columns_.AddMissing(column_);
    }
    for (const char* const word : {"true", "false"}) {
      if (scanner_.TakeWord(word)) {
        return columns_.AddText(column_, word);
      }
    }
    return CellError(columns_.rows(), column_, "must be a number, a text, true, false or null");
  }

  absl::Status BadRow() {
    return RowError(columns_.rows(), R"(must be an object such as {"age": 3, "color": "red"})");
  }

  JsonScanner scanner_;
  RowColumns columns_;
  std::string column_;  // of the current cell
};

}  // namespace

std::optional<ListedRows> FindListedRows(std::string_view body) {
  JsonScanner scanner(body);
  if (!scanner.Take('{')) {
    return std::nullopt;
  }
  do {
    std::string name;
    if (!scanner.TakeString(&name) || !scanner.Take(':')) {
      return std::nullopt;
    }
    const size_t begin = scanner.Position();
    if (!scanner.SkipValue()) {
      return std::nullopt;
    }
    if (name == "rows" && body[begin] == '[') {
      const std::string_view list = body.substr(begin, scanner.end() - begin);
      const std::string_view rest = body.substr(scanner.end());
      return ListedRows{list, absl::StrCat(absl::string_view(body.data(), begin), "{}",
                                           absl::string_view(rest.data(), rest.size()))};
    }
  } while (scanner.Take(','));
  return std::nullopt;
}

absl::Status ReadListedRows(std::string_view text, const MemoryCheck& check, v1::Rows& rows) {
  if (!IsUtf8(text)) {
    return WithReason(absl::InvalidArgumentError("the rows are not UTF-8"), "BAD_JSON");
  }
  return ObjectListReader(text, check).Read(rows);
}

}  // namespace mercer::gateway
