#include "tests/fault/files/file_faults.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace mercer::server {
namespace {

std::atomic<FileFaults*> active_faults{nullptr};
// This thread looks after the files itself; its calls are not counted.
thread_local bool looks_itself = false;

class LooksItself {
 public:
  LooksItself() { looks_itself = true; }
  ~LooksItself() { looks_itself = former_; }
  LooksItself(const LooksItself&) = delete;
  LooksItself& operator=(const LooksItself&) = delete;

 private:
  const bool former_ = looks_itself;
};

ino_t InodeOf(const std::filesystem::path& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

std::map<std::string, ino_t> NamesIn(const std::filesystem::path& folder) {
  std::map<std::string, ino_t> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names[entry.path().filename()] = InodeOf(entry.path());
  }
  return names;
}

bool Flip(std::mt19937_64* random) { return random != nullptr && (*random)() % 2 == 0; }

}  // namespace

FileFaults* FileFaults::active() {
  return looks_itself ? nullptr : active_faults.load(std::memory_order_acquire);
}

FileFaults::FileFaults(const std::filesystem::path& folder)
    : folder_(std::filesystem::canonical(folder)) {
  AddDurable(folder_);
  active_faults = this;
}

FileFaults::~FileFaults() {
  active_faults = nullptr;
  const std::lock_guard lock(mutex_);
  for (const int descriptor : kept_) {
    close(descriptor);
  }
}

void FileFaults::AddDurable(const std::filesystem::path& folder) {
  names_[InodeOf(folder)] = NamesIn(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) {
      AddDurable(entry.path());
    } else {
      contents_[InodeOf(entry.path())] = Contents(entry.path());
    }
  }
}

void FileFaults::Fail(const Failures& failures) {
  const std::lock_guard lock(mutex_);
  failures_ = failures;
}

void FileFaults::DelayRead() const {
  if (read_delay_ > absl::ZeroDuration()) {
    absl::SleepFor(read_delay_);
  }
}

int64_t FileFaults::Run(const Call& call, absl::FunctionRef<int64_t(size_t size)> real) {
  const std::lock_guard lock(mutex_);
  const LooksItself itself;
  const int64_t number = ++calls_;
  if (before_call_ != nullptr) {
    before_call_(number, absl::StrCat(call.name, " ", call.path.substr(folder_.size())));
  }
  if (number >= failures_.first && number - failures_.first < failures_.count) {
    if (call.write_size > 1) {
      real(call.write_size / 2);
    }
    errno = failures_.error;
    return -1;
  }
  if (call.takes_away) {
    Keep(call.target.empty() ? call.path : call.target);
  }
  const int64_t result =
      real(short_writes_ && call.write_size > 1 ? call.write_size / 2 : call.write_size);
  const int error = errno;
  if (result == 0 && call.synced >= 0) {
    NoteSync(call.synced);
  }
  errno = error;
  return result;
}

void FileFaults::NoteSync(int descriptor) {
  const std::filesystem::path path =
      std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", descriptor));
  if (std::filesystem::is_directory(path)) {
    names_[InodeOf(path)] = NamesIn(path);
  } else {
    contents_[InodeOf(absl::StrCat("/proc/self/fd/", descriptor))] =
        Contents(absl::StrCat("/proc/self/fd/", descriptor));
  }
}

void FileFaults::Keep(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    kept_.push_back(descriptor);
  }
}

void FileFaults::WriteAfterPowerLoss(const std::filesystem::path& to,
                                     std::mt19937_64* random) const {
  const LooksItself itself;
  std::map<Inode, std::filesystem::path> now;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    now[InodeOf(entry.path())] = entry.path();
  }
  now[InodeOf(folder_)] = folder_;
  WriteFolder(InodeOf(folder_), to, random, now);
}

void FileFaults::WriteFolder(Inode folder, const std::filesystem::path& to, std::mt19937_64* random,
                             const std::map<Inode, std::filesystem::path>& now) const {
  std::filesystem::create_directories(to);
  const auto current = now.find(folder);
  const auto durable = names_.find(folder);
  Names names = durable != names_.end() ? durable->second : Names();
  if (current != now.end() && Flip(random)) {
    names = NamesIn(current->second);
  }
  for (const auto& [name, inode] : names) {
    const auto found = now.find(inode);
    const bool is_folder = names_.count(inode) != 0 ||
                           (found != now.end() && std::filesystem::is_directory(found->second));
    if (is_folder) {
      WriteFolder(inode, to / name, random, now);
      continue;
    }
    const auto synced = contents_.find(inode);
    std::string content = synced != contents_.end() ? synced->second : std::string();
    if (found != now.end() && Flip(random)) {
      content = Contents(found->second);
    }
    std::ofstream(to / name, std::ios::binary) << content;
  }
}

}  // namespace mercer::server
