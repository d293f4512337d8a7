// Sizes as BLAS takes them.
#pragma once

#include <cblas.h>

#include "core/base/numeric/types.h"

namespace mercer {

// The size as BLAS takes it; `value` must be below 2^31.
inline blasint BlasInt(Index value) { return static_cast<blasint>(value); }

}  // namespace mercer
