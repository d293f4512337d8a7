#include "core/data/splits/split_columns.h"

#include <gtest/gtest.h>

#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

// The column "p" of a CSV file with that one column and a feature.
RoleColumn Column(ColumnRole role, const std::string& cells, bool allow_missing = false) {
  CsvOptions options;
  options.roles = {{"p", role}};
  options.allow_missing = allow_missing;
  std::string text = "x,p\n";
  for (size_t begin = 0; begin <= cells.size();) {
    const size_t end = std::min(cells.find(' ', begin), cells.size());
    text += "1," + cells.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  const absl::StatusOr<Dataset> dataset = ReadCsvText(text, options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *dataset->FindColumn(role);
}

RoleColumn Parts(const std::string& cells, bool allow_missing = false) {
  return Column(ColumnRole::kSplit, cells, allow_missing);
}

using Rows = std::vector<Index>;

TEST(GivenHoldOutTest, TakesTheWordsOfTheColumn) {
  const auto split = GivenHoldOut(Parts("validation train train validation"), RunContext());
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->training, (Rows{1, 2}));
  EXPECT_EQ(split->held_out, (Rows{0, 3}));
}

TEST(GivenHoldOutTest, OtherWordsAndMissingOnesAreNamedByRowAndColumn) {
  const absl::Status word = GivenHoldOut(Parts("train validation test"), RunContext()).status();
  EXPECT_EQ(Describe(word), "BAD_CELL row=3 column=p");
  EXPECT_NE(word.message().find("'test'"), std::string::npos) << word;
  EXPECT_EQ(Describe(GivenHoldOut(Parts("0 1 0"), RunContext()).status()),
            "BAD_CELL row=1 column=p");
  EXPECT_EQ(Describe(GivenHoldOut(Parts("train NA", true), RunContext()).status()),
            "BAD_CELL row=2 column=p");
}

TEST(GivenHoldOutTest, BothPartsNeedRows) {
  for (const char* cells : {"train train", "validation validation"}) {
    const absl::Status status = GivenHoldOut(Parts(cells), RunContext()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find("'p'"), std::string::npos) << status;
  }
}

TEST(GivenFoldsTest, NumbersAndTextFromZeroOrOne) {
  for (const char* cells : {"1 2 3 1", "0 1 2 0"}) {
    RoleColumn numbers = Parts(cells);
    RoleColumn text = numbers;
    text.schema.categorical = true;
    text.schema.categories = {"0", "1", "2", "3"};
    for (const RoleColumn& column : {numbers, text}) {
      const auto splits = GivenFolds(column, RunContext());
      ASSERT_TRUE(splits.ok()) << splits.status();
      ASSERT_EQ(splits->size(), 3u);
      EXPECT_EQ((*splits)[0].held_out, (Rows{0, 3}));
      EXPECT_EQ((*splits)[0].training, (Rows{1, 2}));
      EXPECT_EQ((*splits)[2].held_out, (Rows{2}));
    }
  }
}

TEST(GivenFoldsTest, WhatIsNoFoldIsNamedByRowAndColumn) {
  EXPECT_EQ(Describe(GivenFolds(Parts("1 2 2.5"), RunContext()).status()),
            "BAD_CELL row=3 column=p");
  EXPECT_EQ(Describe(GivenFolds(Parts("1 -2 2"), RunContext()).status()),
            "BAD_CELL row=2 column=p");
  EXPECT_EQ(Describe(GivenFolds(Parts("1 1e300 2"), RunContext()).status()),
            "BAD_CELL row=2 column=p");
  EXPECT_EQ(Describe(GivenFolds(Parts("train validation"), RunContext()).status()),
            "BAD_CELL row=1 column=p");
  EXPECT_EQ(Describe(GivenFolds(Parts("1 NA 2", true), RunContext()).status()),
            "BAD_CELL row=2 column=p");
}

TEST(GivenFoldsTest, FoldsWithoutRowsAreNamed) {
  const absl::Status gap = GivenFolds(Parts("1 2 5 4"), RunContext()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(gap)) << gap;
  EXPECT_NE(gap.message().find("'p': fold 3 has no rows"), std::string::npos) << gap;
  const absl::Status late = GivenFolds(Parts("2 3"), RunContext()).status();
  EXPECT_NE(late.message().find("fold 1 has no rows"), std::string::npos) << late;
  EXPECT_TRUE(absl::IsInvalidArgument(GivenFolds(Parts("1 1"), RunContext()).status()));
}

TEST(GroupCodesTest, EqualValuesShareACode) {
  const auto numbers = GroupCodes(Column(ColumnRole::kGroup, "7 3 7 -1"), RunContext());
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(*numbers, (std::vector<int>{2, 1, 2, 0}));
  const auto names = GroupCodes(Column(ColumnRole::kGroup, "ann bob ann"), RunContext());
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(*names, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(Describe(GroupCodes(Column(ColumnRole::kGroup, "7 NA", true), RunContext()).status()),
            "BAD_CELL row=2 column=p");
}

TEST(CheckGroupsWholeTest, ADividedGroupIsNamed) {
  const RoleColumn groups = Column(ColumnRole::kGroup, "ann bob ann bob");
  EXPECT_TRUE(
      CheckGroupsWhole(groups, Parts("train validation train validation"), RunContext()).ok());
  const absl::Status status =
      CheckGroupsWhole(groups, Parts("train validation train train"), RunContext());
  EXPECT_EQ(Describe(status), "BAD_CELL row=4 column=p");
  EXPECT_NE(status.message().find("'bob'"), std::string::npos) << status;
  EXPECT_NE(status.message().find("row 2"), std::string::npos) << status;
}

}  // namespace
}  // namespace mercer
