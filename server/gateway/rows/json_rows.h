// Rows to predict as JSON has them: an object for each row, {"age": 3, "color": "red"}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "mercer/v1/prediction_service.pb.h"
#include "server/gateway/rows/row_columns.h"

namespace mercer::gateway {

// A body whose field "rows" is a list.
struct ListedRows {
  std::string_view rows;  // the list, of the body
  std::string rest;       // the body with "rows": {} instead
};
// None: the field is no list, or the body is no JSON object.
std::optional<ListedRows> FindListedRows(std::string_view body);

// Reads `text`, a list of objects whose values are numbers, texts, true, false (which are categories of these names) or null (a
// missing cell, as is one that the object lacks). It must be followed by a readable byte that is part of no number. Errors:
// kInvalidArgument with reason BAD_ROW or BAD_CELL naming row (from 1) and column, or BAD_JSON (not UTF-8); those of `check`.
absl::Status ReadListedRows(std::string_view text, const MemoryCheck& check, v1::Rows& rows);

}  // namespace mercer::gateway
