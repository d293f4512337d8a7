// Stands between this program and its files. The program that links file_calls.cc makes its system calls through it,
// SQLite's and the standard library's included, so that a test sees every change of a file below one folder, in order:
// it can look at the folder before each, let any of them fail, and ask what would be left after a loss of power.
//
//   FileFaults faults(folder);
//   faults.Fail({.first = 17, .count = 1, .error = ENOSPC});
//   ... the 17th call that changes a file in the folder fails; a write that fails has written its first half ...
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <sys/types.h>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace mercer::server {

// Of the calls that change files, sweeps stop at one in so many (tests/support/thorough.h).
inline constexpr int64_t kSweepStride = 5;

// Changes are: a write, a truncation, a sync (of a file or folder), the making of a file or folder, a renaming, a removal.
// Thread-safe. At most one at a time exists in a program.
class FileFaults {
 public:
  struct Failures {
    int64_t first = 1;  // number of the call, from 1
    int64_t count = 1;
    int error = 0;  // EIO, ENOSPC, ...
  };
  static constexpr int64_t kForEver = std::numeric_limits<int64_t>::max() / 2;
  // Told the number of the call and what it is, "pwrite64 mercer.db-wal". The calls of other threads wait.
  using BeforeCall = std::function<void(int64_t number, const std::string& what)>;

  // All that is in the folder now is taken as durable; the folder exists.
  explicit FileFaults(const std::filesystem::path& folder);
  ~FileFaults();
  FileFaults(const FileFaults&) = delete;
  FileFaults& operator=(const FileFaults&) = delete;

  void Fail(const Failures& failures);
  void Heal() { Fail({kForEver, 1, 0}); }
  // Set these before anything is under way.
  void set_before_call(BeforeCall before_call) { before_call_ = std::move(before_call); }
  void set_short_writes(bool on) { short_writes_ = on; }  // writes take half of what they are given
  void set_slow_reads(absl::Duration delay) { read_delay_ = delay; }
  int64_t calls() const { return calls_; }

  // Makes the folder `to` with what the disk would hold if the power went off now: of every file what was last synced, of
  // every folder the names that it had when it was last synced. With `random` each file and folder is either that or what
  // it is now, because a disk may also write what nobody has asked for. Only while no call is under way: in BeforeCall.
  void WriteAfterPowerLoss(const std::filesystem::path& to, std::mt19937_64* random) const;

  // For file_calls.cc.
  struct Call {
    const char* name;
    std::string path;  // absolute
    size_t write_size = 0;
    int synced = -1;          // the file or folder that the call syncs
    bool takes_away = false;  // the file at `path`, or the one at `target`
    std::string target = {};
  };
  static FileFaults* active();
  bool Covers(const std::string& path) const {
    return path.rfind(folder_, 0) == 0 &&
           (path.size() == folder_.size() || path[folder_.size()] == '/');
  }
  // `real(size)` makes the call; writes take `size` bytes.
  int64_t Run(const Call& call, absl::FunctionRef<int64_t(size_t size)> real);
  void DelayRead() const;

 private:
  using Inode = ino_t;
  using Names = std::map<std::string, Inode>;

  void NoteSync(int descriptor);
  // So that the number of a file that is going away is not given to another.
  void Keep(const std::string& path);
  void AddDurable(const std::filesystem::path& folder);
  void WriteFolder(Inode folder, const std::filesystem::path& to, std::mt19937_64* random,
                   const std::map<Inode, std::filesystem::path>& now) const;

  const std::string folder_;
  BeforeCall before_call_;
  bool short_writes_ = false;
  absl::Duration read_delay_ = absl::ZeroDuration();
  std::atomic<int64_t> calls_{0};
  mutable std::mutex mutex_;
  Failures failures_{kForEver, 1, 0};      // guarded by mutex_, as all that follows
  std::map<Inode, std::string> contents_;  // of files, when they were last synced
  std::map<Inode, Names> names_;           // of folders, when they were last synced
  std::vector<int> kept_;
};

}  // namespace mercer::server
