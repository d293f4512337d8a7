#include "client/cpp/cli/terminal.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace mercer::client {
namespace {

constexpr int kInterruptedExit = 130;  // 128 + SIGINT, as shells have it

sigset_t InterruptSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Terminal Terminal::Inspect(int fd) {
  Terminal terminal;
  const char* const type = std::getenv("TERM");
  const char* const no_colour = std::getenv("NO_COLOR");
  terminal.interactive = isatty(fd) == 1 && (type == nullptr || std::strcmp(type, "dumb") != 0);
  terminal.colour = terminal.interactive && (no_colour == nullptr || no_colour[0] == '\0');
  winsize size{};
  if (terminal.interactive && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = size.ws_col;
  }
  return terminal;
}

bool IsStandardOutput(const std::string& path) {
  struct stat named {};
  struct stat standard {};
  return stat(path.c_str(), &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
         named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

std::string Paint(const Terminal& terminal, Colour colour, const std::string& text) {
  const char* const codes[] = {"32", "33", "31", "1", "2"};
  return terminal.colour
             ? absl::StrCat("\x1b[", codes[static_cast<size_t>(colour)], "m", text, "\x1b[0m")
             : text;
}

InterruptGuard::InterruptGuard() {
  const sigset_t set = InterruptSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::thread([this] { Wait(); });
}

void InterruptGuard::Wait() {
  const sigset_t set = InterruptSet();
  int received = 0;
  while (sigwait(&set, &received) == 0 && !ending_) {
    if (!catching_ || interrupted_.stop_requested()) {
      std::_Exit(kInterruptedExit);
    }
    interrupted_.request_stop();
  }
}

InterruptGuard::~InterruptGuard() {
  ending_ = true;
  pthread_kill(waiter_.native_handle(), SIGINT);  // wakes the waiter alone
  waiter_.join();
  const sigset_t set = InterruptSet();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace mercer::client
