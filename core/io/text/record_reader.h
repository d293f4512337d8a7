// Cuts a byte stream into lines or CSV records, through one window of memory.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/io/text/readers.h"

namespace mercer {

// Records end with LF or CRLF; the last one may end with the stream. A UTF-8 byte order mark at the
// start is skipped.
class RecordReader {
 public:
  // With `quotes`, line ends inside cells that are quoted as RFC 4180 says belong to the record.
  // `source` must outlive the reader.
  RecordReader(ByteSource& source, bool quotes, char delimiter);

  // The next record without its line end; false at the end of the stream. The text is valid until
  // the next call and is followed by a readable line end or NUL. Errors: those of the source,
  // BAD_ROW.
  absl::StatusOr<bool> Next(std::string_view* record);

  // Tells the reader how many records precede the first row (the header).
  void set_num_header_records(Index count) { num_header_records_ = count; }
  // Number of the last record as a row, from 1: names it in errors.
  Index row() const { return num_records_ - num_header_records_; }

 private:
  // Reads until the window is full or the source ends; moves the rest of the window to its start
  // before, and doubles it when the current record fills it.
  absl::Status Fill();
  // Position of the LF that ends the record, or null when it lies beyond the window.
  const char* FindEnd() const;
  const char* FindQuotedEnd() const;

  ByteSource& source_;
  bool quotes_;
  char delimiter_;
  // One byte longer than its capacity: room for the NUL after the last record.
  std::vector<char> window_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool source_ended_ = false;
  Index num_records_ = 0;
  Index num_header_records_ = 0;
};

}  // namespace mercer
