// The real mercer-server as a process of its own, so that it can be killed at any moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <vector>

namespace mercer::server {

// A line of /proc/PID/status in bytes: "RssAnon", memory but pages of files, or "VmHWM", the most of all memory that the process has
// had at any moment. 0: it has ended.
int64_t StatusBytes(pid_t pid, const std::string& line);

struct ServerProcessOptions {
  std::filesystem::path data_dir;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> flags = {};        // further ones
  std::string program = "mercer-server";      // in the folder of the programs
  std::vector<std::string> environment = {};  // "NAME=VALUE", besides what this process has
  // For what root may do and users may not: run by root, the server becomes the user "nobody".
  bool unprivileged = false;
  uint64_t max_files = 0;  // that it may have open; 0: as many as this process
};

// The program is taken from the folder that the environment variable MERCER_BIN names. Kill and
// Terminate may be called while another thread waits.
class ServerProcess {
 public:
  // Starts the program and does not wait for it. It dies with the thread that started it.
  explicit ServerProcess(const ServerProcessOptions& options);
  // Kills it.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Blocks; false when the program ended without listening. Call at most once.
  bool WaitUntilListening();
  // "127.0.0.1:7345", once it listens.
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  // SIGKILL. Does nothing when the program has ended.
  void Kill() { Signal(9); }
  // SIGTERM: drains.
  void Terminate() { Signal(15); }
  // Blocks. The exit code; the negative number of the signal that ended the program.
  int WaitForExit();

  int64_t StatusBytes(const std::string& line) const { return server::StatusBytes(pid_, line); }
  // What it has written to stderr so far.
  std::string Log() const;

 private:
  void Signal(int number);

  std::string address_;
  pid_t pid_ = -1;
  int output_ = -1;  // reading end of its stdout
  int log_ = -1;     // its stderr, a file in memory
  std::mutex mutex_;
  bool reaped_ = false;  // guarded by mutex_: pid_ may be somebody else's by now
  int exit_code_ = 0;    // guarded by mutex_
};

}  // namespace mercer::server
