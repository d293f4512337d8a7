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
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/logger.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/crash_note.h"
#include "server/app/command_line.h"
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

constexpr int kLinesPerSecond = 20;

// Thread-safe.
class LimitedLines {
 public:
  void SetLog(std::shared_ptr<spdlog::logger> log) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    log_ = std::move(log);
  }
  void Write(const char* library, const char* text) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = absl::Now();
    if (now - second_ >= absl::Seconds(1) || now < second_) {
      if (suppressed_ > 0) {
        log_->warn("libraries said more lines={}", suppressed_);
      }
      second_ = now;
      lines_ = suppressed_ = 0;
    }
    if (lines_++ < kLinesPerSecond) {
      log_->warn("{}: {}", library, text);
    } else {
      ++suppressed_;
    }
  }

 private:
  absl::Mutex mutex_;
  std::shared_ptr<spdlog::logger> log_ ABSL_GUARDED_BY(mutex_);
  absl::Time second_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int64_t lines_ ABSL_GUARDED_BY(mutex_) = 0;  // of this second
  int64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The libraries take functions and nothing else. Never destroyed: their threads may outlive main.
LimitedLines& Lines() {
  alignas(LimitedLines) static char place[sizeof(LimitedLines)];
  static LimitedLines* const lines = new (place) LimitedLines();
  return *lines;
}

void TakeFromProtobuf(google::protobuf::LogLevel level, const char*, int,
                      const std::string& message) {
  if (level >= google::protobuf::LOGLEVEL_WARNING) {
    Lines().Write("protobuf", message.c_str());
  }
}

void TakeFromGrpc(gpr_log_func_args* line) { Lines().Write("grpc", line->message); }

// Lines that protobuf and gRPC would write to stderr by themselves, as many as there are bad messages, go to `log`, 20 in a second; a line
// tells how many others there were. Both have one such log for the whole process.
void TakeLibraryLogs(std::shared_ptr<spdlog::logger> log) {
  Lines().SetLog(std::move(log));
  google::protobuf::SetLogHandler(TakeFromProtobuf);
  gpr_set_log_function(TakeFromGrpc);
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
  TakeLibraryLogs(log);
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
