#include "core/base/status/byte_count.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace mercer {
namespace {

constexpr size_t kMost = std::numeric_limits<size_t>::max();

TEST(ByteCountTest, CountsAsNumbersDo) {
  EXPECT_EQ((ByteCount(3) * ByteCount(4) + ByteCount(5)).value(), 17u);
  EXPECT_TRUE(ByteCount(3) < ByteCount(4));
}

TEST(ByteCountTest, StaysAtTheLargestValue) {
  const ByteCount half(kMost / 2);
  EXPECT_EQ((half + half + ByteCount(1)).value(), kMost);
  EXPECT_EQ((half + half + ByteCount(2)).value(), kMost);
  EXPECT_EQ((half * ByteCount(3)).value(), kMost);
  EXPECT_EQ((ByteCount(int64_t{1} << 40) * ByteCount(int64_t{1} << 40)).value(), kMost);
  EXPECT_EQ((half * ByteCount(0)).value(), 0u);
}

TEST(ByteCountTest, NegativeNumbersHaveWrappedAround) {
  EXPECT_EQ(ByteCount(int64_t{-1}).value(), kMost);
}

}  // namespace
}  // namespace mercer
