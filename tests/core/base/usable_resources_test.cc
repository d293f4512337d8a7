#include "core/base/memory/usable_memory.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mercer {
namespace {

class UsableMemoryTest : public testing::Test {
 protected:
  UsableMemoryTest()
      : root_(std::filesystem::temp_directory_path() /
              ("usable_memory_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())),
        machine_(int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)}) {}
  ~UsableMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const std::filesystem::path root_;
  const int64_t machine_;
};

TEST_F(UsableMemoryTest, IsTheMachinesWithoutGroups) { EXPECT_EQ(UsableMemory(root_), machine_); }

TEST_F(UsableMemoryTest, IsTheSmallestLimitOfAllGroupsAround) {
  Write("proc/self/cgroup", "0::/user.slice/mine\n");
  Write("sys/fs/cgroup/user.slice/mine/memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root_), machine_);
  Write("sys/fs/cgroup/user.slice/mine/memory.max", "3000000\n");
  EXPECT_EQ(UsableMemory(root_), 3'000'000);
  Write("sys/fs/cgroup/user.slice/memory.max", "2000000\n");
  EXPECT_EQ(UsableMemory(root_), 2'000'000);
}

TEST_F(UsableMemoryTest, IsTheLimitOfTheContainer) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "4194304\n");
  EXPECT_EQ(UsableMemory(root_), 4'194'304);
}

TEST_F(UsableMemoryTest, KnowsTheFirstVersion) {
  // The name that the host gives the group is not to be found within the container.
  Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\nnonsense\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(UsableMemory(root_), 5'000'000);
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(UsableMemory(root_), machine_) << "no limit";
}

}  // namespace
}  // namespace mercer
