#include "tests/support/server/server_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

constexpr std::string_view kListening = "listening on ";
constexpr id_t kNobody = 65534;
// Exit codes of the child when the program could not be started.
constexpr int kCannotDropPrivileges = 126;
constexpr int kCannotExecute = 127;

// What the child needs, made before the fork: after it a child of a process with threads may only
// make system calls.
struct Launch {
  int program;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  int output;
  int log;
  bool drop_privileges;
  rlimit files;
};

[[noreturn]] void RunChild(const Launch& launch) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(launch.output, STDOUT_FILENO);
  dup2(launch.log, STDERR_FILENO);
  setrlimit(RLIMIT_NOFILE, &launch.files);
  if (launch.drop_privileges &&
      (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
    _exit(kCannotDropPrivileges);
  }
  // By descriptor: nobody may not be allowed into the folder of the program.
  fexecve(launch.program, launch.arguments.data(), launch.environment.data());
  _exit(kCannotExecute);
}

int OpenProgram(const std::string& name) {
  const char* folder = std::getenv("MERCER_BIN");
  EXPECT_NE(folder, nullptr) << "MERCER_BIN must name the folder of the programs";
  const std::string path = std::string(folder != nullptr ? folder : ".") + "/" + name;
  const int program = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_GE(program, 0) << "there is no " << path;
  return program;
}

}  // namespace

ServerProcess::ServerProcess(const ServerProcessOptions& options) {
  std::vector<std::string> words = {"mercer-server", "--data-dir", options.data_dir.string(),
                                    "--listen", options.listen};
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  Launch launch;
  for (std::string& word : words) {
    launch.arguments.push_back(word.data());
  }
  launch.arguments.push_back(nullptr);
  std::vector<std::string> settings = options.environment;
  for (std::string& setting : settings) {
    launch.environment.push_back(setting.data());
  }
  for (char** setting = environ; *setting != nullptr; ++setting) {
    launch.environment.push_back(*setting);
  }
  launch.environment.push_back(nullptr);
  int pipe_ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  output_ = pipe_ends[0];
  log_ = memfd_create("mercer-server.log", MFD_CLOEXEC);
  launch.program = OpenProgram(options.program);
  launch.output = pipe_ends[1];
  launch.log = log_;
  launch.drop_privileges = options.unprivileged && geteuid() == 0;
  getrlimit(RLIMIT_NOFILE, &launch.files);
  if (options.max_files > 0) {
    launch.files = {options.max_files, options.max_files};
  }
  pid_ = fork();
  if (pid_ == 0) {
    RunChild(launch);
  }
  EXPECT_GT(pid_, 0) << "cannot fork, error " << errno;
  close(pipe_ends[1]);
  close(launch.program);
}

ServerProcess::~ServerProcess() {
  Kill();
  WaitForExit();
  close(output_);
  close(log_);
}

bool ServerProcess::WaitUntilListening() {
  std::string line;
  char letter = 0;
  while (read(output_, &letter, 1) == 1 && letter != '\n') {
    line.push_back(letter);
  }
  if (letter != '\n' || line.rfind(kListening, 0) != 0) {
    return false;
  }
  address_ = line.substr(kListening.size());
  return true;
}

void ServerProcess::Signal(int number) {
  const std::lock_guard lock(mutex_);
  if (!reaped_ && pid_ > 0) {
    kill(pid_, number);
  }
}

int ServerProcess::WaitForExit() {
  siginfo_t info = {};
  // Leaves the process to be reaped under the mutex, so that no signal goes to a reused number.
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  int status = 0;
  if (!reaped_ && waitpid(pid_, &status, 0) == pid_) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  reaped_ = true;
  return exit_code_;
}

int64_t StatusBytes(pid_t pid, const std::string& line) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    if (word == line + ":") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

std::string ServerProcess::Log() const {
  const off_t size = lseek(log_, 0, SEEK_CUR);  // shared with the server, which writes at the end
  std::string text(static_cast<size_t>(size), '\0');
  const ssize_t got = pread(log_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace mercer::server
