// Rows to predict and predictions, as JSON and CSV have them: row by row. In JSON a row is an object, {"age": 3, "color": "red"}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

// Reads a table whose first line names the columns. Cells are separated by what the first line has most of: comma, semicolon or tab.
// Empty cells, and those that uploads take for missing by default, are missing. Errors: kInvalidArgument with reason BAD_HEADER,
// BAD_ROW or BAD_CELL naming row (from 1) and column; those of `check`.
absl::Status ReadCsvRows(std::string body, const MemoryCheck& check, v1::Rows& rows);

// {"model": "models/spam/versions/1", "predictions": [...]}, an object for each row: "label" and "decisionValues" by output, or of a
// regression "prediction"; on request "probabilities" by class, "contributions" by kernel and output, "gradients" by output and
// column, "projections" by output and direction; "error" says why the row was not predicted. Numbers that JSON has no word for are
// null. Names are written for every row, so memory is asked for first.
// Errors: kInternal: the response contradicts itself; those of the memory check.
absl::StatusOr<std::string> WriteJsonRows(const v1::PredictResponse& response,
                                          const MemoryCheck& memory);

// A header and a line for each row: "label" and "value OUTPUT" for each output, or of a regression "prediction"; on request
// "probability CLASS", for each contribution its name, followed by that of the output where there are several, "gradient COLUMN" and
// "direction N"; "error" if there is any. Errors: the same.
absl::StatusOr<std::string> WriteCsvRows(const v1::PredictResponse& response,
                                         const MemoryCheck& memory);

}  // namespace mercer::gateway
