// Rows to predict as CSV.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "mercer/v1/prediction_service.pb.h"
#include "server/gateway/rows/row_columns.h"

namespace mercer::gateway {

// Reads a table whose first line names the columns. Cells are separated by what the first line has most of: comma, semicolon or tab.
// Empty cells, and those that uploads take for missing by default, are missing. Errors: kInvalidArgument with reason BAD_HEADER,
// BAD_ROW or BAD_CELL naming row (from 1) and column; those of `check`.
absl::Status ReadCsvRows(std::string body, const MemoryCheck& check, v1::Rows& rows);

}  // namespace mercer::gateway
