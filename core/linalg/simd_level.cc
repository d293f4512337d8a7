#include "core/linalg/simd_level.h"

#include <cstdint>

#include "hwy/highway.h"

namespace mercer {

void UseCommonInstructions() {
  hwy::DisableTargets(static_cast<int64_t>(~static_cast<uint64_t>(HWY_STATIC_TARGET)));
}

}  // namespace mercer
