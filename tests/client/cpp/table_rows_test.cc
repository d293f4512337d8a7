#include "client/cpp/table_rows.h"

#include <cstring>

#include <gtest/gtest.h>

#include "core/base/errors.h"

namespace mercer::client {
namespace {

absl::StatusOr<CsvRows> OpenText(const std::string& text, const RowsOptions& options = {}) {
  return CsvRows::Open(MakeMemorySource(text), options);
}

std::vector<std::string> Texts(const v1::TypedColumn& column) {
  return {column.texts().values().begin(), column.texts().values().end()};
}

TEST(CsvRowsTest, CellsTravelAsTextInBatches) {
  auto rows = OpenText("age,city\n1.0,Rome\n2,\"Paris, Texas\"\nNA,?\n", {.batch_rows = 2});
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto first = rows->Next();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->columns_size(), 2);
  EXPECT_EQ(first->columns(0).name(), "age");
  EXPECT_EQ(Texts(first->columns(0)), (std::vector<std::string>{"1.0", "2"}));
  EXPECT_EQ(Texts(first->columns(1)), (std::vector<std::string>{"Rome", "Paris, Texas"}));
  const auto second = rows->Next();
  EXPECT_EQ(Texts(second->columns(0)), (std::vector<std::string>{""}));
  EXPECT_EQ(Texts(second->columns(1)), (std::vector<std::string>{""}));
  EXPECT_EQ(rows->rows(), 3);
  EXPECT_EQ(rows->Next()->columns_size(), 0);
}

TEST(CsvRowsTest, IgnoredColumnsAreNotSent) {
  auto rows = OpenText("id;x\n7;1\n", {.delimiter = ';', .ignored = {"id"}});
  const auto batch = rows->Next();
  ASSERT_EQ(batch->columns_size(), 1);
  EXPECT_EQ(batch->columns(0).name(), "x");
}

TEST(CsvRowsTest, RaggedRowIsNamed) {
  auto rows = OpenText("a,b\n1,2\n3\n");
  const auto batch = rows->Next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().message(), "row 2: has 1 cells, the header has 2");
  EXPECT_EQ(GetReason(batch.status()), "BAD_ROW");
}

TEST(CsvRowsTest, BlankLinesAreAllowedAtTheEndOnly) {
  auto trailing = OpenText("a,b\n1,2\n\n\n\n");
  EXPECT_EQ(Texts(trailing->Next()->columns(0)), (std::vector<std::string>{"1"}));
  for (const char* const text : {"a,b\n\n\n1,2\n", "a,b\n1,2\n\n\n3,4\n"}) {
    auto rows = OpenText(text);
    EXPECT_EQ(GetReason(rows->Next().status()), "BAD_ROW") << text;
  }
}

TEST(CsvRowsTest, EmptyFileIsRefused) { EXPECT_EQ(GetReason(OpenText("").status()), "BAD_HEADER"); }

TEST(SvmlightRowsTest, ReadsSparseRows) {
  const auto source = MakeMemorySource("1 1:0.5 3:2\n-1 2:1\n");
  const auto rows = ReadSvmlightRows(*source);
  ASSERT_TRUE(rows.ok()) << rows.status();
  const v1::SparseBlock& block = rows->sparse(0);
  EXPECT_EQ(std::vector<int64_t>(block.row_starts().begin(), block.row_starts().end()),
            (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(std::vector<int32_t>(block.column_indices().begin(), block.column_indices().end()),
            (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(block.values(1), 2.0);
}

TEST(SquareTextTest, ReadsNumbersRowByRow) {
  const auto source = MakeMemorySource("1,0.5\n0.5,1\n");
  const auto square = ReadSquareText(*source, ',');
  ASSERT_TRUE(square.ok()) << square.status();
  EXPECT_EQ(square->rows, 2);
  EXPECT_EQ(square->columns, 2);
  double values[4];
  ASSERT_EQ(square->bytes.size(), sizeof(values));
  std::memcpy(values, square->bytes.data(), sizeof(values));
  EXPECT_EQ(values[1], 0.5);
  EXPECT_EQ(values[3], 1.0);
}

TEST(SquareTextTest, NamesTheRowOfAMistake) {
  const auto ragged = MakeMemorySource("1,2\n3\n");
  EXPECT_EQ(ReadSquareText(*ragged, ',').status().message(),
            "row 2: has 1 numbers, the first row has 2");
  const auto word = MakeMemorySource("1,x\n");
  EXPECT_EQ(ReadSquareText(*word, ',').status().message(), "row 1: column 2: not a number: 'x'");
}

}  // namespace
}  // namespace mercer::client
