// Against a description of the same in words, cell by cell, on random data full of oddities.
#include "core/io/quality/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/io/quality/quality_scan.h"

namespace mercer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

DataQuality Assess(const Dataset& dataset) {
  const auto quality = AssessQuality(dataset, [] { return false; });
  EXPECT_TRUE(quality.ok()) << quality.status();
  return quality.value_or(DataQuality());
}

FeatureBlock DenseBlock(const std::string& name, const RowMatrix& values) {
  FeatureBlock block;
  block.name = name;
  block.columns.resize(static_cast<size_t>(values.cols()));
  for (Index c = 0; c < values.cols(); ++c) {
    block.columns[static_cast<size_t>(c)].name = name + std::to_string(c);
  }
  block.values = SharedMatrix(values);
  return block;
}

// Stores what is not zero, and now and then a zero.
FeatureBlock SparseBlock(const std::string& name, const RowMatrix& values) {
  FeatureBlock block;
  block.name = name;
  block.is_sparse = true;
  block.sparse.columns = values.cols();
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      if (values(r, c) != 0 || (r + c) % 5 == 0) {
        block.sparse.column_indices.push_back(static_cast<int32_t>(c));
        block.sparse.values.push_back(values(r, c));
      }
    }
    block.sparse.row_starts.push_back(static_cast<int64_t>(block.sparse.values.size()));
  }
  return block;
}

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool SameColumn(const Vector& a, const Vector& b) {
  for (Index r = 0; r < a.size(); ++r) {
    if (!Same(a(r), b(r))) {
      return false;
    }
  }
  return true;
}

std::map<double, int64_t> CountKnown(const Vector& column) {
  std::map<double, int64_t> counts;
  for (Index r = 0; r < column.size(); ++r) {
    if (!std::isnan(column(r))) {
      ++counts[column(r)];
    }
  }
  return counts;
}

// One value in each class, and not the same in all.
bool IsByClass(const Vector& column, const Vector& target) {
  for (Index r = 0; r < column.size(); ++r) {
    for (Index s = 0; s < r; ++s) {
      if (Same(target(r), target(s)) && !Same(column(r), column(s))) {
        return false;
      }
    }
  }
  return CountKnown(column).size() > 1;
}

// What the test expects of the feature columns of one block.
struct Expected {
  std::vector<Index> missing, constant, nearly, leaks, equal, equal_to;
};

Expected ExpectedOf(const RowMatrix& values, const Vector& target) {
  Expected expected;
  for (Index c = 0; c < values.cols(); ++c) {
    const Vector column = values.col(c);
    const auto counts = CountKnown(column);
    int64_t known = 0;
    int64_t most = 0;
    for (const auto& [value, count] : counts) {
      known += count;
      most = std::max(most, count);
    }
    if (known < column.size()) {
      expected.missing.push_back(c);
    }
    if (counts.size() < 2) {
      expected.constant.push_back(c);
      continue;
    }
    if ((known - most) * 100 < known) {
      expected.nearly.push_back(c);
    }
    if (IsByClass(column, target) || SameColumn(column, target)) {
      expected.leaks.push_back(c);
    }
    for (Index earlier = 0; earlier < c; ++earlier) {
      if (SameColumn(column, values.col(earlier))) {
        expected.equal.push_back(c);
        expected.equal_to.push_back(earlier);
        break;
      }
    }
  }
  return expected;
}

Expected FoundIn(const DataQuality& quality, Index block) {
  Expected found;
  for (const auto& entry : quality.missing) {
    if (entry.column.block == block) {
      found.missing.push_back(entry.column.column);
    }
  }
  for (const ColumnPlace& place : quality.constant) {
    if (place.block == block) {
      found.constant.push_back(place.column);
    }
  }
  for (const auto& entry : quality.nearly_constant) {
    if (entry.column.block == block) {
      found.nearly.push_back(entry.column.column);
    }
  }
  for (const auto& entry : quality.leaks) {
    if (entry.column.block == block) {
      found.leaks.push_back(entry.column.column);
    }
  }
  for (const auto& entry : quality.equal_columns) {
    if (entry.column.block == block) {
      found.equal.push_back(entry.column.column);
      found.equal_to.push_back(entry.equal_to.column);
    }
  }
  return found;
}

// Few values, copies of columns, rows and the target, a class that shows through.
RowMatrix OddValues(RandomStream& random, const Vector& target, Index columns) {
  const Index rows = target.size();
  RowMatrix values(rows, columns);
  for (Index c = 0; c < columns; ++c) {
    const uint64_t kind = random.Below(8);
    const double other = static_cast<double>(random.Below(3));
    for (Index r = 0; r < rows; ++r) {
      const double small = static_cast<double>(random.Below(3));
      values(r, c) = kind == 0                            ? other
                     : kind == 1                          ? (r == 7 ? 5.0 : other)
                     : kind == 2                          ? target(r)
                     : kind == 3                          ? (target(r) == 0 ? 0.0 : -other - 1)
                     : kind == 4 && c > 0                 ? values(r, c - 1)
                     : kind == 5 && random.Below(50) == 0 ? kNaN
                                                          : small;
    }
  }
  return values;
}

void ExpectSame(const Expected& found, const Expected& expected) {
  EXPECT_EQ(found.missing, expected.missing);
  EXPECT_EQ(found.constant, expected.constant);
  EXPECT_EQ(found.nearly, expected.nearly);
  EXPECT_EQ(found.leaks, expected.leaks);
  EXPECT_EQ(found.equal, expected.equal);
  EXPECT_EQ(found.equal_to, expected.equal_to);
}

class QualityOnRandomData : public testing::TestWithParam<int> {};

TEST_P(QualityOnRandomData, FindsWhatTheDefinitionsSay) {
  RandomStream random(static_cast<uint64_t>(GetParam()), "quality-test");
  const Index rows = 150;
  Vector target(rows);
  for (Index r = 0; r < rows; ++r) {
    target(r) = static_cast<double>(random.Below(2));
  }
  RowMatrix dense = OddValues(random, target, 12);
  RowMatrix sparse = OddValues(random, target, 9);
  for (int copy = 0; copy < 6; ++copy) {
    const auto from = static_cast<Index>(random.Below(rows));
    const auto to = static_cast<Index>(random.Below(rows));
    dense.row(to) = dense.row(from);
    sparse.row(to) = sparse.row(from);
  }
  Dataset dataset;
  dataset.rows = rows;
  dataset.blocks = {DenseBlock("d", dense), SparseBlock("s", sparse)};
  dataset.role_columns = {{ColumnRole::kTarget, {"y", false, {}}, target}};
  ASSERT_TRUE(ValidateDataset(dataset).ok());
  const DataQuality quality = Assess(dataset);
  ExpectSame(FoundIn(quality, 0), ExpectedOf(dense, target));
  ExpectSame(FoundIn(quality, 1), ExpectedOf(sparse, target));
  std::vector<int64_t> duplicates;
  std::vector<int64_t> first_rows;
  int64_t conflicting = 0;
  for (Index r = 0; r < rows; ++r) {
    for (Index s = 0; s < r; ++s) {
      if (SameColumn(dense.row(r).transpose(), dense.row(s).transpose()) &&
          SameColumn(sparse.row(r).transpose(), sparse.row(s).transpose())) {
        duplicates.push_back(r + 1);
        first_rows.push_back(s + 1);
        conflicting += target(r) != target(s) ? 1 : 0;
        break;
      }
    }
  }
  std::vector<int64_t> found;
  std::vector<int64_t> found_first;
  for (const auto& entry : quality.duplicate_rows) {
    found.push_back(entry.row);
    found_first.push_back(entry.equal_to);
  }
  EXPECT_EQ(quality.num_duplicate_rows, static_cast<int64_t>(duplicates.size()));
  duplicates.resize(std::min(duplicates.size(), DataQuality::kMaxListed));
  first_rows.resize(duplicates.size());
  EXPECT_EQ(found, duplicates);
  EXPECT_EQ(found_first, first_rows);
  EXPECT_EQ(quality.num_conflicting_rows, conflicting);
}

INSTANTIATE_TEST_SUITE_P(Seeds, QualityOnRandomData, testing::Range(1, 41));

TEST(QualityTest, MissingCellsAreCountedWithTheirFirstRows) {
  RowMatrix values = RowMatrix::Random(30, 2);
  for (Index r = 3; r < 18; ++r) {
    values(r, 1) = kNaN;
  }
  Dataset dataset;
  dataset.rows = 30;
  dataset.blocks = {DenseBlock("x", values)};
  Vector weights = Vector::Ones(30);
  weights(29) = 2;
  dataset.role_columns = {{ColumnRole::kWeight, {"w", false, {}}, weights}};
  const DataQuality quality = Assess(dataset);
  EXPECT_EQ(quality.num_missing_cells, 15);
  ASSERT_EQ(quality.missing.size(), 1u);
  EXPECT_EQ(quality.missing[0].column, (ColumnPlace{0, 1}));
  EXPECT_EQ(quality.missing[0].count, 15);
  EXPECT_THAT(quality.missing[0].rows, ElementsAre(4, 5, 6, 7, 8, 9, 10, 11, 12, 13));
  EXPECT_THAT(quality.constant, IsEmpty());
  EXPECT_FALSE(quality.scales.has_value());
}

TEST(QualityTest, ListsHaveABoundAndCountsHaveNone) {
  const Index columns = 250;
  const RowMatrix values = RowMatrix::Constant(300, columns, 7);
  Dataset dataset;
  dataset.rows = 300;
  dataset.blocks = {DenseBlock("x", values)};
  const DataQuality quality = Assess(dataset);
  EXPECT_EQ(quality.num_constant, columns);
  ASSERT_EQ(quality.constant.size(), DataQuality::kMaxListed);
  EXPECT_EQ(quality.constant[99], (ColumnPlace{0, 99}));
  EXPECT_EQ(quality.num_equal_columns, 0) << "constant columns are said to be that";
  EXPECT_EQ(quality.num_duplicate_rows, 299);
  ASSERT_EQ(quality.duplicate_rows.size(), DataQuality::kMaxListed);
  EXPECT_EQ(quality.duplicate_rows[0].row, 2);
  EXPECT_EQ(quality.duplicate_rows[99].row, 101);
}

TEST(QualityTest, CategoriesMakeColumnsDifferent) {
  RowMatrix values(3, 4);
  values << 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0;
  Dataset dataset;
  dataset.rows = 3;
  dataset.blocks = {DenseBlock("x", values)};
  for (const int c : {1, 2, 3}) {
    ColumnSchema& schema = dataset.blocks[0].columns[static_cast<size_t>(c)];
    schema.categorical = true;
    schema.categories = c == 2 ? std::vector<std::string>{"left", "right"}
                               : std::vector<std::string>{"red", "blue"};
  }
  const DataQuality quality = Assess(dataset);
  ASSERT_EQ(quality.equal_columns.size(), 1u);
  EXPECT_EQ(quality.equal_columns[0].column, (ColumnPlace{0, 3}));
  EXPECT_EQ(quality.equal_columns[0].equal_to, (ColumnPlace{0, 1}));
}

TEST(QualityTest, CopyOfANumericTargetIsFoundWhateverItsValues) {
  RowMatrix values = RowMatrix::Random(200, 3);
  const Vector target = values.col(1);
  Dataset dataset;
  dataset.rows = 200;
  dataset.blocks = {DenseBlock("x", values)};
  dataset.role_columns = {{ColumnRole::kTarget, {"y", false, {}}, target}};
  const DataQuality quality = Assess(dataset);
  ASSERT_EQ(quality.leaks.size(), 1u);
  EXPECT_EQ(quality.leaks[0].column, (ColumnPlace{0, 1}));
  EXPECT_TRUE(quality.leaks[0].equal);
}

TEST(QualityTest, WideScalesNameTheirColumns) {
  RowMatrix values(3, 3);
  values << 1, 0.001, 10, 2, 0.002, 5000, 3, 0.003, 30;
  Dataset dataset;
  dataset.rows = 3;
  dataset.blocks = {DenseBlock("x", values)};
  const DataQuality quality = Assess(dataset);
  ASSERT_TRUE(quality.scales.has_value());
  EXPECT_EQ(quality.scales->first.column, (ColumnPlace{0, 1}));
  EXPECT_NEAR(quality.scales->first.range, 0.002, 1e-15);
  EXPECT_EQ(quality.scales->second.column, (ColumnPlace{0, 2}));
  EXPECT_EQ(quality.scales->second.range, 4990);
}

TEST(QualityTest, IdentifiersAndTextsThatAreNoCategoriesAreListed) {
  RowMatrix values = RowMatrix::Zero(30, 5);
  for (Index row = 0; row < 30; ++row) {
    values.row(row) << 0.5 * static_cast<double>(row % 7), 100.0 + static_cast<double>(row),
        static_cast<double>(row), static_cast<double>(row % 3), static_cast<double>(row);
  }
  Dataset dataset;
  dataset.rows = 30;
  dataset.blocks = {DenseBlock("x", values)};
  std::vector<ColumnSchema>& columns = dataset.blocks[0].columns;
  columns[2].categorical = true;  // dates, each in one row
  for (int day = 1; day <= 30; ++day) {
    columns[2].categories.push_back("2024-06-" + std::to_string(day + 100).substr(1));
  }
  columns[3].categorical = true;
  columns[3].categories = {"red", "green", "blue"};
  columns[4].categorical = true;
  for (int row = 0; row < 30; ++row) {
    columns[4].categories.push_back("what customer " + std::to_string(row) + " wrote");
  }
  const ColumnSchema commas{"y", true, {"1,5", "2,5", "3,5"}};
  dataset.role_columns = {{ColumnRole::kGroup, commas, values.col(3)},
                          {ColumnRole::kTarget, commas, values.col(3)}};
  const DataQuality quality = Assess(dataset);
  EXPECT_EQ(quality.num_identifiers, 1);
  EXPECT_THAT(quality.identifiers, ElementsAre(ColumnPlace{0, 1}));
  EXPECT_EQ(quality.num_text_columns, 3);
  ASSERT_EQ(quality.text_columns.size(), 3u);
  EXPECT_EQ(quality.text_columns[0].column, (ColumnPlace{0, 2}));
  EXPECT_EQ(quality.text_columns[0].kind, TextKind::kDates);
  EXPECT_EQ(quality.text_columns[1].column, (ColumnPlace{0, 4}));
  EXPECT_EQ(quality.text_columns[1].kind, TextKind::kSentences);
  EXPECT_EQ(quality.text_columns[2].column, (ColumnPlace{kRoleColumns, 1}));
  EXPECT_EQ(quality.text_columns[2].kind, TextKind::kNumbersWithComma);
}

TEST(QualityTest, EndsSoonAfterItIsCancelled) {
  Dataset dataset;
  dataset.rows = 2'000'000;
  dataset.blocks = {DenseBlock("x", RowMatrix::Zero(2'000'000, 2))};
  int asked = 0;
  const auto quality = AssessQuality(dataset, [&] { return ++asked > 3; });
  EXPECT_EQ(quality.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 4) << "it goes on after the fourth";
  // Also within the last step, among rows that are all alike.
  quality::Scan scan;
  scan.row_hashes.assign(2'000'000, 1);
  DataQuality found;
  asked = 0;
  const absl::Status late = quality::FindDuplicateRows(
      dataset, scan, [&] { return ++asked > 3; }, found);
  EXPECT_EQ(late.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 4) << "it goes on after the fourth";
}

}  // namespace
}  // namespace mercer
