#include "core/training/targets/task_coding.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

RoleColumn TextColumn(const std::vector<std::string>& categories, const Vector& codes) {
  return {ColumnRole::kTask, {"subject", true, categories}, codes};
}

TEST(TaskCodingTest, TasksAreSortedAsClassesAre) {
  const RoleColumn texts = TextColumn({"zoe", "adam", "unused"}, Vector{{0, 1, 0}});
  const absl::StatusOr<TaskCoding> coding = TaskCoding::FromColumn(texts, {0, 1, 2}, RunContext());
  ASSERT_TRUE(coding.ok()) << coding.status();
  EXPECT_EQ(coding->names(), (std::vector<std::string>{"adam", "zoe"}));
  EXPECT_EQ(coding->column(), "subject");
  EXPECT_EQ(coding->num_tasks(), 2);
  EXPECT_EQ(*coding->Tasks(texts, RunContext()), (std::vector<int>{1, 0, 1}));
  const RoleColumn numbers = NumericColumn(ColumnRole::kTask, "day", Vector{{10, 9, 10}});
  EXPECT_EQ(TaskCoding::FromColumn(numbers, {0, 1, 2}, RunContext())->names(),
            (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(TaskCoding().num_tasks(), 1);
  EXPECT_FALSE(TaskCoding().has_column());
}

TEST(TaskCodingTest, ReadsTheTaskOfEveryRowOrOneForAll) {
  const TaskCoding coding =
      *TaskCoding::FromColumn(TextColumn({"a", "b"}, Vector{{0, 1}}), {0, 1}, RunContext());
  Dataset rows;
  rows.rows = 3;
  EXPECT_EQ(*coding.ReadTasks(rows, "b", TaskRule::kOwn, RunContext()),
            (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(GetReason(coding.ReadTasks(rows, "", TaskRule::kOwn, RunContext()).status()),
            "BAD_TASK");
  ASSERT_EQ(
      GetFieldViolations(coding.ReadTasks(rows, "c", TaskRule::kOwn, RunContext()).status()).size(),
      1u);
  EXPECT_EQ(
      GetFieldViolations(coding.ReadTasks(rows, "c", TaskRule::kOwn, RunContext()).status())[0]
          .field,
      "task");
  EXPECT_EQ(
      GetFieldViolations(TaskCoding().ReadTasks(rows, "a", TaskRule::kOwn, RunContext()).status())
          .size(),
      1u);
  EXPECT_TRUE(TaskCoding().ReadTasks(rows, "", TaskRule::kOwn, RunContext())->empty());

  rows.role_columns = {TextColumn({"b", "a"}, Vector{{0, 0, 1}})};
  EXPECT_EQ(*coding.ReadTasks(rows, "", TaskRule::kOwn, RunContext()), (std::vector<int>{1, 1, 0}));
  rows.role_columns = {TextColumn({"b", "other"}, Vector{{0, 1, 0}})};
  const absl::Status unknown = coding.ReadTasks(rows, "", TaskRule::kOwn, RunContext()).status();
  EXPECT_EQ(GetReason(unknown), "BAD_TASK");
  EXPECT_NE(unknown.message().find("row 2"), absl::string_view::npos) << unknown;
  rows.role_columns = {TextColumn({"b"}, Vector{{0, 0, std::nan("")}})};
  EXPECT_NE(
      coding.ReadTasks(rows, "", TaskRule::kOwn, RunContext()).status().message().find("row 3"),
      absl::string_view::npos);
}

TEST(TaskCodingTest, RowsOfOtherTasksMayHaveTheMeanOfAll) {
  const TaskCoding coding =
      *TaskCoding::FromColumn(TextColumn({"a", "b"}, Vector{{0, 1}}), {0, 1}, RunContext());
  const auto read = [&](const Dataset& rows, const std::string& task, TaskRule rule) {
    return coding.ReadTasks(rows, task, rule, RunContext());
  };
  constexpr int kMean = TaskCoding::kMeanOfAll;
  Dataset rows;
  rows.rows = 3;
  EXPECT_EQ(*read(rows, "", TaskRule::kMean), std::vector<int>(3, kMean));
  EXPECT_EQ(GetFieldViolations(read(rows, "a", TaskRule::kMean).status())[0].field, "task");
  EXPECT_EQ(*read(rows, "c", TaskRule::kMeanIfUnknown), std::vector<int>(3, kMean));
  EXPECT_EQ(*read(rows, "b", TaskRule::kMeanIfUnknown), std::vector<int>(3, 1));
  EXPECT_EQ(GetReason(read(rows, "", TaskRule::kMeanIfUnknown).status()), "BAD_TASK");
  rows.role_columns = {TextColumn({"b", "other"}, Vector{{0, 1, std::nan("")}})};
  EXPECT_EQ(*read(rows, "", TaskRule::kMeanIfUnknown), (std::vector<int>{1, kMean, kMean}));
  EXPECT_EQ(*read(rows, "", TaskRule::kMean), std::vector<int>(3, kMean));
  const absl::Status single =
      TaskCoding().ReadTasks(rows, "", TaskRule::kMean, RunContext()).status();
  EXPECT_EQ(GetFieldViolations(single)[0].field, "task_rule");
}

TEST(TaskCodingTest, TooManyTasksAreRefused) {
  const Index count = TaskCoding::kMaxTasks + 1;
  const RoleColumn column = NumericColumn(ColumnRole::kTask, "row",
                                          Vector::LinSpaced(count, 1, static_cast<double>(count)));
  std::vector<Index> rows;
  for (Index i = 0; i < count; ++i) {
    rows.push_back(i);
  }
  EXPECT_EQ(GetReason(TaskCoding::FromColumn(column, rows, RunContext()).status()),
            "TOO_MANY_TASKS");
  rows.pop_back();
  EXPECT_TRUE(TaskCoding::FromColumn(column, rows, RunContext()).ok());
}

// The bytes of docs/formats/model.md.
std::string EncodedTasks(const std::string& column, const std::vector<std::string>& names) {
  ByteWriter writer;
  writer.WriteString(column);
  writer.WriteStrings(names);
  return std::move(writer).Take();
}

TEST(TaskCodingTest, SavedFormIsThatOfTheFormat) {
  const TaskCoding coding =
      *TaskCoding::FromColumn(TextColumn({"a", "b"}, Vector{{0, 1}}), {0, 1}, RunContext());
  EXPECT_EQ(SaveFields(coding), EncodedTasks("subject", {"a", "b"}));
  TaskCoding read;
  ASSERT_TRUE(LoadFields(EncodedTasks("subject", {"a", "b"}), read));
  EXPECT_EQ(read.names(), coding.names());
  EXPECT_EQ(read.column(), "subject");
}

TEST(TaskCodingTest, RefusesImpossibleTasks) {
  TaskCoding read;
  EXPECT_TRUE(LoadFields(EncodedTasks("", {}), read));
  EXPECT_FALSE(LoadFields(EncodedTasks("subject", {"a", "a"}), read));
  EXPECT_FALSE(LoadFields(EncodedTasks("subject", {}), read));
  EXPECT_FALSE(LoadFields(EncodedTasks("", {"a"}), read));
  std::vector<std::string> names;
  for (size_t task = 0; task <= TaskCoding::kMaxTasks; ++task) {
    names.push_back(std::to_string(task));
  }
  EXPECT_FALSE(LoadFields(EncodedTasks("subject", names), read));
}

}  // namespace
}  // namespace mercer
