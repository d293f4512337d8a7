#include "server/gateway/rows/json_rows.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/base/status/utf8.h"
#include "core/data/table/reader_errors.h"
#include "server/gateway/rows/json_scanner.h"

namespace mercer::gateway {
namespace {

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
