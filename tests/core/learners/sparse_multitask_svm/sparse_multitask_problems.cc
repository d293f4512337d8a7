#include "tests/core/learners/sparse_multitask_svm/sparse_multitask_problems.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/learners/registry.h"
#include "core/training/model/predictor.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"
#include "tests/support/toy_data.h"

namespace mercer::sparse_multitask_svm {
namespace {

using nlohmann::json;

TrainingProblem TasksOf(const std::vector<Vector>& targets) {
  TrainingProblem problem;
  Index begin = 0;
  for (size_t t = 0; t < targets.size(); ++t) {
    TaskData& task = problem.tasks.emplace_back();
    task.name = absl::StrCat("task ", t + 1);
    task.rows = IndexRange(begin, begin + targets[t].size());
    task.targets = targets[t];
    task.costs = Vector::Ones(targets[t].size());
    begin += targets[t].size();
  }
  return problem;
}

void SetInputs(TrainingProblem& problem, PreparedData inputs) {
  const auto shared = std::make_shared<const PreparedData>(std::move(inputs));
  for (TaskData& task : problem.tasks) {
    task.inputs = shared;
  }
}

// Of each block one matrix of all rows, 0 between rows of two tasks.
TrainingProblem MatrixProblem(const std::vector<std::vector<Matrix>>& grams,
                              const std::vector<Vector>& targets) {
  TrainingProblem problem = TasksOf(targets);
  const Index rows = problem.num_rows();
  PreparedData inputs = Prepared(RowMatrix::Zero(rows, 1));
  for (size_t k = 0; k < grams[0].size(); ++k) {
    RowMatrix all = RowMatrix::Zero(rows, rows);
    Index begin = 0;
    for (const std::vector<Matrix>& of_task : grams) {
      const Index own = of_task[k].rows();
      all.block(begin, begin, own, own) = of_task[k];
      begin += own;
    }
    KernelSpec& kernel = problem.kernels.emplace_back();
    kernel.type = KernelType::kPrecomputed;
    kernel.block = absl::StrCat("gram", k);
    inputs.squares.push_back({kernel.block, SquareKind::kKernel, SharedMatrix(std::move(all))});
  }
  SetInputs(problem, std::move(inputs));
  return problem;
}

}  // namespace

json ReadSparseFixture(const std::string& name) {
  return ReadFixtureFile("sparse-multitask-svm/" + name + ".json");
}

TrainingProblem ColumnProblem(const std::vector<Matrix>& inputs, const std::vector<Index>& block_of,
                              const std::vector<Vector>& targets) {
  TrainingProblem problem = TasksOf(targets);
  RowMatrix all(problem.num_rows(), inputs[0].cols());
  Index begin = 0;
  for (const Matrix& of_task : inputs) {
    all.middleRows(begin, of_task.rows()) = of_task;
    begin += of_task.rows();
  }
  problem.kernels.resize(static_cast<size_t>(*std::max_element(block_of.begin(), block_of.end())) +
                         1);
  for (size_t c = 0; c < block_of.size(); ++c) {
    KernelSpec& kernel = problem.kernels[static_cast<size_t>(block_of[c])];
    kernel.type = KernelType::kLinear;
    kernel.columns.push_back(absl::StrCat("x", c + 1));
  }
  SetInputs(problem, Prepared(std::move(all)));
  return problem;
}

TrainingProblem OneTask(const TrainingProblem& problem, size_t task) {
  TrainingProblem one = problem;
  one.tasks = {problem.tasks[task]};
  return one;
}

FixtureProblem ReadSparseProblem(const json& fixture) {
  FixtureProblem read;
  std::vector<Vector> targets;
  std::vector<Matrix> inputs;
  std::vector<std::vector<Matrix>> grams;
  const bool linear = fixture["kind"] == "linear";
  for (const json& task : fixture["tasks"]) {
    targets.push_back(JsonVector(task["y"]));
    if (linear) {
      inputs.push_back(JsonMatrix(task["X"]));
      read.tests.push_back(Prepared(RowMatrix(JsonMatrix(task["X_test"]))));
      continue;
    }
    std::vector<Matrix>& of_task = grams.emplace_back();
    for (const json& gram : task["K"]) {
      of_task.push_back(JsonMatrix(gram));
    }
  }
  read.problem = linear
                     ? ColumnProblem(inputs, fixture["groups"].get<std::vector<Index>>(), targets)
                     : MatrixProblem(grams, targets);
  read.options = {{"C", fixture["C"].get<double>()},
                  {"form", std::string(fixture["form"] == "plain" ? "plain" : "squared")},
                  {"p", fixture["p"].get<double>()},
                  {"q", fixture["q"].get<double>()}};
  if (fixture.contains("beta")) {
    read.options["block_weights"] = fixture["beta"].get<std::vector<double>>();
  }
  return read;
}

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem, const OptionValues& options,
                                      double relative_gap, const std::string& learner) {
  TrainingProblem asked = problem;
  asked.relative_gap = relative_gap;
  return RunToGap(*FindLearner(learner), options, asked);
}

TrainingOutcome MustTrain(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap, const std::string& learner) {
  absl::StatusOr<TrainingOutcome> outcome = Train(problem, options, relative_gap, learner);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingOutcome();
}

Vector BlockNorms(const ModelSummary& summary) { return summary.tables.at(0).values.col(0); }

Matrix ValuesOf(const ModelFunction& function, const PreparedData& rows) {
  RunContext context;
  const absl::StatusOr<Matrix> values = EvaluateFunction(function, rows, context);
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? *values : Matrix();
}

Dataset SubjectData(Index rows, Index columns, uint64_t seed) {
  Dataset data;
  data.rows = rows;
  RowMatrix values = NormalMatrix(rows, columns, seed);
  Vector labels(rows);
  Vector subjects(rows);
  for (Index i = 0; i < rows; ++i) {
    const Index subject = i % 3;
    subjects(i) = static_cast<double>(subject);
    labels(i) = static_cast<double>(i / 3 % 2);
    const double sign = 2 * labels(i) - 1;
    values(i, 0) += sign;
    values(i, 1) += subject == 1 ? -sign : sign;
  }
  data.blocks.push_back(NumericBlock(std::move(values)));
  data.role_columns.push_back(NumericColumn(ColumnRole::kTarget, "label", labels));
  data.role_columns.push_back(
      {ColumnRole::kTask, {"subject", true, {"zoe", "adam", "eve"}}, subjects});
  return data;
}

absl::StatusOr<TrainedModel> TrainRecipe(const TrainingRecipe& recipe, const Dataset& dataset,
                                         const std::string& learner) {
  RunContext context;
  QuietObserver observer;
  return RunRecipe({FindLearner(learner), &recipe, &dataset, "digest", "v"}, {}, context, observer);
}

Prediction MustPredict(const Model& model, const Dataset& rows) {
  const absl::StatusOr<std::unique_ptr<Predictor>> predictor =
      Predictor::Make(std::make_shared<const Model>(model));
  EXPECT_TRUE(predictor.ok()) << predictor.status();
  RunContext context;
  absl::StatusOr<Prediction> found = (*predictor)->Predict(rows, {}, context);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *std::move(found) : Prediction();
}

}  // namespace mercer::sparse_multitask_svm
