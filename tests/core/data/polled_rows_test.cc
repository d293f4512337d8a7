// What goes through all rows of a table ends when its run must, however many rows there are.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/data/metrics/weighted_metrics.h"
#include "core/data/splits/split_columns.h"
#include "core/data/splits/splits.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

constexpr Index kRowsOfMillions = kSanitized ? 100'000 : 6'000'000;

// Numbers spread over [0, 1).
Vector Spread(Index rows) {
  Vector values(rows);
  for (Index i = 0; i < rows; ++i) {
    const double multiple = std::sqrt(2.0) * static_cast<double>(i);
    values(i) = multiple - std::floor(multiple);
  }
  return values;
}

std::vector<int> Codes(Index rows, int count) {
  std::vector<int> codes;
  for (Index i = 0; i < rows; ++i) {
    codes.push_back(static_cast<int>((7919 * i) % count));
  }
  return codes;
}

TEST(PolledRowsTest, HoldOutAndFolds) {
  const std::vector<int> classes = Codes(kRowsOfMillions, 3);
  ExpectIsPolled([&](RunContext& context) {
    return HoldOutSplit(kRowsOfMillions, 0.3, classes, 1, context).status();
  });
  ExpectIsPolled([&](RunContext& context) {
    return KFoldSplits(kRowsOfMillions, 3, classes, 1, context).status();
  });
}

TEST(PolledRowsTest, HoldOutAndFoldsOfManyGroups) {
  const Index rows = kRowsOfMillions / 4;
  const std::vector<int> groups = Codes(rows, static_cast<int>(rows / 3));
  const std::vector<int> classes = Codes(rows, 5);
  ExpectIsPolled([&](RunContext& context) {
    return GroupHoldOutSplit(groups, 0.3, classes, 1, context).status();
  });
  ExpectIsPolled([&](RunContext& context) {
    return GroupKFoldSplits(groups, 3, classes, 1, context).status();
  });
}

TEST(PolledRowsTest, ColumnOfManyGroups) {
  const RoleColumn groups = NumericColumn(ColumnRole::kGroup, "g", Spread(kRowsOfMillions / 3));
  ExpectIsPolled([&](RunContext& context) { return GroupCodes(groups, context).status(); });
  ExpectIsPolled([&](RunContext& context) { return CheckGroupsWhole(groups, groups, context); });
}

// It takes long for many more rows only.
TEST(PolledRowsTest, ColumnOfPartsIsNotReadToItsEnd) {
  RoleColumn parts = NumericColumn(ColumnRole::kSplit, "p", Vector::Zero(100'000));
  parts.values(0) = 1;
  parts.values(99'999) = 2;  // a part that does not exist
  parts.schema.categorical = true;
  parts.schema.categories = {"train", "validation", "test"};
  RunContext cancelled;
  EXPECT_TRUE(absl::IsInvalidArgument(GivenHoldOut(parts, cancelled).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(GivenFolds(parts, cancelled).status()));
  cancelled.cancellation().Cancel();
  EXPECT_TRUE(absl::IsCancelled(GivenHoldOut(parts, cancelled).status()));
  parts = NumericColumn(ColumnRole::kSplit, "p", Vector::Zero(100'000));
  parts.values(99'999) = -1;
  EXPECT_TRUE(absl::IsCancelled(GivenFolds(parts, cancelled).status()));
}

TEST(PolledRowsTest, AreaUnderTheCurve) {
  const Vector values = Spread(kRowsOfMillions);
  std::vector<bool> positive;
  for (Index i = 0; i < kRowsOfMillions; ++i) {
    positive.push_back(i % 3 == 0);
  }
  ExpectIsPolled([&](RunContext& context) {
    return WeightedAreaUnderRoc(values, positive, &values, context).status();
  });
}

}  // namespace
}  // namespace mercer
