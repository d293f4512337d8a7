// The errors of the readers, each with its reason and the row (from 1, without the header) and
// column in its metadata. `remedy`, unless empty, is the path of the field of a request that would
// have helped ("csv.allow_missing"); it stands in the metadata and not in the message, because each
// client has words of its own for the field.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"

namespace mercer {

// An error with reason BAD_CELL: "row 17, column 'age': <what>".
absl::Status CellError(Index row, std::string_view column, std::string_view what,
                       std::string_view remedy = "");
// An error with reason BAD_ROW: "row 17: <what>".
absl::Status RowError(Index row, std::string_view what);
// An error with reason BAD_HEADER: "header: <what>"; `column` may be empty.
absl::Status HeaderError(std::string_view column, std::string_view what,
                         std::string_view remedy = "");
// An error with reason BAD_GZIP.
absl::Status GzipError(std::string_view what);

// Text of a cell for a message: in quotes, with control and non-ASCII bytes escaped, cut after 40
// bytes.
std::string Quoted(std::string_view text);

// Whether `text` is well-formed UTF-8 without control characters (tabs and line breaks are
// allowed).
bool IsCleanText(std::string_view text);

}  // namespace mercer
