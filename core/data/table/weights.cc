#include "core/data/table/weights.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer {

absl::StatusOr<Vector> ReadWeights(const RoleColumn& column, const std::vector<Index>& rows) {
  if (column.schema.categorical) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight column '", column.schema.name, "' is not numeric"));
  }
  Vector weights(static_cast<Index>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const double weight = column.values(rows[i]);
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return WithReason(absl::InvalidArgumentError(
                            absl::StrCat("row ", rows[i] + 1, ", column '", column.schema.name,
                                         "': the weight must be >= 0, is ", weight)),
                        "BAD_WEIGHT",
                        {{"row", absl::StrCat(rows[i] + 1)}, {"column", column.schema.name}});
    }
    weights(static_cast<Index>(i)) = weight;
  }
  return weights;
}

}  // namespace mercer
