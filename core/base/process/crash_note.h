// What a thread leaves behind when it takes the process down: one line in a file that was opened
// before. It tells the next process which piece of work it was, and not merely that there was a
// crash.
//
//   InstallCrashHandler();                                  // once per process
//   const CrashNote note = MakeCrashNote(descriptor, "job 17");
//   const ScopedCrashNote scope(&note);                     // while this thread works for job 17
//
// ParallelLoop hands the note on to the threads that help. A process that is killed from outside
// leaves no note.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"

namespace mercer {

// Prepared beforehand, because a handler of a crash may neither allocate nor format.
struct CrashNote {
  static constexpr size_t kMaxSize = 120;

  int descriptor = -1;  // open for appending
  std::array<char, kMaxSize> text{};
  size_t size = 0;
};

// A longer text is cut.
CrashNote MakeCrashNote(int descriptor, absl::string_view text);

// The note of the current thread; null when it has none.
const CrashNote* CurrentCrashNote();

// Makes `note` (which may be null) the current thread's, and the former one again at the end. The
// note must outlive it.
class ScopedCrashNote {
 public:
  explicit ScopedCrashNote(const CrashNote* note);
  ~ScopedCrashNote();
  ScopedCrashNote(const ScopedCrashNote&) = delete;
  ScopedCrashNote& operator=(const ScopedCrashNote&) = delete;

 private:
  const CrashNote* const former_;
};

// From now on, a thread that dies of SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT appends the line
// "<text> <signal>" to the file of its note, in one write. Then the signal takes its former course.
// Idempotent, thread-safe.
void InstallCrashHandler();

// Lets the current thread note a crash also when its own stack has overflowed.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  std::vector<char> memory_;
  bool installed_ = false;
};

}  // namespace mercer
