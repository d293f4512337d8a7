#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

using ::testing::ElementsAre;

RowMatrix Values(const Dataset& dataset, size_t block = 0) {
  return dataset.blocks[block].values.view();
}

std::vector<std::string> Names(const FeatureBlock& block) {
  std::vector<std::string> names;
  for (const ColumnSchema& column : block.columns) {
    names.push_back(column.name);
  }
  return names;
}

TEST(CsvReaderTest, ReadsNumbersAndNames) {
  const auto dataset = ReadCsvText("a,b\n1,2.5\n-3e2,4\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 2);
  ASSERT_EQ(dataset->blocks.size(), 1u);
  EXPECT_EQ(dataset->blocks[0].name, "features");
  EXPECT_THAT(Names(dataset->blocks[0]), ElementsAre("a", "b"));
  EXPECT_EQ(Values(*dataset), (RowMatrix(2, 2) << 1, 2.5, -300, 4).finished());
  EXPECT_TRUE(ValidateDataset(*dataset).ok());
}

TEST(CsvReaderTest, MatrixIsAlignedForArithmetic) {
  const auto dataset = ReadCsvText("a,b,c\n1,2,3\n");
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(dataset->blocks[0].values.view().data()) % 64, 0u);
}

TEST(CsvReaderTest, AcceptsEveryLineEndAndAByteOrderMark) {
  for (const char* text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n3,4",
                           "\xEF\xBB\xBF"
                           "a,b\r\n1,2\r\n3,4",
                           "a,b\n1,2\n3,4\n\n\n", "a,b\r\n1,2\r\n3,4\r\n\r\n",
                           "a, b \n 1,2\n3 ,\t4\n", "\"a\",\"b\"\n\"1\",\"2\"\n3,4\n"}) {
    const auto dataset = ReadCsvText(text);
    ASSERT_TRUE(dataset.ok()) << text << ": " << dataset.status();
    EXPECT_THAT(Names(dataset->blocks[0]), ElementsAre("a", "b")) << text;
    EXPECT_EQ(Values(*dataset), (RowMatrix(2, 2) << 1, 2, 3, 4).finished()) << text;
  }
}

TEST(CsvReaderTest, ReadsAnyDelimiter) {
  for (const char delimiter : {';', '\t', '|', ' ', ':', '/'}) {
    CsvOptions options;
    options.delimiter = delimiter;
    std::string text = "a,b\n1,2\n3,4\n";
    std::replace(text.begin(), text.end(), ',', delimiter);
    const auto dataset = ReadCsvText(text, options);
    ASSERT_TRUE(dataset.ok()) << delimiter << ": " << dataset.status();
    EXPECT_EQ(Values(*dataset)(1, 1), 4) << delimiter;
  }
}

TEST(CsvReaderTest, RefusesDelimitersThatNumbersContain) {
  for (const char delimiter : {'"', '\n', '\r', '\0', '.', '-', 'e', '3', '\x80'}) {
    CsvOptions options;
    options.delimiter = delimiter;
    EXPECT_EQ(GetReason(ReadCsvText("a\n1\n", options).status()), "BAD_FIELDS")
        << static_cast<int>(delimiter);
  }
}

TEST(CsvReaderTest, NamesColumnsWithoutAHeader) {
  CsvOptions options;
  options.has_header = false;
  options.roles["c2"] = ColumnRole::kTarget;
  const auto dataset = ReadCsvText("1,2,3\n4,5,6\n", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 2);
  EXPECT_THAT(Names(dataset->blocks[0]), ElementsAre("c1", "c3"));
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kTarget)->values, Eigen::Vector2d(2, 5));
}

TEST(CsvReaderTest, UnderstandsQuotes) {
  const auto dataset = ReadCsvText(
      "\"x, \"\"y\"\"\",z\n\"a,b\",1\n\"line\nbreak\",2\n\"say \"\"hi\"\"\",3\n5\" pipe,4\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const FeatureBlock& block = dataset->blocks[0];
  EXPECT_THAT(Names(block), ElementsAre("x, \"y\"", "z"));
  EXPECT_TRUE(block.columns[0].categorical);
  EXPECT_THAT(block.columns[0].categories,
              ElementsAre("a,b", "line\nbreak", "say \"hi\"", "5\" pipe"));
  EXPECT_EQ(Values(*dataset), (RowMatrix(4, 2) << 0, 1, 1, 2, 2, 3, 3, 4).finished());
}

TEST(CsvReaderTest, CodesCategoriesInOrderOfFirstAppearance) {
  const auto dataset = ReadCsvText("color,size\nred,1\nblue,2\nred,3\ngreen,4\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const ColumnSchema& column = dataset->blocks[0].columns[0];
  EXPECT_TRUE(column.categorical);
  EXPECT_FALSE(dataset->blocks[0].columns[1].categorical);
  EXPECT_THAT(column.categories, ElementsAre("red", "blue", "green"));
  EXPECT_EQ(Values(*dataset).col(0), Eigen::Vector4d(0, 1, 0, 2));
}

TEST(CsvReaderTest, StatedTypesWin) {
  CsvOptions options;
  options.categorical = {"a"};
  const auto dataset = ReadCsvText("a,b\n10,1\n20,2\n10,3\n", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->blocks[0].columns[0].categories, ElementsAre("10", "20"));
}

TEST(CsvReaderTest, KeepsRolesAndDropsIgnoredColumns) {
  CsvOptions options;
  options.roles = {{"y", ColumnRole::kTarget}, {"w", ColumnRole::kWeight},
                   {"g", ColumnRole::kGroup},  {"id", ColumnRole::kIgnored},
                   {"t", ColumnRole::kTask},   {"s", ColumnRole::kSplit}};
  const auto dataset =
      ReadCsvText("id,x,y,w,g,t,s\nk1,1,no,0.5,7,u,train\nk2,2,yes,1,8,v,test\n", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Names(dataset->blocks[0]), ElementsAre("x"));
  ASSERT_EQ(dataset->role_columns.size(), 5u);
  EXPECT_THAT(dataset->FindColumn(ColumnRole::kTarget)->schema.categories,
              ElementsAre("no", "yes"));
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kWeight)->values, Eigen::Vector2d(0.5, 1));
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kGroup, "g")->values, Eigen::Vector2d(7, 8));
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kSplit)->schema.name, "s");
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kTask)->schema.name, "t");
  EXPECT_EQ(dataset->FindColumn(ColumnRole::kTarget, "w"), nullptr);
}

TEST(CsvReaderTest, CutsColumnsIntoBlocks) {
  CsvOptions options;
  options.roles["y"] = ColumnRole::kTarget;
  options.blocks = {{"first", {"a..c"}}, {"second", {"f", "d"}}};
  const auto dataset = ReadCsvText("a,b,y,c,d,e,f\n1,2,3,4,5,6,7\n", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->blocks.size(), 3u);
  EXPECT_THAT(Names(*dataset->FindBlock("first")), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names(*dataset->FindBlock("second")), ElementsAre("f", "d"));
  EXPECT_THAT(Names(*dataset->FindBlock("features")), ElementsAre("e"));
  EXPECT_EQ(Values(*dataset, 0), (RowMatrix(1, 3) << 1, 2, 4).finished());
  EXPECT_EQ(Values(*dataset, 1), (RowMatrix(1, 2) << 7, 5).finished());
}

TEST(CsvReaderTest, MissingCellsBecomeNanOnRequest) {
  CsvOptions options;
  options.allow_missing = true;
  const auto dataset = ReadCsvText("a,b\n,x\nNA,?\n3,\n\"\",\"NA\"\n", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const RowMatrix values = Values(*dataset);
  EXPECT_TRUE(std::isnan(values(0, 0)) && std::isnan(values(1, 0)) && std::isnan(values(3, 0)));
  EXPECT_EQ(values(2, 0), 3);
  EXPECT_FALSE(dataset->blocks[0].columns[0].categorical);
  EXPECT_TRUE(std::isnan(values(1, 1)) && std::isnan(values(2, 1)));
  EXPECT_THAT(dataset->blocks[0].columns[1].categories, ElementsAre("x", "NA"))
      << "a quoted mark is text";
}

// Taken for categories, the numbers of such a column would be names that have nothing to do with
// each other.
TEST(CsvReaderTest, MarksBesideNumbersAreMissingNumbersAndBesideNamesNames) {
  CsvOptions options;
  options.allow_missing = true;
  const std::string text = "number,name,mark\n-,-,-\n1.5,red,N/A\nnull,None,-\n2,\"N/A\",-\n";
  const auto read = ReadCsvText(text, options);
  ASSERT_TRUE(read.ok()) << read.status();
  const Dataset& dataset = *read;
  const std::vector<ColumnSchema>& columns = dataset.blocks[0].columns;
  EXPECT_FALSE(columns[0].categorical);
  EXPECT_TRUE(std::isnan(dataset.blocks[0].values.view()(0, 0)));
  EXPECT_TRUE(std::isnan(dataset.blocks[0].values.view()(2, 0)));
  EXPECT_EQ(dataset.blocks[0].values.view()(3, 0), 2.0);
  EXPECT_EQ(columns[1].categories, (std::vector<std::string>{"-", "red", "None", "N/A"}));
  EXPECT_EQ(columns[2].categories, (std::vector<std::string>{"-", "N/A"}));
  options.missing = {"none"};
  options.usual_marks = false;
  EXPECT_EQ(ReadCsvText(text, options).value().blocks[0].columns[0].categories,
            (std::vector<std::string>{"-", "1.5", "null", "2"}));
}

TEST(CsvReaderTest, MissingMarksMayLookLikeNumbers) {
  CsvOptions options;
  options.allow_missing = true;
  options.missing = {"-999"};
  const auto dataset = ReadCsvText("a,b\n-999,1\n2,-99\n", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE(std::isnan(Values(*dataset)(0, 0)));
  EXPECT_EQ(Values(*dataset)(1, 1), -99);
}

TEST(CsvReaderTest, TypesComeFromTheFirstRowsOnly) {
  std::string text = "a,b\n";
  for (Index row = 1; row <= kTypeRows; ++row) {
    text += "1,x\n";
  }
  const auto dataset = ReadCsvText(text + "7,5\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, kTypeRows + 1);
  EXPECT_THAT(dataset->blocks[0].columns[1].categories, ElementsAre("x", "5"));
  const auto refused = ReadCsvText(text + "7,5\nred,x\n");
  EXPECT_EQ(Describe(refused.status()), "BAD_CELL row=1002 column=a remedy=csv.categorical");
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::HasSubstr("declare it categorical"));
}

TEST(CsvReaderTest, ResultDoesNotDependOnTheSizeOfReads) {
  std::string text = "n,s\r\n";
  for (int row = 0; row < 1500; ++row) {
    text += std::to_string(row) + ".25,\"line\n" + std::to_string(row % 7) + "\"\"\"\r\n";
  }
  const auto whole = ReadCsvText(text);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const size_t step : {size_t{1}, size_t{7}, size_t{4096}}) {
    SlowSource source(text, step);
    const auto dataset = ReadCsv(source, {});
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(Encode(*dataset), Encode(*whole)) << "step " << step;
  }
}

TEST(CsvReaderTest, ReadsRecordsLargerThanItsWindow) {
  std::string header = "c1";
  std::string row = "0.5";
  for (int column = 2; column <= 100'000; ++column) {
    header += ",c" + std::to_string(column);
    row += "," + std::to_string(column) + ".125";
  }
  const auto dataset = ReadCsvText(header + "\n" + row + "\n" + row);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 2);
  EXPECT_EQ(Values(*dataset)(1, 99'999), 100'000.125);
}

// A second reader, written in the plainest way.
std::vector<std::vector<double>> ReadNaively(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::vector<double>> rows;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    rows.emplace_back();
    while (std::getline(cells, cell, ',')) {
      rows.back().push_back(std::strtod(cell.c_str(), nullptr));
    }
  }
  return rows;
}

TEST(CsvReaderTest, AgreesWithANaiveReaderBitForBit) {
  RandomStream random(3, "csv-test");
  std::string text = "a,b,c\n";
  for (int row = 0; row < 5000; ++row) {
    char line[160];
    std::snprintf(line, sizeof(line), "%.17g,%.6g,%.3f\n", random.Normal(),
                  std::exp(30 * random.Normal()), 1e5 * random.Normal());
    text += line;
  }
  const auto dataset = ReadCsvText(text);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto naive = ReadNaively(text);
  ASSERT_EQ(dataset->rows, static_cast<Index>(naive.size()));
  const RowMatrix values = Values(*dataset);
  for (Index row = 0; row < dataset->rows; ++row) {
    for (Index column = 0; column < 3; ++column) {
      ASSERT_EQ(values(row, column), naive[static_cast<size_t>(row)][static_cast<size_t>(column)])
          << row << ", " << column;
    }
  }
}

}  // namespace
}  // namespace mercer
