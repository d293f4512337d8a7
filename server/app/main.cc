// mercer-server: the program.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <semaphore.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>

#include "absl/synchronization/mutex.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/crash_note.h"
#include "server/app/command_line.h"
#include "server/app/process/library_log.h"
#include "server/app/process/reproducible.h"
#include "server/app/server.h"

namespace {

constexpr int64_t kReserveBytes = int64_t{16} << 20;

// What a signal handler may use: what main waits for, and whether the end has been asked for.
sem_t signals;
volatile std::sig_atomic_t end_requested = 0;

extern "C" void PassOn(int) {
  const int error = errno;
  sem_post(&signals);
  errno = error;
}

extern "C" void AskForEnd(int signal) {
  end_requested = 1;
  PassOn(signal);
}

// SIGHUP means "read the configuration and the files of the door again" where there are some. Without them the program ends
// as for SIGTERM, as when a terminal is closed; unless nohup has told it not to. A second one is no other wish, as a closed
// terminal may send several.
bool CatchHangUp(bool has_files) {
  struct sigaction action = {};
  if (sigaction(SIGHUP, nullptr, &action) != 0) {
    return false;
  }
  if (!has_files && action.sa_handler == SIG_IGN) {
    return true;
  }
  action = {};
  action.sa_handler = has_files ? PassOn : AskForEnd;
  action.sa_flags = SA_RESTART;
  return sigaction(SIGHUP, &action, nullptr) == 0;
}

// A handler and not sigwait: OpenBLAS has started its threads before main, they block no signal,
// and would take it while nobody waits. A second signal ends the program the hard way.
bool CatchSignals(bool has_files) {
  sem_init(&signals, 0, 0);
  struct sigaction action = {};
  action.sa_handler = AskForEnd;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  signal(SIGPIPE, SIG_IGN);
  return sigaction(SIGTERM, &action, nullptr) == 0 && sigaction(SIGINT, &action, nullptr) == 0 &&
         CatchHangUp(has_files);
}

// As many files as the system lets it have: connections take half of them at most.
void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// What the server stores is its users' business: other accounts of the machine read none of it.
void KeepFilesPrivate() { umask(umask(0) | 027); }

// True when the program is to end. Signals that have come meanwhile are one.
bool WaitForSignal() {
  while (sem_wait(&signals) != 0) {  // EINTR
  }
  while (sem_trywait(&signals) == 0) {
  }
  return end_requested != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const mercer::server::CommandLine command_line = mercer::server::ParseCommandLine(argc, argv);
  if (command_line.exit_code.has_value()) {
    return *command_line.exit_code;
  }
  KeepFilesPrivate();
  if (command_line.options.reproducible) {
    if (const absl::Status status = mercer::server::ComputeReproducibly(argv); !status.ok()) {
      std::fprintf(stderr, "mercer-server: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  if (command_line.command) {
    return command_line.command(command_line.options.data_dir, std::cout, std::cerr);
  }
  if (!CatchSignals(command_line.has_file || command_line.options.access.has_files())) {
    std::perror("mercer-server: cannot catch signals");
    return 1;
  }
  RaiseFileLimit();
  // Debian's library looks for cycles at every lock, in one graph for the whole process. Tests do that.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  mercer::InstallCrashHandler();
  mercer::KeepMemoryInReserve(kReserveBytes);
  const auto log = mercer::server::MakeLogger(command_line.options.log_level);
  mercer::server::TakeLibraryLogs(log);
  const auto server = mercer::server::Server::Start(command_line.options, log);
  if (!server.ok()) {
    std::fprintf(stderr, "mercer-server: %s\n", std::string(server.status().message()).c_str());
    return 1;
  }
  std::printf("listening on %s\n", (*server)->address().c_str());
  std::fflush(stdout);
  while (!WaitForSignal()) {
    (*server)->Reload(mercer::server::ReadOptionsAgain(argc, argv));
  }
  (*server)->Drain();
  return 0;
}
