#include "core/data/table/reader_errors.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/utf8.h"

namespace mercer {
namespace {

// A name as a value of an error, whose texts must be UTF-8.
std::string Plain(std::string_view text) {
  return IsCleanText(text) ? std::string(text)
                           : absl::CEscape(absl::string_view(text.data(), text.size()));
}

void AddRemedy(std::string_view remedy, ErrorMetadata& metadata) {
  if (!remedy.empty()) {
    metadata.emplace_back("remedy", std::string(remedy));
  }
}

}  // namespace

absl::Status CellError(Index row, std::string_view column, std::string_view what,
                       std::string_view remedy) {
  ErrorMetadata metadata = {{"row", absl::StrCat(row)}, {"column", Plain(column)}};
  AddRemedy(remedy, metadata);
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "row ", row, ", column ", Quoted(column), ": ", std::string(what))),
                    "BAD_CELL", metadata);
}

absl::Status RowError(Index row, std::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("row ", row, ": ", std::string(what))),
                    "BAD_ROW", {{"row", absl::StrCat(row)}});
}

absl::Status HeaderError(std::string_view column, std::string_view what, std::string_view remedy) {
  ErrorMetadata metadata;
  if (!column.empty()) {
    metadata.emplace_back("column", Plain(column));
  }
  AddRemedy(remedy, metadata);
  return WithReason(absl::InvalidArgumentError(absl::StrCat("header: ", std::string(what))),
                    "BAD_HEADER", metadata);
}

absl::Status GzipError(std::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("gzip: ", std::string(what))),
                    "BAD_GZIP");
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  const std::string shown(text.substr(0, kShown));
  const std::string escaped =
      IsCleanText(text) && text.size() <= kShown ? shown : absl::CEscape(shown);
  return absl::StrCat("'", escaped, "'", text.size() > kShown ? "..." : "");
}

bool IsCleanText(std::string_view text) {
  while (!text.empty()) {
    const unsigned char lead = static_cast<unsigned char>(text[0]);
    const bool control =
        (lead < 0x20 && lead != '\t' && lead != '\n' && lead != '\r') || lead == 0x7F;
    const size_t length = control ? 0 : Utf8Length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace mercer
