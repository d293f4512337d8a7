// The labels of a column that names things: classes, tasks.
//
// Their order is that of numbers by value, of other labels as byte strings.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

// The text of a numeric label: "3", "-1", "0.5" (shortest form that reads back).
std::string FormatLabel(double label);

// The rows with a label, ascending.
std::vector<Index> LabelledRows(const RoleColumn& column);

// The different values of the rows `rows`, none of which may be missing, ascending. Errors:
// kCancelled.
absl::StatusOr<std::vector<double>> DifferentValues(const RoleColumn& column,
                                                    const std::vector<Index>& rows,
                                                    const RunContext& context);

// The labels of these values in their order. Errors: kCancelled.
absl::StatusOr<std::vector<std::string>> SortedLabels(const ColumnSchema& schema,
                                                      const std::vector<double>& values,
                                                      const RunContext& context);

// The position in `names` of each row's label; -1 for labels that are not there, and for none.
// Errors: kCancelled.
absl::StatusOr<std::vector<int>> LabelPositions(const RoleColumn& column,
                                                const std::vector<std::string>& names,
                                                const RunContext& context);

}  // namespace mercer
