#include "core/base/process/usable_resources.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mercer {
namespace {

int64_t MachineMemory() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)};
}

int MachineProcessors() {
  cpu_set_t processors;
  return sched_getaffinity(0, sizeof(processors), &processors) == 0
             ? CPU_COUNT(&processors)
             : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The next number of a file. 0: it is missing, or says "max", or -1, for no limit.
int64_t ReadNumber(std::ifstream& file) {
  std::string text;
  int64_t value = 0;
  return file >> text && absl::SimpleAtoi(text, &value) ? std::max<int64_t>(value, 0) : 0;
}

int64_t ReadNumber(const std::string& path) {
  std::ifstream file(path);
  return ReadNumber(file);
}

// What a kind of limit is called in a folder of control groups of version 2, and of version 1 in the folder of its controller.
struct LimitFile {
  const char* version2;
  const char* controller;
  const char* version1;
};

// Calls `read` with the paths of the limits of `group` ("/a/b") and of all groups around it. Within a container the file system
// may show its own group as the outermost, whatever its name.
void ReadLimits(const std::string& folder, std::string group, const char* name,
                absl::FunctionRef<void(const std::string& path)> read) {
  read(absl::StrCat(folder, "/", name));
  while (group.size() > 1) {
    read(absl::StrCat(folder, group, "/", name));
    group.resize(group.rfind('/'));
  }
}

void ReadLimits(const std::string& root, const LimitFile& file,
                absl::FunctionRef<void(const std::string& path)> read) {
  const std::string folder = absl::StrCat(root, "/sys/fs/cgroup");
  std::ifstream groups(absl::StrCat(root, "/proc/self/cgroup"));
  // Each line names a control group: "0::/group" one of version 2, "4:memory:/group" one of version
  // 1.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      ReadLimits(folder, group, file.version2, read);
    } else if (absl::StrCat(",", controllers, ",").find(absl::StrCat(",", file.controller, ",")) !=
               std::string::npos) {
      ReadLimits(absl::StrCat(folder, "/", file.controller), group, file.version1, read);
    }
  }
}

}  // namespace

int64_t UsableMemory(const std::string& root) {
  int64_t limit = MachineMemory();
  ReadLimits(root, {"memory.max", "memory", "memory.limit_in_bytes"},
             [&limit](const std::string& path) {
               const int64_t bytes = ReadNumber(path);
               limit = bytes > 0 ? std::min(limit, bytes) : limit;
             });
  return limit;
}

int UsableProcessors(const std::string& root) {
  int64_t limit = MachineProcessors();
  // The microseconds that a group may run in each period of so many: side by side in version 2.
  constexpr int64_t kUsualPeriod = 100'000;
  ReadLimits(root, {"cpu.max", "cpu", "cpu.cfs_quota_us"}, [&limit](const std::string& path) {
    std::ifstream file(path);
    const int64_t quota = ReadNumber(file);
    int64_t period = ReadNumber(file);
    if (period == 0) {
      period = ReadNumber(path.substr(0, path.rfind('/')) + "/cpu.cfs_period_us");
    }
    period = period == 0 ? kUsualPeriod : period;
    limit = quota > 0 ? std::min(limit, (quota - 1) / period + 1) : limit;
  });
  return static_cast<int>(limit);
}

}  // namespace mercer
