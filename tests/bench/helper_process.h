// A part of a benchmark that runs in a process of its own, so that its memory and work are its own.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mercer::server {

inline void Require(bool condition, const std::string& what) {
  if (!condition) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
  }
}

// A process that does `work` and speaks through pipes, line by line. It ends with this process.
class HelperProcess {
 public:
  explicit HelperProcess(const std::function<void(int input, int output)>& work) {
    std::array<int, 2> down = {};
    std::array<int, 2> up = {};
    Require(pipe(down.data()) == 0 && pipe(up.data()) == 0, "no pipes");
    pid_ = fork();
    Require(pid_ >= 0, "cannot fork");
    if (pid_ == 0) {
      close(down[1]);
      close(up[0]);
      work(down[0], up[1]);
      _exit(0);
    }
    close(down[0]);
    close(up[1]);
    to_ = down[1];
    from_ = up[0];
  }
  ~HelperProcess() {
    close(to_);
    waitpid(pid_, nullptr, 0);
    close(from_);
  }
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  static void Write(int pipe, const std::string& line) {
    const std::string text = line + "\n";
    Require(write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "no pipe");
  }
  // Empty at the end.
  static std::string Read(int pipe) {
    std::string line;
    char letter = 0;
    while (read(pipe, &letter, 1) == 1 && letter != '\n') {
      line.push_back(letter);
    }
    return line;
  }
  std::string Ask(const std::string& line) const {
    Write(to_, line);
    return Read(from_);
  }
  std::string Read() const { return Read(from_); }
  // Of what cannot be given back to the system by dropping it.
  double AnonymousMegabytes() const {
    std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
    for (std::string word; status >> word;) {
      if (word == "RssAnon:") {
        double kilobytes = 0;
        status >> kilobytes;
        return kilobytes / 1024;
      }
    }
    return 0;
  }
  double ProcessorSeconds() const {
    std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const std::vector<std::string> fields =
        absl::StrSplit(stat.substr(stat.rfind(')') + 2), ' ');  // from the third on
    double user = 0;
    double system = 0;
    return absl::SimpleAtod(fields[11], &user) && absl::SimpleAtod(fields[12], &system)
               ? (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK))
               : 0;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace mercer::server
