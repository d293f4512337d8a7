#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

using ::testing::ElementsAre;

std::string SvmlightErrorOf(const std::string& text, const SvmlightOptions& options = {}) {
  return Describe(ReadSvmlightText(text, options).status());
}

TEST(SvmlightReaderTest, ReadsSparseRows) {
  const auto dataset = ReadSvmlightText("# comment\n+1 1:0.5 9:2\n\n-1 4:1e-3 # trailing\r\n1\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 3);
  const FeatureBlock& block = dataset->blocks[0];
  ASSERT_TRUE(block.is_sparse);
  EXPECT_EQ(block.num_columns(), 9);
  EXPECT_THAT(block.sparse.row_starts, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(block.sparse.column_indices, ElementsAre(0, 8, 3));
  EXPECT_THAT(block.sparse.values, ElementsAre(0.5, 2, 1e-3));
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kTarget, "label")->values, Eigen::Vector3d(1, -1, 1));
  EXPECT_TRUE(ValidateDataset(*dataset).ok());
}

TEST(SvmlightReaderTest, StoresWellFilledRowsDense) {
  const auto dataset = ReadSvmlightText("1 1:1 2:2\n0 2:3 3:4\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_FALSE(dataset->blocks[0].is_sparse);
  EXPECT_EQ(dataset->blocks[0].values.view(), (RowMatrix(2, 3) << 1, 2, 0, 0, 3, 4).finished());
  EXPECT_EQ(dataset->blocks[0].columns[2].name, "3");
  EXPECT_TRUE(ValidateDataset(*dataset).ok());
}

TEST(SvmlightReaderTest, AQuarterOfTheCellsIsDense) {
  EXPECT_FALSE(ReadSvmlightText("1 4:1\n")->blocks[0].is_sparse);
  EXPECT_TRUE(ReadSvmlightText("1 5:1\n")->blocks[0].is_sparse);
}

TEST(SvmlightReaderTest, DropsExplicitZerosButCountsTheirColumns) {
  const auto dataset = ReadSvmlightText("1 1:1 10:0\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->blocks[0].num_columns(), 10);
  EXPECT_EQ(dataset->blocks[0].sparse.values.size(), 1u);
}

TEST(SvmlightReaderTest, QueriesBecomeTheGroupColumn) {
  const auto dataset = ReadSvmlightText("3 qid:1 1:1\n2 qid:1 1:2\n1 qid:7 1:3\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kGroup)->values, Eigen::Vector3d(1, 1, 7));
  EXPECT_EQ(SvmlightErrorOf("3 qid:1 1:1\n2 1:2\n"), "BAD_ROW row=2");
  EXPECT_EQ(SvmlightErrorOf("3 1:1\n2 qid:1 1:2\n"), "BAD_ROW row=2");
  EXPECT_EQ(SvmlightErrorOf("3 qid:x 1:1\n"), "BAD_CELL row=1 column=qid");
}

TEST(SvmlightReaderTest, StatedNumberOfColumns) {
  SvmlightOptions options;
  options.num_columns = 5;
  EXPECT_EQ(ReadSvmlightText("1 2:1\n", options)->blocks[0].num_columns(), 5);
  EXPECT_EQ(SvmlightErrorOf("1 2:1\n1 6:1\n", options), "BAD_CELL row=2 column=6");
  options.num_columns = -1;
  EXPECT_FALSE(ReadSvmlightText("1 2:1\n", options).ok());
}

TEST(SvmlightReaderTest, RefusesBadIndices) {
  EXPECT_EQ(SvmlightErrorOf("1 0:1\n"), "BAD_CELL row=1 column=0");
  EXPECT_EQ(SvmlightErrorOf("1 -3:1\n"), "BAD_CELL row=1 column=-3");
  EXPECT_EQ(SvmlightErrorOf("1 1:1\n1 2:1 2:3\n"), "BAD_CELL row=2 column=2");
  EXPECT_EQ(SvmlightErrorOf("1 5:1 2:3\n"), "BAD_CELL row=1 column=2");
  EXPECT_EQ(SvmlightErrorOf("1 1:1\n1 33554433:1\n"), "BAD_CELL row=2 column=33554433");
  EXPECT_EQ(SvmlightErrorOf("1 2147483647:1\n"), "BAD_CELL row=1 column=2147483647");
  EXPECT_EQ(SvmlightErrorOf("1 99999999999999999999:1\n"),
            "BAD_CELL row=1 column=99999999999999999999");
}

TEST(SvmlightReaderTest, ReadsTheLargestIndexAndLongSteps) {
  const auto dataset = ReadSvmlightText("1 1:1 128:2 129:3 16512:4 33554432:5\n0 33554432:6\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const SparseRows& sparse = dataset->blocks[0].sparse;
  EXPECT_EQ(sparse.columns, 33554432);
  EXPECT_THAT(sparse.column_indices, ElementsAre(0, 127, 128, 16511, 33554431, 33554431));
  EXPECT_THAT(sparse.row_starts, ElementsAre(0, 5, 6));
  EXPECT_THAT(sparse.values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(SvmlightReaderTest, RowsWithoutEntriesHaveNoColumns) {
  const auto dataset = ReadSvmlightText("1\n0\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 2);
  EXPECT_EQ(dataset->blocks[0].num_columns(), 0);
}

TEST(SvmlightReaderTest, RefusesBadText) {
  EXPECT_EQ(SvmlightErrorOf(""), "BAD_ROW row=1");
  EXPECT_EQ(SvmlightErrorOf("# nothing\n"), "BAD_ROW row=1");
  EXPECT_EQ(SvmlightErrorOf("yes 1:1\n"), "BAD_CELL row=1 column=label");
  EXPECT_EQ(SvmlightErrorOf("inf 1:1\n"), "BAD_CELL row=1 column=label");
  EXPECT_EQ(SvmlightErrorOf("1 1:1\n1 3:x\n"), "BAD_CELL row=2 column=3");
  EXPECT_EQ(SvmlightErrorOf("1 3:\n"), "BAD_CELL row=1 column=3");
  EXPECT_EQ(SvmlightErrorOf("1 3:1e999\n"), "BAD_CELL row=1 column=3");
  EXPECT_EQ(SvmlightErrorOf("1 3:nan\n"), "BAD_CELL row=1 column=3");
  EXPECT_EQ(SvmlightErrorOf("1 3\n"), "BAD_ROW row=1");
  EXPECT_EQ(SvmlightErrorOf("1 a:3\n"), "BAD_ROW row=1");
  EXPECT_EQ(SvmlightErrorOf(std::string("1 1:1\n\0\0:\x01\n", 12)), "BAD_CELL row=2 column=label");
}

TEST(SvmlightReaderTest, AgreesWithTheMatrixItWasWrittenFrom) {
  RandomStream random(5, "svmlight-test");
  const Index rows = 3000;
  const Index columns = 40;
  for (const double density : {0.05, 0.6}) {
    RowMatrix matrix = RowMatrix::Zero(rows, columns);
    std::string text;
    for (Index row = 0; row < rows; ++row) {
      text += std::to_string(row % 3);
      for (Index column = 0; column < columns; ++column) {
        if (random.Uniform() < density || (row == 0 && column == columns - 1)) {
          matrix(row, column) = static_cast<double>(random.Below(1000)) / 8;
          text += " " + std::to_string(column + 1) + ":" + std::to_string(matrix(row, column));
        }
      }
      text += "\n";
    }
    const auto dataset = ReadSvmlightText(text);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const FeatureBlock& block = dataset->blocks[0];
    EXPECT_EQ(block.is_sparse, density < 0.25);
    RowMatrix read = RowMatrix::Zero(rows, columns);
    for (Index row = 0; row < rows && block.is_sparse; ++row) {
      const auto i = static_cast<size_t>(row);
      for (auto entry = block.sparse.row_starts[i]; entry < block.sparse.row_starts[i + 1];
           ++entry) {
        read(row, block.sparse.column_indices[static_cast<size_t>(entry)]) =
            block.sparse.values[static_cast<size_t>(entry)];
      }
    }
    EXPECT_TRUE(matrix == (block.is_sparse ? read : RowMatrix(block.values.view())))
        << "density " << density;
  }
}

}  // namespace
}  // namespace mercer
