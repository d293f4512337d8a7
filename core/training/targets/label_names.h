// The labels of a column that names things: classes, tasks.
//
// Their order is that of numbers by value, of other labels as byte strings.
#pragma once

#include <string>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/data/table/dataset.h"

namespace mercer {

// The text of a numeric label: "3", "-1", "0.5" (shortest form that reads back).
std::string FormatLabel(double label);

// The labels of the rows `rows`, none of which may be missing, in their order, each once.
std::vector<std::string> SortedLabels(const RoleColumn& column, const std::vector<Index>& rows);

// The position in `names` of each row's label; -1 for labels that are not there, and for none.
std::vector<int> LabelPositions(const RoleColumn& column, const std::vector<std::string>& names);

}  // namespace mercer
