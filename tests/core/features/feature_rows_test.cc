#include "core/features/feature_rows.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/core/features/feature_test_data.h"

namespace mercer {
namespace {

TEST(FeatureRowsTest, PutsBlocksSideBySideForTheChosenRows) {
  RowMatrix first(3, 2);
  first << 1, 2, 3, 4, 5, 6;
  RowMatrix second(3, 1);
  second << 7, 8, 9;
  const FeatureRows rows(Prepared({first, second}), {2, 0});
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.num_inputs(), 3);
  EXPECT_EQ(rows.source_row(0), 2);
  RowMatrix buffer;
  const auto chunk = rows.Read(0, 2, buffer);
  RowMatrix expected(2, 3);
  expected << 5, 6, 9, 1, 2, 7;
  EXPECT_EQ(RowMatrix(chunk), expected);
  EXPECT_EQ(RowMatrix(rows.Read(1, 2, buffer)), expected.bottomRows(1));
}

TEST(FeatureRowsTest, RowsThatLieTogetherAreNotCopied) {
  const auto data = Prepared({NormalRows(10, 4, 1)});
  const double* values = data->blocks[0].values.view().data();
  const FeatureRows all(data);
  RowMatrix buffer;
  EXPECT_EQ(all.Read(3, 7, buffer).data(), values + 3 * 4);
  const FeatureRows chosen(data, {1, 2, 3, 7, 6});
  EXPECT_EQ(chosen.Read(0, 3, buffer).data(), values + 1 * 4);
  EXPECT_EQ(buffer.size(), 0);
  const auto gathered = chosen.Read(2, 5, buffer);
  EXPECT_EQ(RowMatrix(gathered.row(2)), RowMatrix(data->blocks[0].values.view().row(6)));
}

TEST(FeatureRowsTest, ReadsFewerRowsAtOnceWhenTheyAreWide) {
  EXPECT_EQ(AllRows(RowMatrix::Zero(1, 3)).chunk_rows(), 256);
  EXPECT_EQ(AllRows(RowMatrix::Zero(1, 700)).chunk_rows(), 80);
  EXPECT_EQ(AllRows(RowMatrix::Zero(1, 100000)).chunk_rows(), 16);
}

}  // namespace
}  // namespace mercer
