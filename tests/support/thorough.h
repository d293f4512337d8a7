// How much of its sweeps a run of the tests takes. A sweep goes through the moments of something, one after the other: every call
// that changes a file, every statement of a migration. './dev nightly' sets MERCER_THOROUGH and takes all; other runs take one moment
// in so many, and so pass each kind of moment in one or another of its repetitions.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace mercer {

inline bool IsThorough() { return std::getenv("MERCER_THOROUGH") != nullptr; }

// Whether the sweep stops at this moment. `stride` should have no divisor in common with the length of what repeats in the sweep.
inline bool SweepStopsAt(int64_t moment, int64_t stride) {
  return IsThorough() || moment % stride == 1 % stride;
}

}  // namespace mercer
