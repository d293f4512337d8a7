// Rows as JSON objects and as CSV become the columns of the message; answers go back in the form of the rows.
#include "server/gateway/prediction_forms.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/base/status/errors.h"
#include "server/gateway/rows/row_texts.h"
#include "tests/support/source_folder.h"

namespace mercer::gateway {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

absl::Status NoLimit(size_t) { return absl::OkStatus(); }

absl::StatusOr<v1::Rows> ReadJsonText(const std::string& text) {
  v1::Rows rows;
  const absl::Status status = ReadListedRows(text, NoLimit, rows);
  return status.ok() ? absl::StatusOr<v1::Rows>(rows) : status;
}

absl::StatusOr<v1::Rows> ReadCsvText(const std::string& text) {
  v1::Rows rows;
  const absl::Status status = ReadCsvRows(text, NoLimit, rows);
  return status.ok() ? absl::StatusOr<v1::Rows>(rows) : status;
}

// "age: 3 nan; color: 'red' ''".
std::string Shown(const v1::Rows& rows) {
  std::vector<std::string> columns;
  for (const v1::TypedColumn& column : rows.columns()) {
    std::vector<std::string> cells;
    for (const double value : column.numbers().values()) {
      cells.push_back(absl::StrCat(value));
    }
    for (const std::string& value : column.texts().values()) {
      cells.push_back(absl::StrCat("'", value, "'"));
    }
    columns.push_back(absl::StrCat(column.name(), ": ", absl::StrJoin(cells, " ")));
  }
  return absl::StrJoin(columns, "; ");
}

std::string RowsOrError(const absl::StatusOr<v1::Rows>& rows) {
  return rows.ok() ? Shown(*rows)
                   : absl::StrCat(GetReason(rows.status()), " ", rows.status().message());
}

TEST(ListedRowsTest, ObjectsBecomeColumns) {
  EXPECT_EQ(RowsOrError(
                ReadJsonText(R"([{"age": 3, "color": "red"}, {"color": "blue", "age": -1.5e1}])")),
            "age: 3 -15; color: 'red' 'blue'");
}

TEST(ListedRowsTest, WhatIsNullOrLeftOutIsMissing) {
  EXPECT_EQ(RowsOrError(ReadJsonText(R"([{"a": null, "b": 1}, {"c": "x"}, {"a": 2}])")),
            "a: nan nan 2; b: 1 nan nan; c: '' 'x' ''");
}

TEST(ListedRowsTest, NumbersAmongTextsAreCategoriesInNumberForm) {
  EXPECT_EQ(
      RowsOrError(ReadJsonText(R"([{"zip": 1.0}, {"zip": "01"}, {"zip": 7}, {"zip": true}])")),
      "zip: '1' '01' '7' 'true'");
}

TEST(ListedRowsTest, TextsAreReadAsAnotherLibraryReadsThem) {
  for (const std::string& text :
       std::vector<std::string>{R"("plain")", R"("a\"b\\c\/d\b\f\n\r\te")",
                                R"("\u00e9\u4e2d\ud83d\ude00")", R"("é中😀")"}) {
    const absl::StatusOr<v1::Rows> rows = ReadJsonText(absl::StrCat("[{", text, ":", text, "}]"));
    ASSERT_TRUE(rows.ok()) << rows.status();
    const std::string expected = Json::parse(text);
    EXPECT_EQ(rows->columns(0).name(), expected);
    EXPECT_THAT(rows->columns(0).texts().values(), ElementsAre(expected));
  }
}

TEST(ListedRowsTest, ErrorsNameRowAndColumn) {
  EXPECT_EQ(RowsOrError(ReadJsonText(R"([{"a":1},{"a":[2]}])")),
            "BAD_CELL row 2, column 'a': must be a number, a text, true, false or null");
  EXPECT_EQ(RowsOrError(ReadJsonText(R"([{"a":1,"a":2}])")),
            "BAD_CELL row 1, column 'a': the row has this column twice");
  EXPECT_EQ(RowsOrError(ReadJsonText(R"([{"a":1e999}])")),
            "BAD_CELL row 1, column 'a': the number is beyond the range of double");
  EXPECT_EQ(RowsOrError(ReadJsonText(R"([{"a":"\ud800"}])")),
            "BAD_CELL row 1, column 'a': must be a number, a text, true, false or null");
  for (const char* text : {"[1]", "[{\"a\":1}, []]", "[{\"a\" 1}]", "[{a:1}]", "[{\"a\":1", "[{}]",
                           "[{\"a\":1},]", "[{\"a\":1} {\"a\":2}]", "[{\"a\":1,}]"}) {
    EXPECT_THAT(RowsOrError(ReadJsonText(text)), HasSubstr("BAD_ROW row ")) << text;
  }
  EXPECT_THAT(RowsOrError(ReadJsonText("[{\"a\":\"\xff\"}]")), HasSubstr("BAD_JSON"));
}

TEST(ListedRowsTest, MemoryIsBoundedBeforeItIsTaken) {
  size_t taken = 0;
  const MemoryCheck check = [&taken](size_t bytes) {
    taken += bytes;
    return taken > 10'000 ? absl::UnavailableError("full") : absl::OkStatus();
  };
  std::string text = "[{\"a\":1}";
  for (int row = 0; row < 10'000; ++row) {
    text += ",{\"a\":1}";
  }
  v1::Rows rows;
  EXPECT_TRUE(absl::IsUnavailable(ReadListedRows(text + "]", check, rows)));
  EXPECT_LT(taken, 20'000u);
}

absl::Status ReadWithin(size_t budget, const std::string& body, size_t* largest_question) {
  size_t taken = 0;
  const MemoryCheck check = [&](size_t bytes) {
    taken += bytes;
    *largest_question = std::max(*largest_question, bytes);
    return taken > budget ? absl::UnavailableError("full") : absl::OkStatus();
  };
  v1::Rows rows;
  return ReadListedRows(body, check, rows);
}

TEST(ListedRowsTest, CellsThatTheRowsLackAreAskedForToo) {
  std::string text = R"([{"a":1)";
  for (int column = 0; column < 16; ++column) {
    absl::StrAppend(&text, ",\"b", column, "\":\"x\"");
  }
  text += "}";
  for (int row = 0; row < 4600; ++row) {
    text += R"(,{"a":1})";
  }
  size_t largest = 0;
  EXPECT_TRUE(absl::IsUnavailable(ReadWithin(512 * 1024, text + "]", &largest)));
  EXPECT_TRUE(ReadWithin(16 * 1024 * 1024, text + "]", &largest).ok());
}

TEST(ListedRowsTest, ARowOfManyColumnsIsAskedForAsItComes) {
  std::string text = R"([{"a":1)";
  for (int column = 0; column < 6000; ++column) {
    absl::StrAppend(&text, ",\"a", column, "\":1");
  }
  size_t largest = 0;
  EXPECT_TRUE(absl::IsUnavailable(ReadWithin(512 * 1024, text + "}]", &largest)));
  EXPECT_LT(largest, 8192u);
}

TEST(ListedRowsTest, ColumnsThatBecomeTextAreAskedForBefore) {
  std::string text = R"([{"a":1})";
  for (int row = 0; row < 9000; ++row) {
    text += R"(,{"a":1})";
  }
  size_t largest = 0;
  EXPECT_TRUE(ReadWithin(512 * 1024, text + "]", &largest).ok());
  EXPECT_TRUE(absl::IsUnavailable(ReadWithin(512 * 1024, text + R"(,{"a":"x"}])", &largest)));
}

TEST(ListedRowsTest, RowsWithoutColumnsInCommonAreNoTable) {
  std::string distinct = "[{\"c0\":1}";
  std::string wide = "[{\"c0\":1";
  for (int i = 1; i < 6000; ++i) {
    absl::StrAppend(&distinct, ",{\"c", i, "\":1}");
    absl::StrAppend(&wide, ",\"c", i, "\":1");
  }
  EXPECT_THAT(RowsOrError(ReadJsonText(distinct + "]")), HasSubstr("far more cells are missing"));
  wide += "}";
  for (int i = 0; i < 3000; ++i) {
    wide += ",{\"c0\":1}";
  }
  EXPECT_THAT(RowsOrError(ReadJsonText(wide + "]")), HasSubstr("far more cells are missing"));
}

TEST(FindListedRowsTest, OnlyTheListIsTakenOut) {
  const auto found =
      FindListedRows(R"( {"task": "a]", "rows" : [{"b": "]}"}] , "contributions": true} )");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rows, R"([{"b": "]}"}])");
  EXPECT_EQ(Json::parse(found->rest),
            Json({{"task", "a]"}, {"rows", Json::object()}, {"contributions", true}}));
  for (const char* body : {"", "[]", R"({"rows": {"columns": []}})", R"({"dataset": "x"})",
                           "{\"rows\": [", R"({"other": {"rows": [1]}})"}) {
    EXPECT_FALSE(FindListedRows(body).has_value()) << body;
  }
}

TEST(CsvRowsTest, TheHeaderNamesTheColumns) {
  EXPECT_EQ(RowsOrError(ReadCsvText("age,color\r\n3,red\r\n,\"a, b\"\r\nNA,?\r\n\r\n")),
            "age: '3' '' ''; color: 'red' 'a, b' ''");
  EXPECT_EQ(RowsOrError(ReadCsvText("age;name\n3;x,y\n")), "age: '3'; name: 'x,y'");
  EXPECT_EQ(RowsOrError(ReadCsvText("age\tname\n3\tx\n")), "age: '3'; name: 'x'");
  EXPECT_EQ(RowsOrError(ReadCsvText("age\n3\n4")), "age: '3' '4'");
}

TEST(CsvRowsTest, ErrorsNameRowAndColumn) {
  EXPECT_EQ(RowsOrError(ReadCsvText("a,b\n1,2\n3\n")),
            "BAD_ROW row 2: has 1 cells, the header has 2");
  EXPECT_EQ(RowsOrError(ReadCsvText("a,b\n\n1,2\n")), "BAD_ROW row 2: comes after a blank line");
  EXPECT_THAT(RowsOrError(ReadCsvText("a,a\n1,2\n")), HasSubstr("BAD_HEADER"));
  EXPECT_THAT(RowsOrError(ReadCsvText("")), HasSubstr("BAD_HEADER"));
  EXPECT_THAT(RowsOrError(ReadCsvText("a,b\n1,\xff\n")), HasSubstr("BAD_ROW row 1"));
}

v1::PredictResponse Classes() {
  v1::PredictResponse response;
  response.set_model("models/m/versions/1");
  response.add_outputs("a \"b\", c");
  response.mutable_decision_values()->set_rows(2);
  response.mutable_decision_values()->set_columns(1);
  response.mutable_decision_values()->add_values(0.1);
  response.mutable_decision_values()->add_values(-1e-300);
  response.add_labels("a \"b\", c");
  response.add_labels("line\nbreak");
  v1::Contribution& contribution = *response.add_contributions();
  contribution.set_name("bias");
  *contribution.mutable_values() = response.decision_values();
  return response;
}

TEST(RowAnswersTest, ClassesAreObjectsThatAnotherLibraryReads) {
  const absl::StatusOr<std::string> text = WriteJsonRows(Classes(), NoLimit);
  ASSERT_TRUE(text.ok());
  const Json read = Json::parse(*text);
  EXPECT_EQ(read["model"], "models/m/versions/1");
  ASSERT_EQ(read["predictions"].size(), 2u);
  EXPECT_EQ(read["predictions"][0], Json({{"label", "a \"b\", c"},
                                          {"decisionValues", {{"a \"b\", c", 0.1}}},
                                          {"contributions", {{"bias", {{"a \"b\", c", 0.1}}}}}}));
  EXPECT_EQ(read["predictions"][1]["label"], "line\nbreak");
  EXPECT_EQ(read["predictions"][1]["decisionValues"]["a \"b\", c"], -1e-300);
}

TEST(RowAnswersTest, ClassesAreLinesOfCsv) {
  EXPECT_EQ(*WriteCsvRows(Classes(), NoLimit),
            "label,\"value a \"\"b\"\", c\",bias\n\"a \"\"b\"\", "
            "c\",0.1,0.1\n\"line\nbreak\",-1e-300,-1e-300\n");
}

TEST(RowAnswersTest, GradientsAndProjectionsStandBesideTheValues) {
  v1::PredictResponse response;
  response.set_model("models/m/versions/1");
  response.add_outputs("price");
  response.mutable_decision_values()->set_rows(2);
  response.mutable_decision_values()->set_columns(1);
  response.mutable_decision_values()->add_values(3);
  response.mutable_decision_values()->add_values(4);
  v1::LearnedGradient& gradient = *response.add_gradients();
  gradient.set_output("price");
  gradient.add_columns("size");
  gradient.add_columns("age");
  gradient.mutable_values()->set_rows(2);
  gradient.mutable_values()->set_columns(2);
  for (const double value : {1.5, -0.5, 2.5, 0.25}) {
    gradient.mutable_values()->add_values(value);
  }
  *gradient.mutable_projections() = response.decision_values();
  const Json read = Json::parse(*WriteJsonRows(response, NoLimit));
  EXPECT_EQ(read["predictions"][1],
            Json({{"prediction", 4},
                  {"gradients", {{"price", {{"size", 2.5}, {"age", 0.25}}}}},
                  {"projections", {{"price", {{"direction 1", 4}}}}}}));
  EXPECT_EQ(*WriteCsvRows(response, NoLimit),
            "prediction,gradient size,gradient age,direction 1\n3,1.5,-0.5,3\n4,2.5,0.25,4\n");
  gradient.add_columns("more");
  EXPECT_TRUE(absl::IsInternal(WriteJsonRows(response, NoLimit).status()));
}

TEST(RowAnswersTest, NumbersAreTheirPredictions) {
  v1::PredictResponse response;
  response.set_model("models/m/versions/1");
  response.add_outputs("price");
  response.mutable_decision_values()->set_rows(2);
  response.mutable_decision_values()->set_columns(1);
  response.mutable_decision_values()->add_values(1.0 / 3);
  response.mutable_decision_values()->add_values(std::numeric_limits<double>::infinity());
  const Json read = Json::parse(*WriteJsonRows(response, NoLimit));
  EXPECT_EQ(read["predictions"][0], Json({{"prediction", 1.0 / 3}}));
  EXPECT_EQ(read["predictions"][1], Json({{"prediction", nullptr}}));
  EXPECT_EQ(*WriteCsvRows(response, NoLimit), "prediction\n0.3333333333333333\ninf\n");
}

TEST(RowAnswersTest, ErrorsStandBesideTheirRows) {
  v1::PredictResponse response = Classes();
  v1::RowError& error = *response.add_row_errors();
  error.set_row(2);
  error.set_message("column 'a': \"b\", unknown");
  response.set_labels(1, "");
  const double none = std::numeric_limits<double>::quiet_NaN();
  response.mutable_decision_values()->set_values(1, none);
  response.mutable_contributions(0)->mutable_values()->set_values(1, none);
  const Json read = Json::parse(*WriteJsonRows(response, NoLimit));
  EXPECT_FALSE(read["predictions"][0].contains("error"));
  EXPECT_EQ(read["predictions"][1]["error"], error.message());
  EXPECT_EQ(read["predictions"][1]["decisionValues"]["a \"b\", c"], nullptr);
  EXPECT_EQ(*WriteCsvRows(response, NoLimit),
            "label,\"value a \"\"b\"\", c\",bias,error\n\"a \"\"b\"\", c\",0.1,0.1,\n"
            ",nan,nan,\"column 'a': \"\"b\"\", unknown\"\n");
  error.set_row(3);
  EXPECT_TRUE(absl::IsInternal(WriteJsonRows(response, NoLimit).status()));
}

std::set<std::string> NamesOf(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) {
    names.insert(name);
  }
  return names;
}

// No proto says what rows as objects look like.
TEST(RowAnswersTest, OpenApiHasTheirMembers) {
  std::ifstream file(SourceFolder() / "docs/reference/openapi.json");
  const Json schemas = Json::parse(file)["components"]["schemas"];
  v1::PredictResponse numbers = Classes();
  numbers.clear_labels();
  v1::PredictResponse classes = Classes();
  classes.add_classes("a");
  *classes.mutable_probabilities() = classes.decision_values();
  v1::LearnedGradient& gradient = *classes.add_gradients();
  gradient.set_output(classes.outputs(0));
  gradient.add_columns("size");
  *gradient.mutable_values() = classes.decision_values();
  *gradient.mutable_projections() = classes.decision_values();
  classes.add_row_errors()->set_row(2);
  classes.mutable_row_errors(0)->set_message("no");
  std::set<std::string> names;
  for (const v1::PredictResponse& response : {numbers, classes}) {
    const Json read = Json::parse(*WriteJsonRows(response, NoLimit));
    EXPECT_EQ(NamesOf(read), NamesOf(schemas["RowPredictions"]["properties"]));
    for (const Json& row : read["predictions"]) {
      names.merge(NamesOf(row));
    }
  }
  EXPECT_EQ(names, NamesOf(schemas["RowPrediction"]["properties"]));
  EXPECT_TRUE(FindListedRows(R"({"rows": []})").has_value());
  EXPECT_THAT(NamesOf(schemas["RowObjects"]["properties"]), ElementsAre("rows"));
}

// Rows with labels and one output of such names.
v1::PredictResponse Named(int rows, const std::string& output, const std::string& label) {
  v1::PredictResponse response;
  response.add_outputs(output);
  response.mutable_decision_values()->set_rows(rows);
  response.mutable_decision_values()->set_columns(1);
  for (int row = 0; row < rows; ++row) {
    response.mutable_decision_values()->add_values(row == 0 ? 0 : -1.7976931348623157e+308);
    response.add_labels(row == 0 ? "" : label);
  }
  response.add_contributions()->set_name(output);
  *response.mutable_contributions(0)->mutable_values() = response.decision_values();
  return response;
}

TEST(RowAnswersTest, MemoryIsAskedForBeforeTheRowsAreWritten) {
  const std::string name(1000, '\n');
  size_t asked = 0;
  const MemoryCheck count = [&asked](size_t bytes) {
    asked += bytes;
    return absl::OkStatus();
  };
  const MemoryCheck refuse = [](size_t) { return absl::UnavailableError("full"); };
  for (const auto& write : {WriteJsonRows, WriteCsvRows}) {
    for (const v1::PredictResponse& response : {Named(100, name, "x"), Named(100, "x", name)}) {
      asked = 0;
      const absl::StatusOr<std::string> text = write(response, count);
      ASSERT_TRUE(text.ok());
      EXPECT_GE(asked + 4096, text->size());
      EXPECT_LE(asked, 8 * text->size());
      EXPECT_TRUE(absl::IsUnavailable(write(response, refuse).status()));
    }
  }
}

TEST(RowAnswersTest, AnAnswerThatContradictsItselfIsNotWritten) {
  v1::PredictResponse response = Classes();
  response.mutable_decision_values()->add_values(1);
  EXPECT_TRUE(absl::IsInternal(WriteJsonRows(response, NoLimit).status()));
  EXPECT_TRUE(absl::IsInternal(WriteCsvRows(response, NoLimit).status()));
}

}  // namespace
}  // namespace mercer::gateway
