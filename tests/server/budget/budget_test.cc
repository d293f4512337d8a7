#include "server/budget/budget.h"

#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

bool Never() { return false; }

TEST(BudgetTest, WaitsForWhatDoesNotFitAndForNothingElse) {
  const Budget budget;
  auto first = budget.Take(60, 100, Never);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(budget.Take(40, 100, Never).ok()) << "it fits, and is given back at once";
  int asked = 0;
  const auto refused = budget.Take(41, 100, [&] { return ++asked == 2; });
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kCancelled);
  absl::Notification asks;
  std::thread waiter([&] {
    const auto second = budget.Take(41, 100, [&] {
      if (!asks.HasBeenNotified()) {
        asks.Notify();
      }
      return false;
    });
    EXPECT_TRUE(second.ok());
  });
  asks.WaitForNotification();
  first->Release();
  waiter.join();
}

TEST(BudgetTest, OneThatExceedsTheWholeIsTakenAlone) {
  const Budget budget;
  const auto large = budget.Take(1000, 100, Never);
  ASSERT_TRUE(large.ok());
  int asked = 0;
  EXPECT_FALSE(budget.Take(1, 100, [&] { return ++asked == 2; }).ok());
  EXPECT_FALSE(budget.TryToTake(1, 100).has_value());
}

TEST(BudgetTest, EachKeyHasItsOwnLimitWithinThatOfAll) {
  const Budget budget;
  const BudgetLimits limits{5, 3};
  Budget::Share ada = budget.NewShare("ada");
  Budget::Share bob = budget.NewShare("bob");
  EXPECT_EQ(ada.Grow(3, limits), std::nullopt);
  EXPECT_EQ(budget.NewShare("ada").Grow(1, limits), BudgetLimit::kOfKey);
  EXPECT_EQ(bob.Grow(3, limits), BudgetLimit::kAll);
  EXPECT_EQ(bob.Grow(2, limits), std::nullopt);
  EXPECT_EQ(budget.taken("ada"), 3);
  EXPECT_EQ(budget.taken("bob"), 2);
  EXPECT_EQ(budget.taken(), 5);
  ada.Release();
  EXPECT_EQ(budget.taken("ada"), 0);
  EXPECT_EQ(bob.Grow(1, limits), std::nullopt);
  EXPECT_EQ(bob.amount(), 3);
}

TEST(BudgetTest, AShareIsGivenBackOnceWhereverItIsMoved) {
  const Budget budget;
  {
    Budget::Share share = budget.NewShare("ada");
    EXPECT_EQ(share.Grow(1, {}), std::nullopt);
    Budget::Share other = std::move(share);
    Budget::Share third = budget.NewShare("bob");
    EXPECT_EQ(third.Grow(7, {}), std::nullopt);
    third = std::move(other);
    EXPECT_EQ(budget.taken(), 1);
    EXPECT_EQ(budget.taken("bob"), 0);
    EXPECT_EQ(third.amount(), 1);
  }
  EXPECT_EQ(budget.taken(), 0);
}

TEST(BudgetTest, WithoutALimitThereIsAlwaysMore) {
  const Budget budget;
  std::vector<Budget::Share> shares;
  for (int i = 0; i < 1000; ++i) {
    shares.push_back(budget.NewShare("ada"));
    ASSERT_EQ(shares.back().Grow(1, {}), std::nullopt);
  }
  // A new limit counts what was taken before.
  EXPECT_EQ(budget.NewShare("ada").Grow(1, {-1, 1000}), BudgetLimit::kOfKey);
}

TEST(BudgetTest, SharesMayOutliveTheBudget) {
  Budget::Share share;
  EXPECT_EQ(share.Grow(1, {0, 0}), std::nullopt) << "of no budget";
  {
    const Budget budget;
    share = *budget.TryToTake(1, 1);
    const Budget copy = budget;
    EXPECT_FALSE(copy.TryToTake(1, 1).has_value()) << "a copy is the same budget";
  }
  share.Release();
}

}  // namespace
}  // namespace mercer::server
