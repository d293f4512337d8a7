#include "core/base/numeric/step_count.h"

#include <limits>

#include <gtest/gtest.h>

namespace mercer {
namespace {

TEST(StepCountTest, CountsAreNotNegativeAndCanBeAddedTo) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t count : {int64_t{0}, int64_t{1}, kMostSteps}) {
    EXPECT_TRUE(IsStepCount(count)) << count;
    EXPECT_LE(count, kLargest - kMostSteps);
  }
  for (const int64_t count : {int64_t{-1}, kMostSteps + 1, kLargest, -kLargest - 1}) {
    EXPECT_FALSE(IsStepCount(count)) << count;
  }
}

}  // namespace
}  // namespace mercer
