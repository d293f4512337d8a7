#include "core/base/process/crash_note.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace mercer {
namespace {

constexpr std::array kCrashSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
// The stack of the handler. It copies a line and writes it, on top of the frame into which a
// current processor saves its registers (up to about 10 KiB).
constexpr size_t kStackBytes = size_t{64} << 10;

// A handler has nothing but what is global.
thread_local const CrashNote* current_note = nullptr;
std::array<struct sigaction, kCrashSignals.size()> former_actions;

// Appends "<text> <number>\n". Async-signal-safe.
void WriteNote(const CrashNote& note, int number) {
  std::array<char, CrashNote::kMaxSize + 4> line{};
  const size_t size = std::min(note.size, CrashNote::kMaxSize);
  std::memcpy(line.data(), note.text.data(), size);
  char* end = line.data() + size;
  *end++ = ' ';
  if (number >= 10) {
    *end++ = static_cast<char>('0' + number / 10);
  }
  *end++ = static_cast<char>('0' + number % 10);
  *end++ = '\n';
  if (write(note.descriptor, line.data(), static_cast<size_t>(end - line.data())) < 0) {
    return;  // there is nobody to tell
  }
}

extern "C" void NoteCrash(int number, siginfo_t* info, void* /*context*/) {
  // A signal that another process has sent says nothing about the thread that happens to take it.
  if (current_note != nullptr && info->si_code != SI_USER) {
    WriteNote(*current_note, number);
  }
  for (size_t i = 0; i < kCrashSignals.size(); ++i) {
    if (kCrashSignals[i] == number) {
      sigaction(number, &former_actions[i], nullptr);
    }
  }
  // A fault of the processor repeats on return. A signal that was sent does not: it stays pending
  // until then.
  if (info->si_code <= 0) {
    raise(number);
  }
}

}  // namespace

CrashNote MakeCrashNote(int descriptor, absl::string_view text) {
  CrashNote note;
  note.descriptor = descriptor;
  note.size = std::min(text.size(), CrashNote::kMaxSize);
  std::copy_n(text.begin(), note.size, note.text.begin());
  return note;
}

const CrashNote* CurrentCrashNote() { return current_note; }

ScopedCrashNote::ScopedCrashNote(const CrashNote* note) : former_(current_note) {
  current_note = note;
}

ScopedCrashNote::~ScopedCrashNote() { current_note = former_; }

void InstallCrashHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = NoteCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kCrashSignals.size(); ++i) {
      sigaction(kCrashSignals[i], &action, &former_actions[i]);
    }
  });
}

// A stack that is there already, such as a sanitizer's, stays.
CrashStack::CrashStack() : memory_(kStackBytes) {
  stack_t former = {};
  if (sigaltstack(nullptr, &former) != 0 || (former.ss_flags & SS_DISABLE) == 0) {
    return;
  }
  stack_t stack = {};
  stack.ss_sp = memory_.data();
  stack.ss_size = memory_.size();
  installed_ = sigaltstack(&stack, nullptr) == 0;
}

CrashStack::~CrashStack() {
  if (installed_) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
}

}  // namespace mercer
