// Counts of steps and iterations as the states of runs keep them. A state is read from a file that
// may be damaged.
//
//   state.iterations = reader.ReadInt64();
//   if (!IsStepCount(state.iterations)) ...  // no state of a run
#pragma once

#include <cstdint>

namespace mercer {

// The largest count that a state may hold: more than any run makes, and small enough that a run may
// add to it without wrapping around.
inline constexpr int64_t kMostSteps = int64_t{1} << 60;

inline bool IsStepCount(int64_t value) { return value >= 0 && value <= kMostSteps; }

}  // namespace mercer
