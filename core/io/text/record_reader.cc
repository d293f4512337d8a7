#include "core/io/text/record_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"

namespace mercer {
namespace {

constexpr size_t kFirstWindowBytes = size_t{1} << 18;
constexpr size_t kMaxRecordBytes = size_t{1} << 27;

const char* FindByte(const char* begin, const char* end, char byte) {
  return static_cast<const char*>(std::memchr(begin, byte, static_cast<size_t>(end - begin)));
}

}  // namespace

RecordReader::RecordReader(ByteSource& source, bool quotes, char delimiter)
    : source_(source), quotes_(quotes), delimiter_(delimiter), window_(kFirstWindowBytes + 1) {}

absl::Status RecordReader::Fill() {
  const size_t kept = end_ - begin_;
  std::memmove(window_.data(), window_.data() + begin_, kept);
  begin_ = 0;
  end_ = kept;
  if (end_ + 1 == window_.size()) {
    if (kept >= kMaxRecordBytes) {
      return RowError(row() + 1,
                      absl::StrCat("longer than ", kMaxRecordBytes,
                                   " bytes; a quote that is never closed, or not a text file?"));
    }
    window_.resize(2 * kept + 1);
  }
  while (end_ + 1 < window_.size()) {
    MERCER_ASSIGN_OR_RETURN(const size_t got,
                            source_.Read(window_.data() + end_, window_.size() - 1 - end_));
    if (got == 0) {
      source_ended_ = true;
      break;
    }
    end_ += got;
  }
  window_[end_] = '\0';
  return absl::OkStatus();
}

const char* RecordReader::FindEnd() const {
  const char* begin = window_.data() + begin_;
  const char* end = window_.data() + end_;
  const char* line_end = FindByte(begin, end, '\n');
  const bool quoted =
      quotes_ && FindByte(begin, line_end == nullptr ? end : line_end, '"') != nullptr;
  return quoted ? FindQuotedEnd() : line_end;
}

const char* RecordReader::FindQuotedEnd() const {
  const char* end = window_.data() + end_;
  bool cell_start = true;
  for (const char* p = window_.data() + begin_; p < end; ++p) {
    if (*p == '"' && cell_start) {
      // A doubled quote closes and opens again at once, so that only the parity matters here.
      p = FindByte(p + 1, end, '"');
      while (p != nullptr && p + 1 < end && p[1] == '"') {
        p = FindByte(p + 2, end, '"');
      }
      if (p == nullptr) {
        return nullptr;
      }
      cell_start = false;
    } else if (*p == '\n') {
      return p;
    } else {
      cell_start = *p == delimiter_ || (cell_start && (*p == ' ' || *p == '\t'));
    }
  }
  return nullptr;
}

absl::StatusOr<bool> RecordReader::Next(std::string_view* record) {
  const char* line_end = FindEnd();
  while (line_end == nullptr && !source_ended_) {
    const bool at_start = num_records_ == 0 && end_ == 0;
    MERCER_RETURN_IF_ERROR(Fill());
    if (at_start && end_ >= 3 && std::memcmp(window_.data(), "\xEF\xBB\xBF", 3) == 0) {
      begin_ = 3;
    }
    line_end = FindEnd();
  }
  if (line_end == nullptr && begin_ == end_) {
    return false;
  }
  ++num_records_;
  const char* begin = window_.data() + begin_;
  const char* stop = line_end == nullptr ? window_.data() + end_ : line_end;
  begin_ = static_cast<size_t>(stop - window_.data()) + (line_end == nullptr ? 0 : 1);
  if (stop > begin && stop[-1] == '\r') {
    --stop;
  }
  *record = std::string_view(begin, static_cast<size_t>(stop - begin));
  return true;
}

}  // namespace mercer
