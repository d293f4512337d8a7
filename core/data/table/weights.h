// The weights of rows, from a column with the role weight.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"

namespace mercer {

// The weights of the rows `rows`. Errors: kInvalidArgument naming the column (it is not numeric),
// or also the row (reason BAD_WEIGHT: missing, negative or infinite).
absl::StatusOr<Vector> ReadWeights(const RoleColumn& column, const std::vector<Index>& rows);

}  // namespace mercer
