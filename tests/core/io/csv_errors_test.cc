#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const std::string& text, const CsvOptions& options = {}) {
  const auto dataset = ReadCsvText(text, options);
  EXPECT_TRUE(dataset.ok() || dataset.status().code() == absl::StatusCode::kInvalidArgument)
      << dataset.status();
  return Describe(dataset.status());
}

TEST(CsvErrorsTest, EmptyFile) {
  EXPECT_EQ(ErrorOf(""), "BAD_HEADER");
  EXPECT_EQ(ErrorOf("\n1,2\n"), "BAD_HEADER");
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBF"), "BAD_HEADER");
}

TEST(CsvErrorsTest, HeaderWithoutRows) {
  EXPECT_EQ(ErrorOf("a,b\n"), "NO_ROWS");
  EXPECT_EQ(ErrorOf("a,b"), "NO_ROWS");
  EXPECT_EQ(ErrorOf("a,b\n\n\n"), "NO_ROWS");
}

TEST(CsvErrorsTest, DuplicateOrEmptyColumnNames) {
  EXPECT_EQ(ErrorOf("a,b,a\n1,2,3\n"), "BAD_HEADER column=a remedy=csv.no_header");
  EXPECT_EQ(ErrorOf("a,,b\n1,2,3\n"), "BAD_HEADER column=2");
}

TEST(CsvErrorsTest, AHeaderThatIsNoneIsToldFromAWrongName) {
  CsvOptions role;
  role.roles["kind"] = ColumnRole::kTarget;
  EXPECT_EQ(ErrorOf("5.1,3.5,setosa\n4.9,3.0,setosa\n", role),
            "BAD_HEADER column=kind remedy=csv.no_header");
  EXPECT_EQ(ErrorOf("5.1,width,setosa\n4.9,3.0,setosa\n", role), "BAD_HEADER column=kind");
}

TEST(CsvErrorsTest, WhatHelpsWithNamesStandsInTheMessage) {
  const auto message = [](const std::string& text) {
    return std::string(ReadCsvText(text).status().message());
  };
  EXPECT_THAT(message(",a\n0,1\n"), HasSubstr("index=False"));
  EXPECT_THAT(message("a,\n0,1\n"), HasSubstr("column 2 has no name; give it one"));
  EXPECT_THAT(
      message("a,b,\r\n0,1,\r\n"),
      HasSubstr("column 3 has no name; give it one, or leave it out: the delimiter at the"));
  EXPECT_THAT(message("a,b\r\n0,1,\r\n"), HasSubstr("the first line has 2; the last one is empty"));
  EXPECT_THAT(message("a,b\n0,1,2\n"), Not(HasSubstr("the last one")));
  EXPECT_THAT(message("b,a,c,a\n0,1,2,3\n"),
              HasSubstr("the columns 2 and 4 are both named 'a': rename one of them; or is"));
  EXPECT_THAT(message("a\xE9,b\n0,1\n"), HasSubstr("save the file as CSV in UTF-8"));
  EXPECT_THAT(message("a,b\n0,caf\xE9\n"), HasSubstr("save the file as UTF-8"));
}

TEST(CsvErrorsTest, TooManyColumns) {
  CsvOptions options;
  options.max_columns = 2;
  EXPECT_EQ(ErrorOf("a,b,c\n1,2,3\n", options), "BAD_HEADER");
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", options), "OK");
  options.has_header = false;
  EXPECT_EQ(ErrorOf("1,2,3\n", options), "BAD_HEADER");
}

TEST(CsvErrorsTest, OptionsThatNameUnknownColumns) {
  CsvOptions role;
  role.roles["label"] = ColumnRole::kTarget;
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", role), "BAD_HEADER column=label");
  EXPECT_THAT(std::string(ReadCsvText("a,b\n1,2\n", role).status().message()),
              HasSubstr("'a', 'b'"));
  CsvOptions categorical;
  categorical.categorical = {"q"};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", categorical), "BAD_HEADER column=q");
  CsvOptions numeric;
  numeric.numeric = {"q"};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", numeric), "BAD_HEADER column=q");
  CsvOptions block;
  block.blocks = {{"x", {"a..q"}}};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", block), "BAD_HEADER column=q");
}

std::string TargetError(const std::string& header, const std::string& target) {
  CsvOptions options;
  options.roles[target] = ColumnRole::kTarget;
  return std::string(ReadCsvText(header + "\n", options).status().message());
}

TEST(CsvErrorsTest, TheColumnThatIsMeantIsNamed) {
  EXPECT_THAT(TargetError("a,target,b", "tagret"), HasSubstr("; did you mean 'target'?"));
  EXPECT_THAT(TargetError("a,Target,b", "target"), HasSubstr("; did you mean 'Target'?"));
  EXPECT_THAT(TargetError("a,b", "target"), ::testing::Not(HasSubstr("did you mean")));
}

// Most tables have their target first or last.
TEST(CsvErrorsTest, ListsOfColumnsHaveTheFirstAndTheLast) {
  EXPECT_THAT(
      TargetError("a,b,c,d,e,f,g,h,i,j,k,l", "x"),
      HasSubstr("the 12 columns are 'a', 'b', 'c', 'd', 'e', 'f', 'g', ..., 'j', 'k', 'l'"));
  EXPECT_THAT(TargetError("a,b,c,d,e,f,g,h,i,j", "x"), HasSubstr("'g', 'h', 'i', 'j'"));
  EXPECT_THAT(TargetError("a,b,c,d,e,f,g,h,i,j", "x"), ::testing::Not(HasSubstr("...")));
  EXPECT_THAT(TargetError("a", "x"), HasSubstr("the only column is 'a'"));
}

TEST(CsvErrorsTest, ALineWithOtherDelimitersIsNotTakenForAName) {
  CsvOptions role;
  role.roles["label"] = ColumnRole::kTarget;
  EXPECT_EQ(ErrorOf("a;label\n1;2\n", role), "BAD_HEADER column=label remedy=csv.delimiter");
  EXPECT_THAT(TargetError("a;label", "label"),
              HasSubstr("is it several, between other delimiters?"));
}

TEST(CsvErrorsTest, OptionsThatContradictThemselves) {
  CsvOptions both;
  both.categorical = {"a"};
  both.numeric = {"a"};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", both), "BAD_HEADER column=a");
  CsvOptions twice;
  twice.blocks = {{"x", {"a"}}, {"y", {"a..b"}}};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", twice), "BAD_HEADER column=a");
  CsvOptions role;
  role.blocks = {{"x", {"a"}}};
  role.roles["a"] = ColumnRole::kTarget;
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", role), "BAD_HEADER column=a");
  CsvOptions backwards;
  backwards.blocks = {{"x", {"b..a"}}};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n", backwards), "BAD_HEADER column=b..a");
}

TEST(CsvErrorsTest, RaggedRows) {
  EXPECT_EQ(ErrorOf("a,b\n1,2\n3\n"), "BAD_ROW row=2");
  EXPECT_EQ(ErrorOf("a,b\n1,2\n3,4,5\n"), "BAD_ROW row=2");
  EXPECT_EQ(ErrorOf("a,b\n1,2\n3,4,\n"), "BAD_ROW row=2");
  EXPECT_THAT(std::string(ReadCsvText("a,b\n1,2,3\n").status().message()),
              HasSubstr("3 cells where the first line has 2"));
  std::string long_text = "a,b\n";
  for (int row = 0; row < 5000; ++row) {
    long_text += "1,2\n";
  }
  EXPECT_EQ(ErrorOf(long_text + "1\n"), "BAD_ROW row=5001");
}

TEST(CsvErrorsTest, BlankLineBetweenRows) {
  EXPECT_EQ(ErrorOf("a,b\n1,2\n\n\n3,4\n"), "BAD_ROW row=2");
  EXPECT_EQ(ErrorOf("a,b\n1,2\n\n\n"), "OK");
}

TEST(CsvErrorsTest, BrokenQuotes) {
  EXPECT_EQ(ErrorOf("a,b\n1,\"x\n"), "BAD_ROW row=1");
  EXPECT_EQ(ErrorOf("a,b\n1,\"x\"y\n"), "BAD_ROW row=1");
  EXPECT_EQ(ErrorOf("\"a,b\n1,2\n"), "BAD_HEADER");
}

TEST(CsvErrorsTest, CellsThatAreNoNumbers) {
  CsvOptions numeric;
  numeric.numeric = {"b"};
  EXPECT_EQ(ErrorOf("a,b\n1,2\n3,x\n", numeric), "BAD_CELL row=2 column=b");
  CsvOptions weight;
  weight.roles["b"] = ColumnRole::kWeight;
  EXPECT_EQ(ErrorOf("a,b\n1,x\n", weight), "BAD_CELL row=1 column=b");
}

TEST(CsvErrorsTest, InfinitiesAndOverflow) {
  for (const char* cell : {"inf", "-inf", "Infinity", "1e999", "-1e400", "\"inf\"", " 1e999 "}) {
    EXPECT_EQ(ErrorOf(std::string("a,b\n1,2\n3,") + cell + "\n"), "BAD_CELL row=2 column=b")
        << cell;
  }
}

TEST(CsvErrorsTest, MissingCells) {
  for (const char* cell : {"", "NA", "NaN", "nan", "?", " ", "\"\"", "-", "n/a", "\"NULL\""}) {
    EXPECT_EQ(ErrorOf(std::string("a,b\n1,2\n3,") + cell + "\n"),
              "BAD_CELL row=2 column=b remedy=csv.allow_missing")
        << cell;
  }
  // With a target that is missing no training would come further.
  CsvOptions target;
  target.roles["b"] = ColumnRole::kTarget;
  EXPECT_EQ(ErrorOf("a,b\n1,2\n3,\n", target), "BAD_CELL row=2 column=b");
  EXPECT_THAT(std::string(ReadCsvText("a,b\n1,2\n3,\n", target).status().message()),
              HasSubstr("leave them out"));
}

TEST(CsvErrorsTest, BinaryRubbish) {
  EXPECT_EQ(GetReason(ReadCsvText(std::string("PK\x03\x04\x00\x00garbage", 13)).status()),
            "BAD_HEADER");
  EXPECT_EQ(GetReason(ReadCsvText(std::string("a\0,b\n1,2\n", 10)).status()), "BAD_HEADER");
  EXPECT_EQ(GetReason(ReadCsvText("\xFF\xFE"
                                  "a,b\n1,2\n")
                          .status()),
            "BAD_HEADER");
  EXPECT_EQ(ErrorOf(std::string("a,b\n1,2\n3,\0\n", 12)), "BAD_CELL row=2 column=b");
  EXPECT_EQ(ErrorOf("a,b\n1,caf\xE9\n"), "BAD_CELL row=1 column=b");
  EXPECT_EQ(ErrorOf("a,b\n1,caf\xC3\xA9\n"), "OK");
}

TEST(CsvErrorsTest, RandomBytesNeverCrash) {
  uint64_t state = 12345;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text = trial % 2 == 0 ? "" : "a,b\n1,2\n";
    for (int i = 0; i < 60; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const char* common = "\",\n\r1.e-x \t";
      text += trial % 3 == 0 ? static_cast<char>(state >> 56) : common[(state >> 40) % 11];
    }
    const auto dataset = ReadCsvText(text);
    EXPECT_TRUE(!dataset.ok() || ValidateDataset(*dataset).ok()) << trial;
  }
}

TEST(CsvErrorsTest, ErrorOfTheSourceIsPassedOn) {
  class FailingSource : public ByteSource {
   public:
    absl::StatusOr<size_t> Read(char*, size_t) override { return absl::UnavailableError("gone"); }
  };
  FailingSource source;
  EXPECT_EQ(ReadCsv(source, {}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReadSvmlight(source, {}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace mercer
