// Splits that a data set brings with it: the columns with the roles split and group.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/data/splits/splits.h"
#include "core/data/table/dataset.h"

namespace mercer {

// The words of a split column that says which rows are held out.
inline constexpr std::string_view kTrainWord = "train";
inline constexpr std::string_view kValidationWord = "validation";

// The split that a column of the words "train" and "validation" says. Errors: BAD_CELL with row and
// column (another word, a missing one); kInvalidArgument naming the column when a part has no rows;
// kCancelled.
absl::StatusOr<Split> GivenHoldOut(const RoleColumn& column, const RunContext& context);

// The splits that a column of fold numbers says: consecutive whole numbers that begin with 0 or 1,
// in a numeric column or as text. Each fold is held out once. Errors: BAD_CELL with row and column
// (not a fold number, missing); kInvalidArgument naming the column when there is one fold or a fold
// in between has no rows; kCancelled.
absl::StatusOr<std::vector<Split>> GivenFolds(const RoleColumn& column, const RunContext& context);

// The groups of the rows as codes 0, 1, ... in the order of the column's values. Errors: BAD_CELL
// with row and column (the group is missing); kCancelled.
absl::StatusOr<std::vector<int>> GroupCodes(const RoleColumn& column, const RunContext& context);

// BAD_CELL with row and column when rows of one group lie in two parts of a given split, or the
// group of a row is missing; kCancelled.
absl::Status CheckGroupsWhole(const RoleColumn& groups, const RoleColumn& parts,
                              const RunContext& context);

}  // namespace mercer
