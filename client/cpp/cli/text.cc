#include "client/cpp/cli/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace mercer::client {
namespace {

constexpr int kMinCutWidth = 8;  // of a column of a table

struct CodePoints {
  uint32_t first;
  uint32_t last;
};

// Unicode: combining marks, joiners and variation selectors.
constexpr CodePoints kNoCell[] = {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
                                  {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                  {0xFE20, 0xFE2F}};
// Unicode Standard Annex 11: the blocks whose characters are wide or full-width.
constexpr CodePoints kTwoCells[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

// The code point at `position`, which moves behind it. Bytes that are no UTF-8 count one each.
uint32_t NextCodePoint(const std::string& text, size_t& position) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const uint32_t lead = byte(position++);
  const int continuations = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  uint32_t code = continuations == 0 ? lead : lead & (0x3Fu >> continuations);
  for (int i = 0; i < continuations && position < text.size() && (byte(position) & 0xC0) == 0x80;
       ++i) {
    code = code << 6 | (byte(position++) & 0x3F);
  }
  return code;
}

int CellsOf(uint32_t code) {
  const auto holds = [code](const CodePoints& range) {
    return range.first <= code && code <= range.last;
  };
  if (std::any_of(std::begin(kNoCell), std::end(kNoCell), holds)) {
    return 0;
  }
  return std::any_of(std::begin(kTwoCells), std::end(kTwoCells), holds) ? 2 : 1;
}

bool LooksLikeNumber(const std::string& text) {
  double ignored = 0.0;
  return text.empty() || absl::SimpleAtod(text.substr(0, text.find(' ')), &ignored);
}

}  // namespace

std::string FormatNumber(double value) { return absl::StrFormat("%.6g", value); }

std::string FormatGap(double gap) { return absl::StrFormat("%.1e", gap < 0.0 ? 0.0 : gap); }

std::string FormatElapsed(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds < 9.95) {
    return absl::StrFormat("%.1f s", std::max(0.0, seconds));
  }
  if (!std::isfinite(seconds)) {
    return "for ever";
  }
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) {
    return absl::StrCat(whole, " s");
  }
  return whole < 3600 ? absl::StrFormat("%d min %02d s", whole / 60, whole % 60)
                      : absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

std::string FormatBytes(int64_t bytes) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) {
    return absl::StrCat(bytes, " B");
  }
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024.0;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, units[unit]);
}

std::string FormatTime(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(time.seconds()),
                          absl::LocalTimeZone());
}

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (size_t i = 0; i < text.size();) {
    width += CellsOf(NextCodePoint(text, i));
  }
  return width;
}

std::string Printable(const std::string& text) {
  std::string result = text;
  for (char& c : result) {
    c = absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? '?' : c;
  }
  return result;
}

std::string Wrap(const std::string& text, int width, int indent) {
  std::string result;
  std::string line;
  int used = indent;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  for (const std::string& word : words) {
    const int cells = DisplayWidth(word);
    if (!line.empty() && used + 1 + cells > width) {
      absl::StrAppend(&result, line, "\n", std::string(static_cast<size_t>(indent), ' '));
      line.clear();
      used = indent;
    }
    used += cells + (line.empty() ? 0 : 1);
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  return result + line;
}

std::string Pad(const std::string& text, int width) {
  const int missing = width - DisplayWidth(text);
  if (missing >= 0) {
    return text + std::string(static_cast<size_t>(missing), ' ');
  }
  if (width <= 0) {
    return "";
  }
  int cells = 0;
  size_t end = 0;
  for (size_t next = 0; next < text.size(); end = next) {
    const int more = CellsOf(NextCodePoint(text, next));
    if (cells + more >= width) {
      break;
    }
    cells += more;
  }
  return absl::StrCat(text.substr(0, end), "…",
                      std::string(static_cast<size_t>(width - 1 - cells), ' '));
}

std::string CutMiddle(const std::string& text, int width) {
  if (DisplayWidth(text) <= width) {
    return text;
  }
  std::vector<size_t> starts;  // of the code points
  for (size_t i = 0; i < text.size(); NextCodePoint(text, i)) {
    starts.push_back(i);
  }
  std::string tail;
  for (; !starts.empty() && DisplayWidth(text.substr(starts.back())) <= 2 * width / 3;
       starts.pop_back()) {
    tail = text.substr(starts.back());
  }
  return Pad(text, width - DisplayWidth(tail)) + tail;
}

std::string Bar(double share, int width, const std::string& empty) {
  const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double inside = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  const auto filled = static_cast<int>(std::llround(inside * width * 8.0));
  std::string bar;
  int cells = 0;
  for (; cells < filled / 8; ++cells) {
    bar += "█";
  }
  if (filled % 8 != 0) {
    bar += eighths[filled % 8];
    ++cells;
  }
  for (; cells < width; ++cells) {
    bar += empty;
  }
  return bar;
}

Table::Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void Table::AddRow(std::vector<std::string> row) {
  for (std::string& cell : row) {
    cell = Printable(cell);
  }
  rows_.push_back(std::move(row));
}

int TableWidth(const Terminal& terminal) { return terminal.interactive ? terminal.width : 0; }

std::vector<int> Table::Widths(int max_width) const {
  std::vector<int> widths(rows_[0].size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  const int gaps = 2 * (static_cast<int>(widths.size()) - 1);
  int excess = max_width > 0 ? std::accumulate(widths.begin(), widths.end(), gaps) - max_width : 0;
  while (excess > 0 && widths.size() > 1) {
    int& widest = *std::max_element(widths.begin() + 1, widths.end());
    if (widest <= kMinCutWidth) {
      break;
    }
    --widest;
    --excess;
  }
  return widths;
}

std::string Table::ToString(int max_width) const {
  const std::vector<int> widths = Widths(max_width);
  std::vector<bool> numeric(rows_[0].size(), rows_.size() > 1);
  for (size_t r = 1; r < rows_.size(); ++r) {
    for (size_t c = 0; c < rows_[r].size(); ++c) {
      numeric[c] = numeric[c] && LooksLikeNumber(rows_[r][c]);
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const int room = std::max(0, widths[c] - DisplayWidth(row[c]));
      absl::StrAppend(&line, c == 0 ? "" : "  ",
                      numeric[c] ? std::string(static_cast<size_t>(room), ' ') + row[c]
                                 : Pad(row[c], widths[c]));
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

std::string OwnerText(const std::string& owner) { return owner == "anyone" ? "" : owner; }

}  // namespace mercer::client
