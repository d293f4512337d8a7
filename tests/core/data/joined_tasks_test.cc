#include "core/data/table/joined_tasks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

constexpr size_t kLimit = size_t{1} << 30;

// A numeric column, a categorical one and a target of two classes.
Dataset MixedData(const std::vector<std::string>& colours, const std::vector<std::string>& labels,
                  const RowMatrix& values, const Vector& targets) {
  Dataset dataset;
  dataset.rows = values.rows();
  FeatureBlock& block = dataset.blocks.emplace_back();
  block.name = "features";
  block.columns = {{"width", false, {}}, {"colour", true, colours}};
  block.values = SharedMatrix(RowMatrix(values));
  dataset.role_columns.push_back({ColumnRole::kTarget, {"label", true, labels}, targets});
  return dataset;
}

absl::StatusOr<Dataset> Join(const Dataset& first, const Dataset& second, size_t limit = kLimit) {
  return JoinTasks({{"a", &first}, {"b", &second}}, limit, RunContext());
}

TEST(JoinedTasksTest, RowsStandBelowEachOtherAndKnowTheirTask) {
  const double missing = std::nan("");
  const Dataset first = MixedData({"red", "blue"}, {"no", "yes"},
                                  RowMatrix{{1, 0}, {2, 1}, {3, missing}}, Vector{{0, 1, 1}});
  Dataset second =
      MixedData({"blue", "green"}, {"yes", "no"}, RowMatrix{{4, 1}, {5, 0}}, Vector{{0, 1}});
  // Columns are found by their names.
  std::swap(second.blocks[0].columns[0], second.blocks[0].columns[1]);
  second.blocks[0].values = SharedMatrix(RowMatrix{{1, 4}, {0, 5}});
  const absl::StatusOr<Dataset> joined = Join(first, second);
  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_TRUE(ValidateDataset(*joined).ok());
  EXPECT_EQ(joined->rows, 5);
  const FeatureBlock& block = joined->blocks[0];
  EXPECT_EQ(block.columns[1].categories, (std::vector<std::string>{"red", "blue", "green"}));
  EXPECT_EQ(Vector(block.values.view().col(0)), (Vector{{1, 2, 3, 4, 5}}));
  EXPECT_TRUE(std::isnan(block.values.view()(2, 1)));
  EXPECT_EQ(block.values.view()(3, 1), 2);
  EXPECT_EQ(block.values.view()(4, 1), 1);
  const RoleColumn& target = *joined->FindColumn(ColumnRole::kTarget);
  EXPECT_EQ(target.schema.categories, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(target.values, (Vector{{0, 1, 1, 1, 0}}));
  const RoleColumn& tasks = *joined->FindColumn(ColumnRole::kTask, kJoinedTaskColumn);
  EXPECT_EQ(tasks.schema.categories, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(tasks.values, (Vector{{0, 0, 0, 1, 1}}));
}

TEST(JoinedTasksTest, SparseRowsAreAsWideAsTheWidest) {
  const auto sparse = [](Index columns, int32_t column, double value) {
    Dataset dataset;
    dataset.rows = 2;
    FeatureBlock& block = dataset.blocks.emplace_back();
    block.name = "features";
    block.is_sparse = true;
    block.sparse = {columns, {0, 1, 1}, {column}, {value}};
    dataset.role_columns.push_back(NumericColumn(ColumnRole::kTarget, "y", Vector{{1, 2}}));
    return dataset;
  };
  const absl::StatusOr<Dataset> joined = Join(sparse(3, 2, 7), sparse(9, 8, 5));
  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_TRUE(ValidateDataset(*joined).ok());
  const SparseRows& rows = joined->blocks[0].sparse;
  EXPECT_EQ(rows.columns, 9);
  EXPECT_EQ(rows.row_starts, (std::vector<int64_t>{0, 1, 1, 2, 2}));
  EXPECT_EQ(rows.column_indices, (std::vector<int32_t>{2, 8}));
  EXPECT_EQ(rows.values, (std::vector<double>{7, 5}));
}

TEST(JoinedTasksTest, WhatDiffersIsNamed) {
  const Dataset first = ClassificationData(6, 3, 2, 1);
  const auto refused = [&](const std::function<void(Dataset&)>& change, const std::string& named) {
    Dataset second = ClassificationData(6, 3, 2, 2);
    change(second);
    const absl::Status status = Join(first, second).status();
    EXPECT_EQ(GetReason(status), "DIFFERENT_COLUMNS") << named;
    EXPECT_NE(status.message().find("task 'b'"), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find(named), absl::string_view::npos) << status;
  };
  refused([](Dataset& data) { data.blocks[0] = NumericBlock(RowMatrix::Ones(6, 2)); }, "'x3'");
  refused([](Dataset& data) { data.blocks[0] = NumericBlock(RowMatrix::Ones(6, 4)); }, "'x4'");
  refused([](Dataset& data) { data.blocks[0].columns[1].name = "other"; }, "'x2'");
  refused(
      [](Dataset& data) {
        data.blocks[0].columns[0] = {"x1", true, {"a", "b", "c", "d", "e"}};
      },
      "'x1' is categorical");
  refused([](Dataset& data) { data.blocks[0].name = "sensor"; }, "'sensor'");
  refused([](Dataset& data) { data.blocks.push_back(NumericBlock(RowMatrix::Ones(6, 1), "more")); },
          "'more'");
  refused([](Dataset& data) { data.role_columns[0].schema.name = "other"; }, "'other'");
  refused([](Dataset& data) { data.role_columns.clear(); }, "'label'");
  refused([](Dataset& data) { data.blocks[0].columns[2].name = "task"; }, "a column 'task'");
  refused(
      [](Dataset& data) {
        data.role_columns.push_back(NumericColumn(ColumnRole::kWeight, "weight", Vector::Ones(6)));
      },
      "weight column 'weight'");
  refused(
      [](Dataset& data) {
        data.role_columns.push_back(NumericColumn(ColumnRole::kTask, "day", Vector::Ones(6)));
      },
      "task column 'day'");
  refused(
      [](Dataset& data) {
        data.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix::Ones(6, 6))});
      },
      "'gram'");
}

TEST(JoinedTasksTest, TheShapeIsThatOfTheRowsWithoutTheirMemory) {
  const Dataset first = ClassificationData(6, 3, 2, 1);
  const Dataset second = ClassificationData(8, 3, 2, 2);
  const absl::StatusOr<Dataset> joined = Join(first, second);
  const absl::StatusOr<Dataset> shape = ShapeOfJoinedTasks({{"a", &first}, {"b", &second}}, kLimit);
  ASSERT_TRUE(joined.ok() && shape.ok());
  EXPECT_EQ(shape->rows, 14);
  EXPECT_EQ(shape->blocks[0].num_columns(), 3);
  EXPECT_EQ(shape->MemoryBytes(), joined->MemoryBytes());
  EXPECT_EQ(shape->role_columns[0].values, joined->role_columns[0].values);
  EXPECT_EQ(GetReason(ShapeOfJoinedTasks({{"a", &first}, {"b", &second}}, 10).status()),
            "JOINED_TASKS_TOO_LARGE");
}

TEST(JoinedTasksTest, ColumnsWithoutNamesAreThoseOfTheSamePlace) {
  Dataset first = ClassificationData(4, 2, 2, 1);
  first.blocks[0].columns.clear();
  Dataset second = first;
  const absl::StatusOr<Dataset> joined = Join(first, second);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(RowMatrix(joined->blocks[0].values.view().bottomRows(4)),
            RowMatrix(first.blocks[0].values.view()));
  second.blocks[0].values = SharedMatrix(RowMatrix::Ones(4, 3));
  EXPECT_EQ(GetReason(Join(first, second).status()), "DIFFERENT_COLUMNS");
}

TEST(JoinedTasksTest, TooLargeTablesAreRefusedBeforeTheyAreMade) {
  const Dataset data = ClassificationData(6, 3, 2, 1);
  EXPECT_EQ(GetReason(Join(data, data, 100).status()), "JOINED_TASKS_TOO_LARGE");
}

}  // namespace
}  // namespace mercer
