#include "client/cpp/table_rows.h"

#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::client {
namespace {

// The batches of one file; ends with the first error.
struct Batches {
  std::vector<v1::Rows> rows;
  absl::Status status;
};

Batches ReadAll(RowBatches& batches) {
  Batches result;
  while (true) {
    absl::StatusOr<v1::Rows> rows = batches.Next();
    result.status = rows.status();
    if (!rows.ok() || rows->ByteSizeLong() == 0) {
      return result;
    }
    result.rows.push_back(*std::move(rows));
  }
}

Batches ReadCsvText(const std::string& text, const BatchLimits& limits = {},
                    const CsvRowsOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<RowReader>> reader = OpenCsvRows(MakeMemorySource(text), options);
  if (!reader.ok()) {
    return {{}, reader.status()};
  }
  RowBatches batches(limits);
  batches.Add("new.csv", *std::move(reader));
  return ReadAll(batches);
}

Batches ReadSvmlightText(const std::string& text, const BatchLimits& limits = {}) {
  RowBatches batches(limits);
  batches.Add("new.svm", OpenSvmlightRows(MakeMemorySource(text)));
  return ReadAll(batches);
}

std::vector<std::string> Texts(const v1::TypedColumn& column) {
  return {column.texts().values().begin(), column.texts().values().end()};
}

template <typename Number>
std::vector<Number> Numbers(const google::protobuf::RepeatedField<Number>& field) {
  return {field.begin(), field.end()};
}

TEST(CsvRowsTest, CellsTravelAsTextInBatches) {
  const Batches all = ReadCsvText("age,city\n1.0,Rome\n2,\"Paris, Texas\"\nNA,?\n", {.rows = 2});
  ASSERT_TRUE(all.status.ok()) << all.status;
  ASSERT_EQ(all.rows.size(), 2u);
  ASSERT_EQ(all.rows[0].columns_size(), 2);
  EXPECT_EQ(all.rows[0].columns(0).name(), "age");
  EXPECT_EQ(Texts(all.rows[0].columns(0)), (std::vector<std::string>{"1.0", "2"}));
  EXPECT_EQ(Texts(all.rows[0].columns(1)), (std::vector<std::string>{"Rome", "Paris, Texas"}));
  EXPECT_EQ(Texts(all.rows[1].columns(0)), (std::vector<std::string>{""}));
  EXPECT_EQ(Texts(all.rows[1].columns(1)), (std::vector<std::string>{""}));
}

TEST(CsvRowsTest, BatchesAreLimitedByBytesToo) {
  std::string text = "x";
  for (int c = 1; c < 100; ++c) {
    text += ",column " + std::to_string(c);
  }
  text += "\n";
  for (int r = 0; r < 50; ++r) {
    text += std::string(1000, '7');
    for (int c = 1; c < 100; ++c) {
      text += ",1";
    }
    text += "\n";
  }
  const BatchLimits limits{.rows = 1000, .bytes = 20'000};
  const Batches all = ReadCsvText(text, limits);
  ASSERT_TRUE(all.status.ok()) << all.status;
  size_t rows = 0;
  for (const v1::Rows& batch : all.rows) {
    rows += static_cast<size_t>(batch.columns(0).texts().values_size());
    EXPECT_LT(batch.ByteSizeLong(), limits.bytes + 2000);  // at most one row more
  }
  EXPECT_EQ(rows, 50u);
  EXPECT_GE(all.rows.size(), 3u);
  EXPECT_EQ(ReadCsvText(text, {.rows = 1000, .bytes = 1}).rows.size(), 50u);
}

TEST(CsvRowsTest, IgnoredColumnsAreNotSent) {
  const Batches all = ReadCsvText("id;x\n7;1\n", {}, {.delimiter = ';', .ignored = {"id"}});
  ASSERT_EQ(all.rows.size(), 1u);
  ASSERT_EQ(all.rows[0].columns_size(), 1);
  EXPECT_EQ(all.rows[0].columns(0).name(), "x");
}

TEST(CsvRowsTest, TheFirstLineTellsTheDelimiter) {
  EXPECT_EQ(GuessDelimiter("a,b,c"), ',');
  EXPECT_EQ(GuessDelimiter("a;b;c"), ';');
  EXPECT_EQ(GuessDelimiter("a\tb"), '\t');
  EXPECT_EQ(GuessDelimiter("a|b|c,d"), '|');
  EXPECT_EQ(GuessDelimiter("\"a;b;c\",d"), ',');
  EXPECT_EQ(GuessDelimiter("a,b;c"), ',');
  EXPECT_EQ(GuessDelimiter("a"), ',');
  for (const std::string rows : {"id;x\n7;1,5\n", "id|x\r\n7|1,5\r\n", "id\tx\n7\t\"1,5\""}) {
    const Batches all = ReadCsvText(rows, {}, {.delimiter = kGuessDelimiter});
    ASSERT_TRUE(all.status.ok()) << all.status;
    ASSERT_EQ(all.rows.size(), 1u);
    ASSERT_EQ(all.rows[0].columns_size(), 2) << rows;
    EXPECT_EQ(all.rows[0].columns(1).name(), "x");
    EXPECT_EQ(Texts(all.rows[0].columns(1)), std::vector<std::string>{"1,5"});
  }
  EXPECT_EQ(GetReason(ReadCsvText("", {}, {.delimiter = kGuessDelimiter}).status), "BAD_HEADER");
}

// The line that tells it is longer than what is read at a time, and the rows behind it are all there.
TEST(CsvRowsTest, LongFirstLinesTellItToo) {
  std::string text = "x0";
  std::string row = "0";
  for (int i = 1; i < 3000; ++i) {
    text += ";x" + std::to_string(i);
    row += ";" + std::to_string(i);
  }
  const Batches all =
      ReadCsvText(text + "\n" + row + "\n" + row, {}, {.delimiter = kGuessDelimiter});
  ASSERT_TRUE(all.status.ok()) << all.status;
  ASSERT_EQ(all.rows[0].columns_size(), 3000);
  EXPECT_EQ(Texts(all.rows[0].columns(2999)), (std::vector<std::string>{"2999", "2999"}));
}

TEST(CsvRowsTest, WithoutAHeaderTheFirstLineIsARow) {
  const Batches all =
      ReadCsvText("1,\"a,b\"\n2,c\n3,d\n", {.rows = 2}, {.has_header = false, .ignored = {"c1"}});
  ASSERT_TRUE(all.status.ok()) << all.status;
  ASSERT_EQ(all.rows.size(), 2u);
  ASSERT_EQ(all.rows[0].columns_size(), 1);
  EXPECT_EQ(all.rows[0].columns(0).name(), "c2");
  EXPECT_EQ(Texts(all.rows[0].columns(0)), (std::vector<std::string>{"a,b", "c"}));
  EXPECT_EQ(Texts(all.rows[1].columns(0)), (std::vector<std::string>{"d"}));
  EXPECT_EQ(ReadCsvText("1,2\n3\n", {}, {.has_header = false}).status.message(),
            "row 2: has 1 cells, the first row has 2");
  EXPECT_EQ(ReadCsvText("1,\xff\n", {}, {.has_header = false}).status.message(),
            "row 1: is not UTF-8 text without control characters");
  EXPECT_EQ(ReadCsvText("7\n", {}, {.has_header = false}).rows.size(), 1u);
  EXPECT_EQ(GetReason(ReadCsvText("", {}, {.has_header = false}).status), "BAD_HEADER");
  EXPECT_EQ(GetReason(ReadCsvText("\n1\n", {}, {.has_header = false}).status), "BAD_HEADER");
}

TEST(CsvRowsTest, RaggedRowIsNamed) {
  const Batches all = ReadCsvText("a,b\n1,2\n3\n");
  EXPECT_EQ(all.status.message(), "row 2: has 1 cells, the header has 2");
  EXPECT_EQ(GetReason(all.status), "BAD_ROW");
  EXPECT_EQ(ReadCsvText("a,b\n1,2\n3\n", {.rows = 1}).status.message(), all.status.message());
}

TEST(CsvRowsTest, BytesThatAreNoTextAreNamed) {
  EXPECT_EQ(ReadCsvText("a,b\n1,\xff\n").status.message(),
            "row 1: is not UTF-8 text without control characters");
}

TEST(CsvRowsTest, BlankLinesAreAllowedAtTheEndOnly) {
  const Batches trailing = ReadCsvText("a,b\n1,2\n\n\n\n");
  ASSERT_TRUE(trailing.status.ok()) << trailing.status;
  EXPECT_EQ(Texts(trailing.rows.at(0).columns(0)), (std::vector<std::string>{"1"}));
  for (const char* const text : {"a,b\n\n\n1,2\n", "a,b\n1,2\n\n\n3,4\n"}) {
    EXPECT_EQ(GetReason(ReadCsvText(text).status), "BAD_ROW") << text;
  }
}

TEST(CsvRowsTest, EmptyFileIsRefused) {
  EXPECT_EQ(GetReason(ReadCsvText("").status), "BAD_HEADER");
}

TEST(SvmlightRowsTest, ReadsSparseRows) {
  const Batches all = ReadSvmlightText("1 1:0.5 3:2\n# nothing\n\n-1 2:1 # more\n0\n");
  ASSERT_TRUE(all.status.ok()) << all.status;
  ASSERT_EQ(all.rows.size(), 1u);
  const v1::SparseBlock& block = all.rows[0].sparse(0);
  EXPECT_EQ(Numbers(block.row_starts()), (std::vector<int64_t>{0, 2, 3, 3}));
  EXPECT_EQ(Numbers(block.column_indices()), (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(Numbers(block.values()), (std::vector<double>{0.5, 2.0, 1.0}));
}

TEST(SvmlightRowsTest, ComesInBatchesOfRowsOrBytes) {
  const std::string text = "1 1:1 2:2\n\n1 3:3\n1 1:4\n1 9:5\n";
  const Batches two = ReadSvmlightText(text, {.rows = 2});
  ASSERT_EQ(two.rows.size(), 2u);
  EXPECT_EQ(Numbers(two.rows[0].sparse(0).values()), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Numbers(two.rows[1].sparse(0).values()), (std::vector<double>{4, 5}));
  EXPECT_EQ(Numbers(two.rows[1].sparse(0).row_starts()), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(ReadSvmlightText(text, {.bytes = 1}).rows.size(), 4u);
}

TEST(SvmlightRowsTest, ErrorsCountRowsFromTheBeginningOfTheFile) {
  const Batches all = ReadSvmlightText("1 1:1\n1 1:1\n1 1:1\n1 1:x\n", {.rows = 2});
  EXPECT_EQ(all.rows.size(), 1u);
  EXPECT_EQ(GetReason(all.status), "BAD_CELL");
  EXPECT_EQ(all.status.message(), "row 4, column '1': not a number: 'x'");
}

double EntryOf(const v1::Matrix& matrix, size_t position) {
  double value = 0.0;
  std::memcpy(&value, matrix.raw().data() + position * sizeof(double), sizeof(double));
  return value;
}

TEST(SquareRowsTest, StandBesideTheRowsOfATable) {
  RowBatches batches({.rows = 2});
  batches.Add("new.csv", *OpenCsvRows(MakeMemorySource("x\na\nb\nc\n"), {}));
  batches.Add("s.txt", OpenSquareRows("s", MakeMemorySource("1,2\n3,4\n5,6\n"), ','));
  const Batches all = ReadAll(batches);
  ASSERT_TRUE(all.status.ok()) << all.status;
  ASSERT_EQ(all.rows.size(), 2u);
  const v1::Matrix& first = all.rows[0].squares(0).values();
  EXPECT_EQ(all.rows[0].squares(0).name(), "s");
  EXPECT_EQ(first.rows(), 2);
  EXPECT_EQ(first.columns(), 2);
  EXPECT_EQ(EntryOf(first, 1), 2.0);
  EXPECT_EQ(EntryOf(first, 2), 3.0);
  const v1::Matrix& second = all.rows[1].squares(0).values();
  EXPECT_EQ(second.rows(), 1);
  EXPECT_EQ(EntryOf(second, 0), 5.0);
}

TEST(SquareRowsTest, MustHaveAsManyRowsAsTheTable) {
  for (const char* const square : {"1,2\n", "1,2\n3,4\n5,6\n"}) {
    RowBatches batches;
    batches.Add("new.csv", *OpenCsvRows(MakeMemorySource("x\na\nb\n"), {}));
    batches.Add("s.txt", OpenSquareRows("s", MakeMemorySource(square), ','));
    const absl::Status status = ReadAll(batches).status;
    EXPECT_EQ(GetReason(status), "BAD_SHAPE") << status;
    EXPECT_NE(std::string(status.message()).find("'s.txt'"), std::string::npos) << status;
  }
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

// Rows behind a blank line would be lost without a word.
TEST(SquareTextTest, BlankLinesAreAllowedAtTheEndOnly) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{{"1,2\n3,4\n\n\n", ""},
                                                        {"1,2\n\n3,4\n", "row 2: is blank"},
                                                        {"1,2\n\n\n3,4\n", "row 2: is blank"},
                                                        {"\n1,2\n3,4\n", "row 1: is blank"}}) {
    const auto source = MakeMemorySource(text);
    const auto square = ReadSquareText(*source, ',');
    EXPECT_EQ(std::string(square.status().message()), message);
    EXPECT_EQ(square.ok() ? square->rows : 2, 2) << text;
    RowBatches batches;
    batches.Add("s.txt", OpenSquareRows("s", MakeMemorySource(text), ','));
    EXPECT_EQ(ReadAll(batches).status, square.status()) << text;
  }
}

TEST(SquareTextTest, NamesTheRowOfAMistake) {
  const auto ragged = MakeMemorySource("1,2\n3\n");
  EXPECT_EQ(ReadSquareText(*ragged, ',').status().message(),
            "row 2: has 1 numbers, the first row has 2");
  const auto word = MakeMemorySource("1,x\n");
  EXPECT_EQ(ReadSquareText(*word, ',').status().message(), "row 1: column 2: not a number: 'x'");
  const auto long_word = MakeMemorySource("1," + std::string(50, 'x') + "\n");
  EXPECT_EQ(ReadSquareText(*long_word, ',').status().message(),
            "row 1: column 2: not a number: '" + std::string(40, 'x') + "'...");
  const auto open_quote = MakeMemorySource("1,2\n\"3,4\n");
  const absl::Status unclosed = ReadSquareText(*open_quote, ',').status();
  EXPECT_EQ(unclosed.message(), "row 2: a quote is not closed");
  EXPECT_EQ(GetReason(unclosed), "BAD_ROW");
}

// Messages are UTF-8, whatever the file holds.
TEST(SquareTextTest, MistakesThatAreNoTextAreEscaped) {
  const auto bytes = MakeMemorySource("1,\xc3(\x07\n");
  EXPECT_EQ(ReadSquareText(*bytes, ',').status().message(),
            "row 1: column 2: not a number: '\\303(\\007'");
}

}  // namespace
}  // namespace mercer::client
