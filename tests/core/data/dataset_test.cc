#include "core/data/table/dataset.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/data/preprocess/prepared_data.h"
#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

Dataset ThreeRows() {
  CsvOptions options;
  options.roles["y"] = ColumnRole::kTarget;
  Dataset dataset = *ReadCsvText("a,c,y\n1,red,no\n2,blue,yes\n3,red,no\n", options);
  FeatureBlock sparse;
  sparse.name = "sparse";
  sparse.is_sparse = true;
  sparse.sparse = {4, {0, 1, 3, 3}, {2, 0, 3}, {7, 8, 9}};
  dataset.blocks.push_back(sparse);
  dataset.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(3, 3))});
  return dataset;
}

std::string ErrorOf(const Dataset& dataset) { return Describe(ValidateDataset(dataset)); }

TEST(DatasetTest, AcceptsASoundDataSet) { EXPECT_EQ(ErrorOf(ThreeRows()), "OK"); }

TEST(DatasetTest, FindsPartsByName) {
  const Dataset dataset = ThreeRows();
  EXPECT_EQ(dataset.FindBlock("sparse")->num_columns(), 4);
  EXPECT_EQ(dataset.FindBlock("none"), nullptr);
  EXPECT_NE(dataset.FindSquare("gram"), nullptr);
  EXPECT_EQ(dataset.FindSquare("sparse"), nullptr);
  EXPECT_EQ(dataset.FindColumn(ColumnRole::kTarget)->schema.name, "y");
  EXPECT_EQ(dataset.FindColumn(ColumnRole::kWeight), nullptr);
}

TEST(DatasetTest, CountsTheBytesOfValues) {
  EXPECT_EQ(ThreeRows().MemoryBytes(), 8u * (6 + 3 + 9 + 3) + 3 * 4 + 4 * 8);
}

TEST(DatasetTest, RefusesNoRows) { EXPECT_EQ(ErrorOf(Dataset()), "BAD_ROW row=1"); }

TEST(DatasetTest, RefusesUnequalRowCounts) {
  Dataset rows = ThreeRows();
  rows.rows = 4;
  EXPECT_EQ(ErrorOf(rows), "BAD_SHAPE");
  Dataset square = ThreeRows();
  square.squares[0].values = SharedMatrix(RowMatrix::Identity(2, 2));
  EXPECT_EQ(ErrorOf(square), "BAD_SHAPE");
  Dataset column = ThreeRows();
  column.role_columns[0].values = Eigen::Vector2d(0, 1);
  EXPECT_EQ(ErrorOf(column), "BAD_SHAPE");
}

TEST(DatasetTest, RefusesEqualNames) {
  Dataset blocks = ThreeRows();
  blocks.blocks[1].name = "features";
  EXPECT_EQ(ErrorOf(blocks), "BAD_HEADER column=features");
  Dataset squares = ThreeRows();
  squares.squares[0].name = "sparse";
  EXPECT_EQ(ErrorOf(squares), "BAD_HEADER column=sparse");
  Dataset columns = ThreeRows();
  columns.blocks[0].columns[1].name = "a";
  EXPECT_EQ(ErrorOf(columns), "BAD_HEADER column=a");
}

TEST(DatasetTest, RefusesInfinitiesWithRowAndColumn) {
  const double infinity = std::numeric_limits<double>::infinity();
  Dataset dense = ThreeRows();
  RowMatrix values = dense.blocks[0].values.view();
  values(2, 0) = -infinity;
  dense.blocks[0].values = SharedMatrix(values);
  EXPECT_EQ(ErrorOf(dense), "BAD_CELL row=3 column=a");
  Dataset sparse = ThreeRows();
  sparse.blocks[1].sparse.values[1] = infinity;
  EXPECT_EQ(ErrorOf(sparse), "BAD_CELL row=2 column=sparse[1]");
  Dataset square = ThreeRows();
  RowMatrix gram = RowMatrix::Identity(3, 3);
  gram(1, 2) = std::nan("");
  square.squares[0].values = SharedMatrix(gram);
  EXPECT_EQ(ErrorOf(square), "BAD_CELL row=2 column=gram[3]");
}

TEST(DatasetTest, RefusesCodesOutsideTheDictionary) {
  for (const double code : {2.0, -1.0, 0.5}) {
    Dataset dataset = ThreeRows();
    RowMatrix values = dataset.blocks[0].values.view();
    values(1, 1) = code;
    dataset.blocks[0].values = SharedMatrix(values);
    EXPECT_EQ(ErrorOf(dataset), "BAD_CELL row=2 column=c") << code;
    Dataset target = ThreeRows();
    target.role_columns[0].values(0) = code;
    EXPECT_EQ(ErrorOf(target), "BAD_CELL row=1 column=y") << code;
  }
}

TEST(DatasetTest, RefusesInconsistentSparseBlocks) {
  const auto error_of = [](SparseRows sparse) {
    Dataset dataset = ThreeRows();
    dataset.blocks[1].sparse = std::move(sparse);
    return GetReason(ValidateDataset(dataset));
  };
  EXPECT_EQ(error_of({4, {0, 1, 3, 3}, {2, 0}, {7, 8, 9}}), "BAD_SHAPE");
  EXPECT_EQ(error_of({4, {0, 2, 1, 3}, {2, 0, 3}, {7, 8, 9}}), "BAD_CELL");
  EXPECT_EQ(error_of({4, {0, 5, 1, 3}, {2, 0, 3}, {7, 8, 9}}), "BAD_SHAPE");
  EXPECT_EQ(error_of({4, {0, 1, 3, 3}, {2, 3, 3}, {7, 8, 9}}), "BAD_CELL");
  EXPECT_EQ(error_of({4, {0, 1, 3, 3}, {2, 0, 4}, {7, 8, 9}}), "BAD_CELL");
  EXPECT_EQ(error_of({4, {0, 1, 3, 3}, {-1, 0, 3}, {7, 8, 9}}), "BAD_CELL");
}

TEST(DatasetTest, SelectsRowsWithRepetition) {
  const Dataset selected = SelectRows(ThreeRows(), {2, 1, 1});
  EXPECT_EQ(ErrorOf(selected), "OK");
  EXPECT_EQ(selected.blocks[0].values.view(), (RowMatrix(3, 2) << 3, 0, 2, 1, 2, 1).finished());
  EXPECT_THAT(selected.blocks[1].sparse.row_starts, ::testing::ElementsAre(0, 0, 2, 4));
  EXPECT_THAT(selected.blocks[1].sparse.column_indices, ::testing::ElementsAre(0, 3, 0, 3));
  EXPECT_EQ(selected.squares[0].values.view(),
            (RowMatrix(3, 3) << 0, 0, 1, 0, 1, 0, 0, 1, 0).finished());
  EXPECT_EQ(selected.role_columns[0].values, Eigen::Vector3d(0, 1, 1));
}

TEST(DatasetTest, SelectsRowsAndSquareColumnsOfPreparedData) {
  PreparedData data;
  data.rows = 3;
  data.cache_key = "key";
  const RowMatrix values = (RowMatrix(3, 3) << 1, 2, 3, 4, 5, 6, 7, 8, 9).finished();
  data.blocks.push_back({"x", {"a", "b", "c"}, SharedMatrix(values)});
  data.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(values)});
  const PreparedData selected = SelectRows(data, {2, 0}, {1});
  EXPECT_EQ(selected.rows, 2);
  EXPECT_EQ(selected.cache_key, "") << "the content is another";
  EXPECT_EQ(selected.FindBlock("x")->values.view(),
            (RowMatrix(2, 3) << 7, 8, 9, 1, 2, 3).finished());
  EXPECT_EQ(selected.FindSquare("gram")->values.view(), (RowMatrix(2, 1) << 8, 2).finished());
  EXPECT_EQ(SelectRows(data, {1}).FindSquare("gram")->values.cols(), 3);
}

}  // namespace
}  // namespace mercer
