// Numbers, times and columns as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "client/cpp/cli/terminal.h"

namespace mercer::client {

// "0.942", "1.2e+06": six significant digits.
std::string FormatNumber(double value);
// "5.3e-04". Bounds that differ by rounding alone may have changed places: a gap below 0 is 0.
std::string FormatGap(double gap);
// "0.4 s", "12 s", "3 min 05 s", "2 h 10 min"
std::string FormatElapsed(absl::Duration duration);
// "812 B", "1.9 MiB"
std::string FormatBytes(int64_t bytes);
// "2026-11-20 12:01:33" in local time.
std::string FormatTime(const google::protobuf::Timestamp& time);

absl::Duration ToDuration(const google::protobuf::Duration& duration);

// Columns on a terminal that `text` takes, which is UTF-8: two for East Asian wide characters and
// emoji, none for combining ones.
int DisplayWidth(const std::string& text);
// `text` with "?" for control characters, which would move the cursor or break a line.
std::string Printable(const std::string& text);
// `text` in lines that end before column `width` where words allow it. All begin at column
// `indent`; what stands before the first one is the caller's. Ends without a line end.
std::string Wrap(const std::string& text, int width, int indent);
// `text` with spaces up to `width`; longer texts are cut and end with "…".
std::string Pad(const std::string& text, int width);
// `text` with "…" for what is too much in its middle: where names begin alike and differ at the end.
std::string CutMiddle(const std::string& text, int width);

// A bar of `width` cells, filled from the left to `share` in [0, 1], in eighths of a cell. Unfilled
// cells are `empty`.
std::string Bar(double share, int width, const std::string& empty = " ");

// The width that a table may have on `terminal`; 0 (any) where it is read later.
int TableWidth(const Terminal& terminal);

// Rows whose columns are aligned, two spaces apart; numbers stand to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void AddRow(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  // In a `max_width` other than 0 the widest columns are cut, but never the first one, which holds the names to type.
  std::string ToString(int max_width = 0) const;

 private:
  std::vector<int> Widths(int max_width) const;

  std::vector<std::vector<std::string>> rows_;
};

// The owner of a resource, to be shown; empty where nobody in particular owns it.
std::string OwnerText(const std::string& owner);

}  // namespace mercer::client
