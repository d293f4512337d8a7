#include "core/io/text/csv_cells.h"

#include <cstring>

#include "core/io/text/number_parser.h"

namespace mercer {

bool CsvCells::TryNumber(double* value) {
  const char* p = position_;
  while (*p == ' ' && delimiter_ != ' ') {
    ++p;
  }
  const char* after = ParseNumber(p, value);
  if (after == nullptr || (after != end_ && *after != delimiter_)) {
    return false;
  }
  MoveBehind(after);
  return true;
}

absl::StatusOr<CsvCell> CsvCells::Next() {
  const char* begin = position_;
  while (begin < end_ && IsPadding(*begin)) {
    ++begin;
  }
  if (begin < end_ && *begin == '"') {
    position_ = begin;
    return NextQuoted();
  }
  const void* found = std::memchr(begin, delimiter_, static_cast<size_t>(end_ - begin));
  const char* cell_end = found == nullptr ? end_ : static_cast<const char*>(found);
  MoveBehind(cell_end);
  while (cell_end > begin && IsPadding(cell_end[-1])) {
    --cell_end;
  }
  return CsvCell{std::string_view(begin, static_cast<size_t>(cell_end - begin)), false};
}

absl::StatusOr<CsvCell> CsvCells::NextQuoted() {
  unescaped_.clear();
  const char* p = position_ + 1;
  while (true) {
    const char* quote =
        static_cast<const char*>(std::memchr(p, '"', static_cast<size_t>(end_ - p)));
    if (quote == nullptr) {
      return absl::InvalidArgumentError("a quote is not closed");
    }
    unescaped_.append(p, quote);
    p = quote + 1;
    if (p == end_ || *p != '"') {
      break;
    }
    unescaped_.push_back('"');
    ++p;
  }
  while (p < end_ && IsPadding(*p)) {
    ++p;
  }
  if (p < end_ && *p != delimiter_) {
    return absl::InvalidArgumentError("text after a closing quote");
  }
  MoveBehind(p);
  return CsvCell{unescaped_, true};
}

}  // namespace mercer
