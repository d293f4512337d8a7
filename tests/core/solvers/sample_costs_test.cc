#include "core/solvers/sample_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer {
namespace {

TEST(SampleCostsTest, BalancedWeightsGiveBothClassesTheSameTotal) {
  const Vector labels{{1, -1, -1, -1}};
  const auto costs = MakeSampleCosts({.c = 2.0, .balanced = true}, 4, labels, Vector());
  ASSERT_TRUE(costs.ok());
  EXPECT_DOUBLE_EQ((*costs)(0), 2.0 * 4 / 2);
  EXPECT_DOUBLE_EQ((*costs)(1), 2.0 * 4 / 6);
}

TEST(SampleCostsTest, ClassAndSampleWeightsMultiply) {
  const auto costs = MakeSampleCosts({.c = 2.0, .positive_weight = 3.0, .negative_weight = 5.0}, 3,
                                     Vector{{1, -1, 1}}, Vector{{1, 0.5, 0}});
  ASSERT_TRUE(costs.ok());
  EXPECT_EQ(*costs, (Vector{{6.0, 5.0, 0.0}}));
}

TEST(SampleCostsTest, RefusesWhatCannotBeTrainedOn) {
  EXPECT_FALSE(MakeSampleCosts({.c = 0.0}, 2, Vector(), Vector()).ok());
  EXPECT_FALSE(MakeSampleCosts({}, 2, Vector{{1, 1}}, Vector()).ok());
  EXPECT_FALSE(MakeSampleCosts({}, 2, Vector{{1, -1}}, Vector{{1, 0}}).ok());
  EXPECT_FALSE(MakeSampleCosts({.c = 1e300}, 2, Vector(), Vector{{1, 1e300}}).ok());
  const absl::Status negative = MakeSampleCosts({}, 2, Vector{{1, -1}}, Vector{{1, -2}}).status();
  EXPECT_NE(negative.message().find("row 2"), std::string::npos) << negative;
}

}  // namespace
}  // namespace mercer
