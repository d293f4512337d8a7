// Walks over the text of JSON (RFC 8259), without making anything of it.
#pragma once

#include <string>
#include <string_view>

namespace mercer::gateway {

class JsonScanner {
 public:
  // `text` must be followed by a readable byte that is part of no number.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Where the next value or sign is, spaces skipped.
  size_t Position();
  // Behind what was taken or skipped last.
  size_t end() const { return position_; }
  // The byte at Position(); NUL at the end.
  char Peek();
  // Whether that sign is next, and moves behind it.
  bool Take(char sign);
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

}  // namespace mercer::gateway
