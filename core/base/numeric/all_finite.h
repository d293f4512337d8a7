// Looks at whole rows for what is no number.
#pragma once

#include "core/base/numeric/types.h"

namespace mercer {

// Whether all of these are finite. Several at a time: 0 x is NaN for those that are not, and a sum keeps it.
inline bool AllFinite(const double* values, Index size) {
  return (Eigen::Map<const Eigen::ArrayXd>(values, size) * 0.0).sum() == 0.0;
}

}  // namespace mercer
