#include "core/io/quality/dense_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace mercer::quality {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Few different values, so that columns have majorities, zeros of both signs and missing cells.
RowMatrix RandomTable(Index rows, Index columns, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<double> values = {0.0, -0.0, 1.0, 1.0, -2.5, 3e300, 1e-310, kNaN};
  RowMatrix table(rows, columns);
  for (Index i = 0; i < table.size(); ++i) {
    table.data()[i] = random() % 3 == 0 ? std::ldexp(static_cast<double>(random()), -20)
                                        : values[random() % values.size()];
  }
  return table;
}

void ExpectSame(const ColumnScan& a, const ColumnScan& b, Index column) {
  EXPECT_EQ(a.missing, b.missing) << column;
  EXPECT_EQ(a.missing_rows, b.missing_rows) << column;
  EXPECT_EQ(a.nonzeros, b.nonzeros) << column;
  EXPECT_EQ(a.candidate, b.candidate) << column;
  EXPECT_EQ(a.votes, b.votes) << column;
  EXPECT_EQ(a.min, b.min) << column;
  EXPECT_EQ(a.max, b.max) << column;
  EXPECT_EQ(a.sum, b.sum) << column;
  EXPECT_EQ(a.hash, b.hash) << column;
}

class DenseScanTest : public testing::TestWithParam<int> {};

TEST_P(DenseScanTest, SaysTheSameAsAVisitOfEveryCellHoweverRowsAreCut) {
  const auto seed = static_cast<unsigned>(GetParam());
  const Index width = 1 + GetParam() % 35;
  const Index stride = width + GetParam() % 3;
  const Index first_place = GetParam() % 4;
  const RowMatrix table = RandomTable(300, stride, seed);
  std::vector<ColumnScan> expected(static_cast<size_t>(width));
  std::vector<uint64_t> expected_rows(300, 7);
  for (Index row = 0; row < 300; ++row) {
    for (Index c = 0; c < width; ++c) {
      const auto position = static_cast<size_t>(c);
      expected[position].Visit(row, table(row, c));
      expected[position].hash += CellHash(table(row, c), KeyOfPlace(row));
      expected_rows[static_cast<size_t>(row)] +=
          CellHash(table(row, c), KeyOfPlace(first_place + c));
    }
  }
  DenseScan scan(width, first_place);
  std::vector<uint64_t> rows(300, 7);
  std::mt19937 random(seed);
  for (Index row = 0; row < 300;) {
    const Index count = std::min<Index>(300 - row, 1 + static_cast<Index>(random() % 150));
    scan.Add(table.data() + row * stride, count, stride, &rows[static_cast<size_t>(row)]);
    row += count;
  }
  EXPECT_EQ(rows, expected_rows);
  for (Index c = 0; c < width; ++c) {
    ExpectSame(scan.columns()[static_cast<size_t>(c)], expected[static_cast<size_t>(c)], c);
  }
}

TEST_P(DenseScanTest, AddsTheSquaresOfKnownValuesInTheOrderOfTheRows) {
  const Index width = 1 + GetParam() % 35;
  const RowMatrix table = RandomTable(50, width + 1, static_cast<unsigned>(GetParam()));
  std::vector<double> means;
  std::vector<double> squares(static_cast<size_t>(width), 0.5);
  for (Index c = 0; c < width; ++c) {
    means.push_back(static_cast<double>(c) / 3);
  }
  AddSquares(table.data(), 50, width + 1, means, squares);
  for (Index c = 0; c < width; ++c) {
    double sum = 0.5;
    for (Index row = 0; row < 50; ++row) {
      const double distance = table(row, c) - means[static_cast<size_t>(c)];
      sum += std::isnan(distance) ? 0 : distance * distance;
    }
    EXPECT_EQ(squares[static_cast<size_t>(c)], sum) << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DenseScanTest, testing::Range(0, 70));

TEST(CellHashTest, ZerosOfBothSignsAreNothingAndAllMissingValuesAlike) {
  const PlaceKey key = KeyOfPlace(5);
  EXPECT_EQ(CellHash(0.0, key), 0u);
  EXPECT_EQ(CellHash(-0.0, key), 0u);
  EXPECT_EQ(CellHash(kNaN, key), CellHash(-kNaN, key));
  EXPECT_NE(CellHash(kNaN, key), 0u);
  EXPECT_NE(CellHash(1.0, key), CellHash(1.0, KeyOfPlace(6)));
}

}  // namespace
}  // namespace mercer::quality
