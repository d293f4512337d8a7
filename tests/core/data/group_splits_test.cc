// Splits that keep groups of rows together, against what they promise: counted from their rows.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/data/splits/splits.h"

namespace mercer {
namespace {

struct GroupedRows {
  std::vector<int> groups;
  std::vector<int> classes;
};

// Groups of 1 to 8 rows; rows of a group mostly share their class, one of three.
GroupedRows RandomGroups(uint64_t seed, int num_groups) {
  RandomStream random(seed, "group-splits-test");
  GroupedRows rows;
  for (int group = 0; group < num_groups; ++group) {
    const int own = static_cast<int>(random.Below(3));
    for (uint64_t i = random.Below(8) + 1; i > 0; --i) {
      rows.groups.push_back(group);
      rows.classes.push_back(random.Below(4) == 0 ? static_cast<int>(random.Below(3)) : own);
    }
  }
  random.Shuffle(rows.classes);
  return rows;
}

std::set<int> Values(const std::vector<Index>& rows, const std::vector<int>& of_row) {
  std::set<int> values;
  for (const Index row : rows) {
    values.insert(of_row[static_cast<size_t>(row)]);
  }
  return values;
}

double Share(const std::vector<Index>& part, const std::vector<int>& classes, int code) {
  const auto in_part = std::count_if(part.begin(), part.end(), [&](Index row) {
    return classes[static_cast<size_t>(row)] == code;
  });
  return static_cast<double>(in_part) /
         static_cast<double>(std::count(classes.begin(), classes.end(), code));
}

// A partition of the rows, ascending, that divides no group.
void ExpectWholeGroups(const Split& split, const std::vector<int>& groups) {
  EXPECT_TRUE(std::is_sorted(split.training.begin(), split.training.end()));
  EXPECT_TRUE(std::is_sorted(split.held_out.begin(), split.held_out.end()));
  std::vector<Index> all = split.training;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  EXPECT_EQ(std::set<Index>(all.begin(), all.end()).size(), groups.size());
  EXPECT_EQ(all.size(), groups.size());
  std::set<int> both = Values(split.training, groups);
  both.merge(Values(split.held_out, groups));
  EXPECT_EQ(both.size(),
            Values(split.training, groups).size() + Values(split.held_out, groups).size());
}

TEST(GroupSplitsTest, HoldOutDividesNoGroupAndKeepsShares) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const GroupedRows rows = RandomGroups(seed, 60);
    for (const double fraction : {0.2, 0.25, 0.5}) {
      const auto split = GroupHoldOutSplit(rows.groups, fraction, rows.classes, seed, RunContext());
      ASSERT_TRUE(split.ok()) << split.status();
      ExpectWholeGroups(*split, rows.groups);
      EXPECT_NEAR(static_cast<double>(split->held_out.size()),
                  fraction * static_cast<double>(rows.groups.size()), 4)
          << seed;
      for (int code = 0; code < 3; ++code) {
        EXPECT_NEAR(Share(split->held_out, rows.classes, code), fraction, 0.1)
            << "seed " << seed << ", class " << code;
      }
    }
  }
}

TEST(GroupSplitsTest, FoldsDivideNoGroupAndKeepShares) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const GroupedRows rows = RandomGroups(seed, 60);
    const auto splits = GroupKFoldSplits(rows.groups, 4, rows.classes, seed, RunContext());
    ASSERT_TRUE(splits.ok()) << splits.status();
    std::vector<int> times(rows.groups.size(), 0);
    for (const Split& split : *splits) {
      ExpectWholeGroups(split, rows.groups);
      EXPECT_NEAR(static_cast<double>(split.held_out.size()),
                  static_cast<double>(rows.groups.size()) / 4, 4);
      for (int code = 0; code < 3; ++code) {
        EXPECT_NEAR(Share(split.held_out, rows.classes, code), 0.25, 0.1)
            << "seed " << seed << ", class " << code;
      }
      for (const Index row : split.held_out) {
        ++times[static_cast<size_t>(row)];
      }
    }
    EXPECT_THAT(times, ::testing::Each(1));
  }
}

TEST(GroupSplitsTest, WithoutClassesOnlySizesCount) {
  const GroupedRows rows = RandomGroups(3, 50);
  const auto split = GroupHoldOutSplit(rows.groups, 0.3, {}, 1, RunContext());
  ASSERT_TRUE(split.ok()) << split.status();
  ExpectWholeGroups(*split, rows.groups);
  EXPECT_NEAR(static_cast<double>(split->held_out.size()),
              0.3 * static_cast<double>(rows.groups.size()), 2);
}

TEST(GroupSplitsTest, AsManyFoldsAsGroupsHoldOneGroupEach) {
  const std::vector<int> groups = {0, 1, 2, 2, 2, 1, 2, 3};
  const auto splits = GroupKFoldSplits(groups, 4, {}, 1, RunContext());
  ASSERT_TRUE(splits.ok()) << splits.status();
  std::set<int> seen;
  for (const Split& split : *splits) {
    const std::set<int> held_out = Values(split.held_out, groups);
    EXPECT_EQ(held_out.size(), 1u);
    seen.insert(*held_out.begin());
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(GroupSplitsTest, AClassOfOneGroupStaysInTraining) {
  //                             class 2 lives in group 4 alone
  const std::vector<int> groups = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4};
  const std::vector<int> classes = {0, 1, 0, 1, 0, 1, 0, 1, 2, 2, 2, 0};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto split = GroupHoldOutSplit(groups, 0.4, classes, seed, RunContext());
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_EQ(Values(split->training, classes).size(), 3u) << seed;
    EXPECT_FALSE(split->held_out.empty()) << seed;
  }
}

TEST(GroupSplitsTest, ALargeGroupLeavesASmallOneToHoldOut) {
  std::vector<int> groups(100, 0);
  std::fill(groups.begin() + 50, groups.end(), 1);
  const auto split = GroupHoldOutSplit(groups, 0.01, {}, 1, RunContext());
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->held_out.size(), 50u);
}

TEST(GroupSplitsTest, DependOnTheSeedAlone) {
  const GroupedRows rows = RandomGroups(1, 60);
  const auto held_out = [&](uint64_t seed) {
    return GroupHoldOutSplit(rows.groups, 0.3, rows.classes, seed, RunContext())->held_out;
  };
  EXPECT_EQ(held_out(5), held_out(5));
  EXPECT_NE(held_out(5), held_out(6));
}

TEST(GroupSplitsTest, ImpossibleSplitsAreRefused) {
  const std::vector<int> groups = {0, 0, 1, 1};
  for (const double fraction : {0.0, 1.0, -0.5, std::nan("")}) {
    EXPECT_FALSE(GroupHoldOutSplit(groups, fraction, {}, 1, RunContext()).ok()) << fraction;
  }
  EXPECT_FALSE(GroupHoldOutSplit({0, 0, 0}, 0.5, {}, 1, RunContext()).ok());
  EXPECT_FALSE(
      GroupHoldOutSplit(groups, 0.5, {0, 0, 1, 1}, 1, RunContext()).ok());  // a class per group
  EXPECT_FALSE(GroupHoldOutSplit(groups, 0.5, {0}, 1, RunContext()).ok());
  EXPECT_FALSE(GroupKFoldSplits(groups, 3, {}, 1, RunContext()).ok());
  EXPECT_FALSE(GroupKFoldSplits(groups, 1, {}, 1, RunContext()).ok());
  EXPECT_TRUE(GroupKFoldSplits(groups, 2, {}, 1, RunContext()).ok());
}

}  // namespace
}  // namespace mercer
