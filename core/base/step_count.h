// Counts of steps and iterations as the states of runs keep them. A state is read from a file that may be damaged.
//
//   state.iterations = reader.ReadInt64();
//   if (!IsStepCount(state.iterations)) ...  // no state of a run
#pragma once

#include <cstdint>

namespace mercer {

// More than any run makes; a count up to here can be added to without wrapping around.
inline constexpr int64_t kMostSteps = int64_t{1} << 60;

inline bool IsStepCount(int64_t value) { return value >= 0 && value <= kMostSteps; }

}  // namespace mercer
