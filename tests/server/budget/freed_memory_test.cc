#include "server/budget/freed_memory.h"

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

#include "tests/support/peak_growth.h"

namespace mercer::server {
namespace {

constexpr int64_t kBytes = int64_t{96} << 20;
constexpr int kParts = 8;
using Block = std::array<char, 100>;
constexpr int64_t kBlockBytes = 112;  // in the allocator

void TakeAndFree(FreedMemory& freed) {
  std::vector<std::vector<std::unique_ptr<Block>>> parts(kParts);
  for (auto& part : parts) {
    for (int64_t i = 0; i < kBytes / kParts / kBlockBytes; ++i) {
      part.push_back(std::make_unique<Block>());
    }
  }
  for (auto& part : parts) {
    part.clear();
    freed.Add(kBytes / kParts);
  }
}

TEST(FreedMemoryTest, GoesBackWhenThereIsMuch) {
  FreedMemory freed;
  EXPECT_FALSE(freed.Add(FreedMemory::kMostBytes - 1));
  EXPECT_TRUE(freed.Add(1));
  EXPECT_FALSE(freed.Add(FreedMemory::kMostBytes - 1));
  EXPECT_TRUE(freed.Add(FreedMemory::kMostBytes));
}

TEST(FreedMemoryTest, OfOneThreadDoesNotStandBesideThatOfTheNext) {
  const int64_t grown = PeakGrowth([] {
    FreedMemory freed;
    absl::Notification first;
    absl::Notification second;
    std::thread one([&] {
      TakeAndFree(freed);
      first.Notify();
      second.WaitForNotification();
    });
    first.WaitForNotification();
    std::thread next([&] { TakeAndFree(freed); });
    next.join();
    second.Notify();
    one.join();
    return true;
  });
  EXPECT_GE(grown, kBytes / 2);
  if (kGrowthIsMemoryHeld) {
    EXPECT_LT(grown, kBytes + kBytes / 2);
  }
}

}  // namespace
}  // namespace mercer::server
