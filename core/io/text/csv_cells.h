// Cells of one CSV record (RFC 4180).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"

namespace mercer {

struct CsvCell {
  std::string_view text;  // followed by a readable byte that is no part of a number
  bool quoted = false;
};

// Walks over the cells of a record. Spaces around a cell are dropped unless they are quoted;
// doubled quotes become one.
class CsvCells {
 public:
  // `record` must be followed by a readable line end or NUL, and outlive the walk.
  CsvCells(std::string_view record, char delimiter)
      : position_(record.data()), end_(record.data() + record.size()), delimiter_(delimiter) {}

  bool AtEnd() const { return position_ == nullptr; }
  // The next cell; requires !AtEnd(). The text is valid until the next call. Errors:
  // kInvalidArgument without details when a quote is not closed or something follows a closing
  // quote.
  absl::StatusOr<CsvCell> Next();

  // The fast path of numeric cells: when an unquoted number fills the next cell, stores it, moves
  // on and returns true; else changes nothing.
  bool TryNumber(double* value);

 private:
  absl::StatusOr<CsvCell> NextQuoted();
  bool IsPadding(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }
  // Moves behind the delimiter at `cell_end`, or to the end of the walk.
  void MoveBehind(const char* cell_end) { position_ = cell_end == end_ ? nullptr : cell_end + 1; }

  const char* position_;  // first byte of the next cell; null after the last one
  const char* end_;
  char delimiter_;
  std::string unescaped_;
};

}  // namespace mercer
