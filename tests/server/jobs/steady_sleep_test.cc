#include "server/jobs/record/steady_sleep.h"

#include <thread>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

TEST(SteadySleepTest, IsEndedByAnotherThreadAndStaysSo) {
  SteadySleep sleep;
  std::thread other([&] { sleep.End(); });
  EXPECT_TRUE(sleep.For(absl::Hours(1000)));
  other.join();
  EXPECT_TRUE(sleep.For(absl::Hours(1000)));
  EXPECT_TRUE(sleep.For(absl::ZeroDuration()));
}

TEST(SteadySleepTest, EndsWhenItsTimeHasPassed) {
  const SteadySleep sleep;
  EXPECT_FALSE(sleep.For(absl::Nanoseconds(1)));
  EXPECT_FALSE(sleep.For(absl::ZeroDuration()));
}

}  // namespace
}  // namespace mercer::server
