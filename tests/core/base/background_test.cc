#include "core/base/process/background.h"

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/process/parallel.h"

namespace mercer {
namespace {

int NiceOfThisThread() { return getpriority(PRIO_PROCESS, 0); }

TEST(BackgroundTest, LowersTheCallingThreadAlone) {
  const int before = NiceOfThisThread();
  const int lowered = std::min(before + kBackgroundNice, 19);
  std::thread([&] {
    EXPECT_FALSE(InBackground());
    EnterBackground();
    EXPECT_TRUE(InBackground());
    EXPECT_EQ(NiceOfThisThread(), lowered);
    EnterBackground();
    EXPECT_EQ(NiceOfThisThread(), lowered) << "a second call changes nothing";
  }).join();
  EXPECT_FALSE(InBackground());
  EXPECT_EQ(NiceOfThisThread(), before);
}

TEST(BackgroundTest, APolicyThatSomebodyHasChosenStays) {
  std::thread([] {
    const sched_param none = {};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EnterBackground();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

TEST(BackgroundTest, ThreadsThatHelpAThreadInTheBackgroundAreThereToo) {
  const int lowered = std::min(NiceOfThisThread() + kBackgroundNice, 19);
  std::atomic<int> others{0};
  std::thread([&] {
    EnterBackground();
    const ParallelLoop loop(2);
    loop.ForBlocks(1000, 1, [&](Index, Index) { others += NiceOfThisThread() == lowered ? 0 : 1; });
  }).join();
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace mercer
