// Work that must keep nobody waiting: training uses every processor for hours, while calls are to
// be answered within milliseconds. Linux gives a thread that wakes up the processor at once when
// those that hold it have a lower priority (since 6.6: a longer time slice); among equals it may
// wait for several time slices. So threads that train run at a lower priority, and those that
// answer calls, write the database or move bytes at the process' own.
#pragma once

namespace mercer {

// Added to the niceness of the process (0 by default; 19 is the lowest priority): about a tenth of
// the processor's share where both have work, all of it where only the training has.
inline constexpr int kBackgroundNice = 10;

// Lowers the priority of the current thread, for good: without privileges nobody may raise one.
// ParallelLoop does the same with threads that help such a thread. Where the system refuses,
// nothing changes. Idempotent.
void EnterBackground();

// Whether the current thread has called EnterBackground.
bool InBackground();

}  // namespace mercer
