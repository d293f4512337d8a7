#include "client/cpp/cli/text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mercer::client {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool LooksLikeNumber(const std::string& text) {
  double ignored = 0.0;
  return text.empty() || absl::SimpleAtod(text.substr(0, text.find(' ')), &ignored);
}

}  // namespace

std::string FormatNumber(double value) { return absl::StrFormat("%.6g", value); }

std::string FormatGap(double gap) { return absl::StrFormat("%.1e", gap); }

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
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

std::string Pad(const std::string& text, int width) {
  const int missing = width - DisplayWidth(text);
  if (missing >= 0) {
    return text + std::string(static_cast<size_t>(missing), ' ');
  }
  std::string cut;
  int cells = 0;
  for (const char c : text) {
    cells += IsContinuation(c) ? 0 : 1;
    if (cells >= width) {
      break;
    }
    cut.push_back(c);
  }
  return width > 0 ? cut + "…" : "";
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

void Table::AddRow(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

std::string Table::ToString() const {
  std::vector<int> widths(rows_[0].size(), 0);
  std::vector<bool> numeric(rows_[0].size(), rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < rows_[r].size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(rows_[r][c]));
      numeric[c] = numeric[c] && (r == 0 || LooksLikeNumber(rows_[r][c]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(static_cast<size_t>(widths[c] - DisplayWidth(row[c])), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", numeric[c] ? space : "", row[c],
                      numeric[c] ? "" : space);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

}  // namespace mercer::client
