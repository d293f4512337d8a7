#include "core/base/process/interruption.h"

#include <gtest/gtest.h>

#include "core/base/process/run_context.h"

namespace mercer {
namespace {

TEST(InterruptionTest, DeadlineThatHasPassedIsACause) {
  const Interruption late(SystemSteadyClock().Monotonic() - absl::Seconds(1), nullptr);
  EXPECT_TRUE(late.requested());
  EXPECT_EQ(late.cause(), InterruptionCause::kDeadline);
  const Interruption never(absl::InfiniteDuration(), nullptr);
  EXPECT_FALSE(never.requested());
  EXPECT_EQ(never.cause(), InterruptionCause::kNone);
}

TEST(InterruptionTest, DeadlineIsATimeOfTheGivenClock) {
  class Clock final : public SteadyClock {
   public:
    absl::Duration Monotonic() const override { return time; }
    absl::Duration time;
  };
  Clock clock;
  const Interruption interruption(absl::Seconds(10), nullptr, clock);
  clock.time = absl::Seconds(9.9);
  EXPECT_FALSE(interruption.requested());
  clock.time = absl::Seconds(10);
  EXPECT_TRUE(interruption.requested());
}

TEST(InterruptionTest, WishThatIsWithdrawnCountsAllTheSame) {
  bool wish = true;
  const Interruption interruption(absl::InfiniteDuration(), [&] { return wish; });
  EXPECT_TRUE(interruption.requested());
  wish = false;
  EXPECT_TRUE(interruption.requested());
  EXPECT_EQ(interruption.cause(), InterruptionCause::kStopRequested);
}

TEST(InterruptionTest, FirstCauseStays) {
  bool wish = false;
  const Interruption interruption(-absl::InfiniteDuration(), [&] { return wish; });
  EXPECT_TRUE(interruption.requested());
  wish = true;
  EXPECT_TRUE(interruption.requested());
  EXPECT_EQ(interruption.cause(), InterruptionCause::kDeadline);
}

TEST(RunContextTest, InterruptionIsInForceWithinItsScopeOnly) {
  const Interruption interruption(-absl::InfiniteDuration(), nullptr);
  RunContext context;
  EXPECT_TRUE(context.CheckCancelled().ok());
  {
    const InterruptibleScope scope(context, interruption);
    EXPECT_TRUE(context.cancelled());
    EXPECT_TRUE(context.interrupted());
    EXPECT_TRUE(absl::IsCancelled(context.CheckCancelled()));
  }
  EXPECT_FALSE(context.cancelled());
  EXPECT_TRUE(context.CheckCancelled().ok());
}

TEST(RunContextTest, CancellationOutranksInterruption) {
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  const Interruption interruption(-absl::InfiniteDuration(), nullptr);
  const InterruptibleScope scope(context, interruption);
  token.Cancel();
  EXPECT_TRUE(context.cancelled());
  EXPECT_FALSE(context.interrupted());
}

}  // namespace
}  // namespace mercer
