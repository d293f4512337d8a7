#include "core/data/splits/splits.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

std::map<int, int> CountClasses(const std::vector<Index>& rows, const std::vector<int>& classes) {
  std::map<int, int> counts;
  for (const Index row : rows) {
    ++counts[classes[static_cast<size_t>(row)]];
  }
  return counts;
}

void ExpectPartition(const Split& split, Index rows) {
  EXPECT_TRUE(std::is_sorted(split.training.begin(), split.training.end()));
  EXPECT_TRUE(std::is_sorted(split.held_out.begin(), split.held_out.end()));
  std::vector<Index> all = split.training;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(static_cast<Index>(all.size()), rows);
  for (Index row = 0; row < rows; ++row) {
    EXPECT_EQ(all[static_cast<size_t>(row)], row);
  }
}

std::vector<int> RandomClasses(uint64_t seed, Index rows) {
  RandomStream random(seed, "splits-test");
  std::vector<int> classes;
  for (Index row = 0; row < rows; ++row) {
    classes.push_back(static_cast<int>(std::min(random.Below(7), random.Below(7))) * 3 - 2);
  }
  return classes;
}

TEST(SplitsTest, HoldOutHasTheRoundedSize) {
  for (const Index rows : {2, 3, 10, 101}) {
    for (const double fraction : {0.3, 0.5, 0.66}) {
      const auto split = HoldOutSplit(rows, fraction, {}, 1, RunContext());
      ASSERT_TRUE(split.ok()) << split.status();
      ExpectPartition(*split, rows);
      EXPECT_EQ(static_cast<Index>(split->held_out.size()),
                std::llround(fraction * static_cast<double>(rows)));
    }
  }
}

TEST(SplitsTest, StratifiedHoldOutKeepsProportions) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Index rows = 40 + static_cast<Index>(seed) * 3;
    const std::vector<int> classes = RandomClasses(seed, rows);
    const auto split = HoldOutSplit(rows, 0.25, classes, seed, RunContext());
    ASSERT_TRUE(split.ok()) << split.status();
    ExpectPartition(*split, rows);
    EXPECT_EQ(static_cast<Index>(split->held_out.size()),
              std::llround(0.25 * static_cast<double>(rows)))
        << seed;
    std::vector<Index> all = split->training;
    all.insert(all.end(), split->held_out.begin(), split->held_out.end());
    auto held_out = CountClasses(split->held_out, classes);
    auto training = CountClasses(split->training, classes);
    for (const auto& [code, count] : CountClasses(all, classes)) {
      EXPECT_GE(training[code], 1) << "seed " << seed << ", class " << code;
      EXPECT_NEAR(held_out[code], 0.25 * count, 1.5) << "seed " << seed << ", class " << code;
    }
  }
}

TEST(SplitsTest, EveryClassStaysInTraining) {
  const auto split = HoldOutSplit(6, 0.5, {0, 0, 0, 0, 1, 2}, 3, RunContext());
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(CountClasses(split->training, {0, 0, 0, 0, 1, 2}).size(), 3u);
  EXPECT_EQ(split->held_out.size(), 3u);
}

TEST(SplitsTest, HoldOutDependsOnTheSeedAlone) {
  EXPECT_EQ(HoldOutSplit(100, 0.3, {}, 5, RunContext())->held_out,
            HoldOutSplit(100, 0.3, {}, 5, RunContext())->held_out);
  EXPECT_NE(HoldOutSplit(100, 0.3, {}, 5, RunContext())->held_out,
            HoldOutSplit(100, 0.3, {}, 6, RunContext())->held_out);
}

TEST(SplitsTest, HoldOutRefusesEmptyParts) {
  for (const double fraction : {0.0, 1.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_FALSE(HoldOutSplit(10, fraction, {}, 1, RunContext()).ok()) << fraction;
  }
  EXPECT_FALSE(HoldOutSplit(1, 0.5, {}, 1, RunContext()).ok());
  EXPECT_FALSE(HoldOutSplit(10, 0.01, {}, 1, RunContext()).ok());
  EXPECT_FALSE(HoldOutSplit(10, 0.99, {}, 1, RunContext()).ok());
  EXPECT_FALSE(HoldOutSplit(3, 0.5, {0, 1, 2}, 1, RunContext()).ok());
  EXPECT_FALSE(HoldOutSplit(3, 0.5, {0, 1}, 1, RunContext()).ok());
}

TEST(SplitsTest, FoldsHoldEveryRowOutOnceInEqualShares) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Index rows = 20 + static_cast<Index>(seed);
    const int folds = 2 + static_cast<int>(seed % 7);
    const std::vector<int> classes = seed % 2 == 0 ? std::vector<int>{} : RandomClasses(seed, rows);
    const auto splits = KFoldSplits(rows, folds, classes, seed, RunContext());
    ASSERT_TRUE(splits.ok()) << splits.status();
    std::vector<int> times(static_cast<size_t>(rows), 0);
    for (const Split& split : *splits) {
      ExpectPartition(split, rows);
      EXPECT_NEAR(static_cast<double>(split.held_out.size()), static_cast<double>(rows) / folds, 1);
      for (const Index row : split.held_out) {
        ++times[static_cast<size_t>(row)];
      }
    }
    EXPECT_THAT(times, ::testing::Each(1));
  }
}

TEST(SplitsTest, StratifiedFoldsKeepProportions) {
  const Index rows = 137;
  const std::vector<int> classes = RandomClasses(9, rows);
  const auto splits = KFoldSplits(rows, 5, classes, 4, RunContext());
  std::vector<Index> all((*splits)[0].training);
  all.insert(all.end(), (*splits)[0].held_out.begin(), (*splits)[0].held_out.end());
  for (const auto& [code, count] : CountClasses(all, classes)) {
    for (const Split& split : *splits) {
      EXPECT_NEAR(CountClasses(split.held_out, classes)[code], count / 5.0, 1) << "class " << code;
    }
  }
}

TEST(SplitsTest, FoldsRefuseImpossibleNumbers) {
  EXPECT_FALSE(KFoldSplits(10, 1, {}, 1, RunContext()).ok());
  EXPECT_FALSE(KFoldSplits(10, 11, {}, 1, RunContext()).ok());
  EXPECT_FALSE(KFoldSplits(10, 2, {1}, 1, RunContext()).ok());
  EXPECT_TRUE(KFoldSplits(10, 10, {}, 1, RunContext()).ok());
}

TEST(SplitsTest, FoldsForEveryRowCanBeCancelled) {
  const CancellationToken token;
  token.Cancel();
  const RunContext context(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(KFoldSplits(100, 100, {}, 1, context).status()));
  EXPECT_TRUE(absl::IsCancelled(SplitsOfFolds({0, 1, 2}, 3, context).status()));
}

}  // namespace
}  // namespace mercer
