#include "core/base/process/usable_resources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mercer {
namespace {

class UsableResourcesTest : public testing::Test {
 protected:
  UsableResourcesTest()
      : root_(std::filesystem::temp_directory_path() /
              ("usable_resources_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())),
        machine_(int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)}) {}
  ~UsableResourcesTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const std::filesystem::path root_;
  const int64_t machine_;
};

TEST_F(UsableResourcesTest, IsTheMachinesWithoutGroups) {
  EXPECT_EQ(UsableMemory(root_), machine_);
  EXPECT_GE(UsableProcessors(root_), 1);
}

TEST_F(UsableResourcesTest, IsTheSmallestLimitOfAllGroupsAround) {
  Write("proc/self/cgroup", "0::/user.slice/mine\n");
  Write("sys/fs/cgroup/user.slice/mine/memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root_), machine_);
  Write("sys/fs/cgroup/user.slice/mine/memory.max", "3000000\n");
  EXPECT_EQ(UsableMemory(root_), 3'000'000);
  Write("sys/fs/cgroup/user.slice/memory.max", "2000000\n");
  EXPECT_EQ(UsableMemory(root_), 2'000'000);
}

TEST_F(UsableResourcesTest, IsTheLimitOfTheContainer) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "4194304\n");
  EXPECT_EQ(UsableMemory(root_), 4'194'304);
}

TEST_F(UsableResourcesTest, KnowsTheFirstVersion) {
  // The name that the host gives the group is not to be found within the container.
  Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\nnonsense\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(UsableMemory(root_), 5'000'000);
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(UsableMemory(root_), machine_) << "no limit";
}

TEST_F(UsableResourcesTest, CountsTheProcessorsThatTheGroupsTimePaysFor) {
  const int machine = UsableProcessors(root_);
  Write("proc/self/cgroup", "0::/user.slice/mine\n");
  Write("sys/fs/cgroup/user.slice/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(UsableProcessors(root_), machine);
  Write("sys/fs/cgroup/user.slice/mine/cpu.max", "100001 100000\n");
  EXPECT_EQ(UsableProcessors(root_), std::min(machine, 2)) << "a part of one is one";
  Write("sys/fs/cgroup/user.slice/cpu.max", "25000 50000\n");
  EXPECT_EQ(UsableProcessors(root_), 1);
}

TEST_F(UsableResourcesTest, CountsThemInTheFirstVersionToo) {
  const int machine = UsableProcessors(root_);
  Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(UsableProcessors(root_), machine);
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(UsableProcessors(root_), 1);
}

}  // namespace
}  // namespace mercer
