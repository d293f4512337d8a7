// What goes through the labels of all rows ends when its run must, however many rows and labels there
// are.
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/training/model/held_out.h"
#include "core/training/model/task_rows.h"
#include "core/training/recipe/recipe_checks.h"
#include "core/training/run/evaluation.h"
#include "core/training/targets/output_coding.h"
#include "core/training/targets/task_coding.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

constexpr Index kRowsWithLabels = kSanitized ? 30'000 : 2'000'000;
constexpr Index kManyNames = kRowsWithLabels / 10;  // that are written and compared

// Each of the labels 0, 1, ... as often as the others.
RoleColumn LabelColumn(ColumnRole role, Index rows, Index labels) {
  Vector values(rows);
  for (Index i = 0; i < rows; ++i) {
    values(i) = static_cast<double>((7919 * i) % labels);
  }
  return NumericColumn(role, "label", std::move(values));
}

// What the data are refused for is an answer, too.
absl::Status UnlessRefused(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
}

Dataset DataOfTwoFolds(const RoleColumn& labels) {
  Dataset data;
  data.rows = labels.values.size();
  data.role_columns = {labels, LabelColumn(ColumnRole::kSplit, data.rows, 2)};
  return data;
}

TEST(PolledLabelsTest, CodingsOfFewAndOfManyLabels) {
  const std::vector<Index> rows = IndexRange(0, kRowsWithLabels);
  for (const Index count : {Index{3}, kRowsWithLabels}) {
    const RoleColumn labels = LabelColumn(ColumnRole::kTarget, kRowsWithLabels, count);
    ExpectIsPolled([&](RunContext& context) {
      return UnlessRefused(
          OutputCoding::FromLabels(labels, rows, CodingChoice::kAuto, context).status());
    });
    ExpectIsPolled([&](RunContext& context) {
      return UnlessRefused(TaskCoding::FromColumn(labels, rows, context).status());
    });
  }
}

TEST(PolledLabelsTest, ChecksOfFolds) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  for (const Index count : {Index{1000}, kRowsWithLabels}) {
    const Dataset data = DataOfTwoFolds(LabelColumn(ColumnRole::kTarget, kRowsWithLabels, count));
    ExpectIsPolled([&](RunContext& context) {
      return UnlessRefused(CheckRows(ExampleEntry(), recipe, data, context).status());
    });
  }
}

TEST(PolledLabelsTest, TasksOfFolds) {
  const RoleColumn column = LabelColumn(ColumnRole::kTask, kRowsWithLabels, 997);
  const RoleColumn target = LabelColumn(ColumnRole::kTarget, kRowsWithLabels, 2);
  const TaskCoding tasks = *TaskCoding::FromAllRows(column, RunContext());
  ExpectIsPolled([&](RunContext& context) {
    return TaskCounts::Make(tasks, column, target, /*by_class=*/true, context).status();
  });
  const TaskCounts counts = *TaskCounts::Make(tasks, column, target, true, RunContext());
  const std::vector<Index> held_out = IndexRange(0, kRowsWithLabels / 2);
  ExpectIsPolled([&](RunContext& context) { return counts.CheckWithout(held_out, context); });
}

TEST(PolledLabelsTest, PredictionsForManyLabels) {
  const RoleColumn labels = LabelColumn(ColumnRole::kTarget, kManyNames, kManyNames);
  const OutputCoding coding =  // knows two of the labels
      *OutputCoding::FromLabels(labels, {0, 1}, CodingChoice::kAuto, RunContext());
  Prediction prediction;
  prediction.decision_values = Matrix::Ones(kManyNames, 1);
  prediction.classes.assign(static_cast<size_t>(kManyNames), 1);
  ExpectIsPolled([&](RunContext& context) {
    return EvaluatePrediction(coding, prediction, labels, context).status();
  });
  ExpectIsPolled([&](RunContext& context) {
    return HeldOutPlan::Make(labels, /*regression=*/false, 1, context).status();
  });
  const HeldOutPlan plan = *HeldOutPlan::Make(labels, false, 1, RunContext());
  const std::vector<Index> rows = IndexRange(0, kManyNames);
  ExpectIsPolled([&](RunContext& context) {
    HeldOutRows collected;
    return plan.Collect(coding, prediction, labels, rows, context, collected);
  });
}

}  // namespace
}  // namespace mercer
