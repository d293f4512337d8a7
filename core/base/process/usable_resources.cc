#include "core/base/memory/usable_memory.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mercer {
namespace {

int64_t MachineMemory() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)};
}

// `limit`, or what the file says if it is less: it may be missing, or say "max".
int64_t Lower(int64_t limit, const std::string& path) {
  std::ifstream file(path);
  std::string text;
  int64_t value = 0;
  return file >> text && absl::SimpleAtoi(text, &value) && value > 0 ? std::min(limit, value)
                                                                     : limit;
}

// The limits of `group` ("/a/b") and of all groups around it. Within a container the file system
// may show its own group as the outermost, whatever its name.
int64_t LowerByGroups(int64_t limit, const std::string& folder, std::string group,
                      const char* name) {
  limit = Lower(limit, absl::StrCat(folder, "/", name));
  while (group.size() > 1) {
    limit = Lower(limit, absl::StrCat(folder, group, "/", name));
    group.resize(group.rfind('/'));
  }
  return limit;
}

}  // namespace

int64_t UsableMemory(const std::string& root) {
  int64_t limit = MachineMemory();
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
      limit = LowerByGroups(limit, folder, group, "memory.max");
    } else if (absl::StrCat(",", controllers, ",").find(",memory,") != std::string::npos) {
      limit = LowerByGroups(limit, absl::StrCat(folder, "/memory"), group, "memory.limit_in_bytes");
    }
  }
  return limit;
}

}  // namespace mercer
