#include "server/rpc/call_tracker.h"

#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

TEST(CallTrackerTest, DrainTellsEveryCallOnceAlsoLaterOnes) {
  CallTracker tracker;
  int first = 0;
  int later = 0;
  TrackedCall call(tracker, {[&] { ++first; }, nullptr});
  EXPECT_EQ(first, 0);
  EXPECT_FALSE(tracker.draining());
  tracker.Drain();
  tracker.Drain();
  EXPECT_TRUE(tracker.draining());
  EXPECT_EQ(first, 1);
  TrackedCall late(tracker, {[&] { ++later; }, nullptr});
  EXPECT_EQ(later, 1);
  EXPECT_EQ(tracker.running(), 2);
}

TEST(CallTrackerTest, WaitsForTheCallsOfNowAndNotForLaterOnes) {
  CallTracker tracker;
  EXPECT_TRUE(tracker.WaitForCalls(absl::ZeroDuration()));
  auto first = std::make_unique<TrackedCall>(tracker);
  EXPECT_FALSE(tracker.WaitForCalls(absl::ZeroDuration()));
  absl::Notification waited;
  std::thread waiter([&] {
    EXPECT_TRUE(tracker.WaitForCalls(absl::InfiniteDuration()));
    waited.Notify();
  });
  while (tracker.waiting() == 0) {
    std::this_thread::yield();
  }
  const auto second = std::make_unique<TrackedCall>(tracker);
  first.reset();
  waited.WaitForNotification();
  waiter.join();
  TrackedCall third(tracker);
  EXPECT_FALSE(tracker.WaitForCalls(absl::ZeroDuration()));
}

TEST(CallTrackerTest, CancelReachesTheCallsThatRun) {
  CallTracker tracker;
  int cancelled = 0;
  {
    TrackedCall gone(tracker, {nullptr, [&] { cancelled += 100; }});
  }
  TrackedCall call(tracker, {nullptr, [&] { ++cancelled; }});
  TrackedCall silent(tracker);
  tracker.Cancel();
  EXPECT_EQ(cancelled, 1);
}

TEST(CallTrackerTest, EndOfACallWaitsForItsHook) {
  CallTracker tracker;
  absl::Notification begun;
  absl::Notification go_on;
  bool hook_ended = false;
  auto call = std::make_unique<TrackedCall>(tracker, DrainHooks{[&] {
                                                                  begun.Notify();
                                                                  go_on.WaitForNotification();
                                                                  hook_ended = true;
                                                                },
                                                                nullptr});
  std::thread drain([&] { tracker.Drain(); });
  begun.WaitForNotification();
  std::thread end([&] {
    call.reset();
    EXPECT_TRUE(hook_ended);
  });
  EXPECT_EQ(tracker.running(), 1);
  go_on.Notify();
  end.join();
  drain.join();
  EXPECT_EQ(tracker.running(), 0);
}

TEST(StreamStepsTest, InterruptionWhileWaitingIsTheCallersToEnd) {
  StreamSteps steps;
  bool started = false;
  EXPECT_TRUE(steps.Wait([&] { started = true; }));
  EXPECT_TRUE(started);
  EXPECT_TRUE(steps.Interrupt());
  EXPECT_FALSE(steps.Interrupt()) << "it is ended once";
  EXPECT_FALSE(steps.Resume()) << "what comes now is nobody's";
}

TEST(StreamStepsTest, InterruptionDuringAStepEndsTheStreamAfterIt) {
  StreamSteps steps;
  EXPECT_TRUE(steps.Wait([] {}));
  EXPECT_TRUE(steps.Resume());
  EXPECT_FALSE(steps.Interrupt());
  EXPECT_FALSE(steps.Wait([] { FAIL() << "no further step"; }));
}

}  // namespace
}  // namespace mercer::server
