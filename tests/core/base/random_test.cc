#include "core/base/numeric/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace mercer {
namespace {

// The known-answer vectors that the authors of Philox publish with their library (philox 4x32, 10
// rounds).
TEST(PhiloxTest, ReproducesPublishedVectors) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStreamTest, SameKeySameNumbersOtherKeyOtherNumbers) {
  RandomStream first(7, "split", 3);
  RandomStream second(7, "split", 3);
  RandomStream other_index(7, "split", 4);
  RandomStream other_purpose(7, "folds", 3);
  RandomStream other_seed(8, "split", 3);
  for (int i = 0; i < 5; ++i) {
    const uint64_t value = first.NextUint64();
    EXPECT_EQ(value, second.NextUint64());
    EXPECT_NE(value, other_index.NextUint64());
    EXPECT_NE(value, other_purpose.NextUint64());
    EXPECT_NE(value, other_seed.NextUint64());
  }
}

TEST(RandomStreamTest, MomentsOfUniformAndNormal) {
  RandomStream stream(1, "moments");
  constexpr int kCount = 100'000;
  double uniform_sum = 0;
  double normal_sum = 0;
  double normal_square = 0;
  for (int i = 0; i < kCount; ++i) {
    const double uniform = stream.Uniform();
    ASSERT_GE(uniform, 0.0);
    ASSERT_LT(uniform, 1.0);
    uniform_sum += uniform;
    const double normal = stream.Normal();
    normal_sum += normal;
    normal_square += normal * normal;
  }
  // Five standard errors.
  EXPECT_NEAR(uniform_sum / kCount, 0.5, 5 * 0.2887 / std::sqrt(kCount));
  EXPECT_NEAR(normal_sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(normal_square / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
}

TEST(RandomStreamTest, BelowIsUniform) {
  RandomStream stream(2, "below");
  std::array<int, 6> counts = {};
  constexpr int kCount = 60'000;
  for (int i = 0; i < kCount; ++i) {
    ++counts[stream.Below(6)];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, kCount / 6, 5 * std::sqrt(kCount / 6.0));
  }
}

TEST(RandomStreamTest, ShuffleIsAPermutation) {
  std::vector<int> values(100);
  for (int i = 0; i < 100; ++i) {
    values[static_cast<size_t>(i)] = i;
  }
  std::vector<int> shuffled = values;
  RandomStream(3, "shuffle").Shuffle(shuffled);
  EXPECT_NE(shuffled, values);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, values);
}

}  // namespace
}  // namespace mercer
