#include "server/rpc/parse_budget.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

bool Never() { return false; }

TEST(ParseBudgetTest, WaitsForWhatDoesNotFitAndForNothingElse) {
  const auto budget = std::make_shared<ParseBudget>();
  auto first = budget->Take(60, 100, Never);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(budget->Take(40, 100, Never).ok()) << "it fits, and is given back at once";
  int asked = 0;
  const auto refused = budget->Take(41, 100, [&] { return ++asked == 2; });
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kCancelled);
  absl::Notification asks;
  std::thread waiter([&] {
    const auto second = budget->Take(41, 100, [&] {
      if (!asks.HasBeenNotified()) {
        asks.Notify();
      }
      return false;
    });
    EXPECT_TRUE(second.ok());
  });
  asks.WaitForNotification();
  *first = nullptr;
  waiter.join();
}

TEST(ParseBudgetTest, OneThatExceedsTheWholeRunsAlone) {
  const auto budget = std::make_shared<ParseBudget>();
  const auto large = budget->Take(1000, 100, Never);
  ASSERT_TRUE(large.ok());
  int asked = 0;
  EXPECT_FALSE(budget->Take(1, 100, [&] { return ++asked == 2; }).ok());
}

}  // namespace
}  // namespace mercer::server
