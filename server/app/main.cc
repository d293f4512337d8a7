// mercer-server: the program.
#include <csignal>
#include <cstdio>
#include <memory>
#include <pthread.h>
#include <string>

#include "server/app/command_line.h"
#include "server/app/server.h"

int main(int argc, char** argv) {
  const mercer::server::CommandLine command_line = mercer::server::ParseCommandLine(argc, argv);
  if (command_line.exit_code.has_value()) {
    return *command_line.exit_code;
  }
  // Blocked before any thread is made, so that all inherit it and only sigwait below sees the
  // signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const auto log = mercer::server::MakeLogger(command_line.options.log_level);
  const auto server = mercer::server::Server::Start(command_line.options, log);
  if (!server.ok()) {
    std::fprintf(stderr, "mercer-server: %s\n", std::string(server.status().message()).c_str());
    return 1;
  }
  std::printf("listening on %s\n", (*server)->address().c_str());
  std::fflush(stdout);

  int received = 0;
  sigwait(&signals, &received);
  // A second signal ends the program the hard way.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  (*server)->Drain();
  return 0;
}
