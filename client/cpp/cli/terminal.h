// Where the program writes: a terminal, or something that is read later.
#pragma once

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

namespace mercer::client {

struct Terminal {
  bool interactive = false;  // lines may be drawn again
  bool colour = false;       // and NO_COLOR is not set
  int width = 100;           // of what is no terminal too

  // Of the file descriptor `fd`, and of NO_COLOR and TERM in the environment.
  static Terminal Inspect(int fd);
};

// Whether `path` ("/dev/stdout") is what the program's standard output goes to.
bool IsStandardOutput(const std::string& path);

enum class Colour { kGreen, kYellow, kRed, kBold, kDim };
// `text` in a colour, or as it is on terminals without.
std::string Paint(const Terminal& terminal, Colour colour, const std::string& text);

// Receives Ctrl-C on behalf of the whole program, which it ends, until Catch() is called: then the
// first one requests stop, and only a second one ends the program. Must be made before any other
// thread, because these inherit that SIGINT is not theirs.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  void Catch() { catching_ = true; }
  std::stop_token token() const { return interrupted_.get_token(); }

 private:
  void Wait();

  std::stop_source interrupted_;
  std::atomic<bool> catching_ = false;
  std::atomic<bool> ending_ = false;
  std::thread waiter_;
};

}  // namespace mercer::client
