// What is true of jointly sparse machines of several tasks, by whole runs.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/warnings.h"
#include "core/training/run/verification.h"
#include "tests/core/learners/sparse_multitask_svm/sparse_multitask_problems.h"
#include "tests/support/toy_data.h"

namespace mercer::sparse_multitask_svm {
namespace {

// Three tasks of which two columns of many tell the classes apart.
struct Toy {
  std::vector<Matrix> inputs;
  std::vector<Vector> targets;
};

Toy MakeToy(uint64_t seed, Index rows, Index columns) {
  Toy toy;
  for (uint64_t t = 0; t < 3; ++t) {
    const Index own = rows + 7 * static_cast<Index>(t);
    Matrix inputs = NormalMatrix(own, columns, seed + 10 * t);
    Vector targets(own);
    for (Index i = 0; i < own; ++i) {
      targets(i) = i % 3 == 0 ? 1 : -1;
      inputs(i, 0) += targets(i);
      inputs(i, 1) += t == 1 ? -targets(i) : targets(i);
    }
    toy.inputs.push_back(std::move(inputs));
    toy.targets.push_back(std::move(targets));
  }
  return toy;
}

TrainingProblem ToyProblem(uint64_t seed, Index rows, Index columns) {
  const Toy toy = MakeToy(seed, rows, columns);
  return ColumnProblem(toy.inputs, IndexRange(0, columns), toy.targets);
}

Index CountSelected(const ModelSummary& summary) {
  return static_cast<Index>(summary.tables.at(0).values.col(2).sum());
}

TEST(SparseMultitaskPropertyTest, EveryMethodHasTheSameSolution) {
  const TrainingProblem problem = ToyProblem(1, 40, 12);
  const TrainingOutcome first = MustTrain(problem, {}, 1e-8);
  EXPECT_LT(CountSelected(first.point.summary), BlockNorms(first.point.summary).size());
  for (const char* method : {"newton", "closed_form", "reduced_gradient", "coordinate_descent"}) {
    const double gap = method == std::string("newton") ? 1e-8 : 1e-3;
    const TrainingOutcome other = MustTrain(problem, {{"method", std::string(method)}}, gap);
    EXPECT_EQ(other.stop_reason, StopReason::kConverged) << method;
    EXPECT_NEAR(other.certificate.primal, first.certificate.primal,
                2 * gap * first.certificate.primal)
        << method;
    EXPECT_LE(other.certificate.dual, first.certificate.primal * (1 + 1e-9)) << method;
  }
}

// The same products as linear kernels of columns, and as kernels of another type.
TEST(SparseMultitaskPropertyTest, ColumnsAndTheirKernelsHaveTheSameSolution) {
  const TrainingProblem columns = ToyProblem(2, 40, 6);
  TrainingProblem kernels = columns;
  for (KernelSpec& kernel : kernels.kernels) {
    kernel.type = KernelType::kPolynomial;
    kernel.degree = 1;
    kernel.scale = 1;
    kernel.offset = 0;
  }
  const TrainingOutcome by_columns = MustTrain(columns, {}, 1e-8);
  const TrainingOutcome by_kernels = MustTrain(kernels, {}, 1e-8);
  EXPECT_NEAR(by_columns.certificate.primal, by_kernels.certificate.primal,
              2e-8 * by_columns.certificate.primal);
  const PreparedData& rows = *columns.tasks[0].inputs;
  EXPECT_LE((ValuesOf(by_columns.point.function, rows) - ValuesOf(by_kernels.point.function, rows))
                .cwiseAbs()
                .maxCoeff(),
            1e-3);
}

// p = q = 2 are machines that know nothing of each other, on the sum of the blocks.
TEST(SparseMultitaskPropertyTest, TasksAreSeparateForExponentsOfTwo) {
  const TrainingProblem problem = ToyProblem(3, 40, 5);
  const TrainingOutcome together = MustTrain(problem, {{"p", 2.0}}, 1e-7);
  double sum = 0;
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    sum += MustTrain(OneTask(problem, t), {}, 1e-7, "svm").certificate.primal;
  }
  EXPECT_NEAR(together.certificate.primal, sum, 1e-6 * sum);
}

// Each task has the certificate of a run of its own, and selects what it does there.
TEST(SparseMultitaskPropertyTest, SeparateTasksAreProblemsOfTheirOwn) {
  const TrainingProblem problem = ToyProblem(8, 30, 12);
  for (const auto& [form, p] :
       {std::pair("squared", 1.0), {"plain", 1.0}, {"squared", 0.5}, {"squared", 1.5}}) {
    OptionValues options = {{"form", std::string(form)}, {"p", p}};
    const TrainingOutcome joint = MustTrain(problem, options, 1e-6);
    OptionValues apart = options;
    apart["sharing"] = std::string("separate");
    const TrainingOutcome separate = MustTrain(problem, apart, 1e-6);
    EXPECT_EQ(separate.stop_reason, StopReason::kConverged) << form << p;
    double sum = 0;
    const Matrix& norms = separate.point.summary.tables.at(1).values;
    for (size_t t = 0; t < problem.tasks.size(); ++t) {
      const TrainingOutcome alone = MustTrain(OneTask(problem, t), options, 1e-6);
      sum += alone.certificate.primal;
      EXPECT_LE((norms.col(static_cast<Index>(t)) - BlockNorms(alone.point.summary))
                    .cwiseAbs()
                    .maxCoeff(),
                1e-2)
          << form << p << " task " << t;
    }
    EXPECT_NEAR(separate.certificate.primal, sum, 2e-6 * sum) << form << p;
    EXPECT_GE(CountSelected(separate.point.summary), CountSelected(joint.point.summary));
  }
}

// The large task's gap is all that counts in the sum; the small one is solved as well.
TEST(SparseMultitaskPropertyTest, ASeparateTaskThatIsSmallIsSolvedToo) {
  const Toy large = MakeToy(11, 2500, 30);
  const Toy small = MakeToy(12, 12, 30);
  const TrainingProblem problem =
      ColumnProblem({large.inputs[0], large.inputs[1], small.inputs[2]}, IndexRange(0, 30),
                    {large.targets[0], large.targets[1], small.targets[2]});
  const OptionValues options = {{"sharing", std::string("separate")}};
  const TrainingOutcome separate = MustTrain(problem, options, 0.05);
  const TrainingOutcome alone = MustTrain(OneTask(problem, 2), {}, 1e-6);
  const Vector own = separate.point.summary.tables.at(1).values.col(2);
  EXPECT_GT(own.sum(), 0.5 * BlockNorms(alone.point.summary).sum());
}

// One task and one block: a support vector machine; p = 1 of one task: lp_mkl at p = 1.
// A factor of a kernel is one of its columns' squares. The pooled one is that of all rows.
TEST(SparseMultitaskPropertyTest, PooledScalingIsThatOfAllRows) {
  Toy toy = MakeToy(13, 30, 6);
  toy.inputs[1].col(0) *= 5;
  TrainingProblem scaled = ColumnProblem(toy.inputs, {0, 0, 1, 2, 3, 4}, toy.targets);
  for (KernelSpec& kernel : scaled.kernels) {
    kernel.normalization.scaling = KernelScaling::kMeanDiagonal;
  }
  const double rows = static_cast<double>(scaled.num_rows());
  std::vector<Matrix> by_hand = toy.inputs;
  for (Index c = 0; c < 6; ++c) {
    double trace = 0;
    for (const Matrix& inputs : toy.inputs) {
      trace += c < 2 ? inputs.leftCols(2).squaredNorm() : inputs.col(c).squaredNorm();
    }
    for (Matrix& inputs : by_hand) {
      inputs.col(c) *= std::sqrt(rows / trace);
    }
  }
  const double expected =
      MustTrain(ColumnProblem(by_hand, {0, 0, 1, 2, 3, 4}, toy.targets), {}, 1e-7)
          .certificate.primal;
  const OptionValues pooled = {{"normalization_scope", std::string("pooled")}};
  TrainingProblem kernels = scaled;
  for (KernelSpec& kernel : kernels.kernels) {
    kernel.type = KernelType::kPolynomial;
    kernel.degree = 1;
    kernel.scale = 1;
    kernel.offset = 0;
  }
  for (const TrainingProblem& problem : {scaled, kernels}) {
    EXPECT_NEAR(MustTrain(problem, pooled, 1e-7).certificate.primal, expected, 2e-7 * expected);
    EXPECT_GT(std::abs(MustTrain(problem, {}, 1e-7).certificate.primal - expected), 1e-3);
  }
}

TEST(SparseMultitaskPropertyTest, EqualTasksHaveCostsOfTheSameSum) {
  const Toy toy = MakeToy(14, 20, 6);
  const TrainingProblem problem = ColumnProblem(toy.inputs, IndexRange(0, 6), toy.targets);
  TrainingProblem by_hand = problem;
  const double mean =
      static_cast<double>(problem.num_rows()) / static_cast<double>(problem.tasks.size());
  for (TaskData& task : by_hand.tasks) {
    task.costs *= mean / static_cast<double>(task.rows.size());
  }
  const double expected = MustTrain(by_hand, {}, 1e-7).certificate.primal;
  const OptionValues equal = {{"task_weighting", std::string("equal")}};
  EXPECT_NEAR(MustTrain(problem, equal, 1e-7).certificate.primal, expected, 2e-7 * expected);
  EXPECT_GT(std::abs(MustTrain(problem, {}, 1e-7).certificate.primal - expected), 1e-4);
}

// As weights of the rows that are made so by hand.
TEST(SparseMultitaskPropertyTest, BalancedClassesAreBalancedInEveryTask) {
  Dataset data = SubjectData(90, 4, 15);
  RoleColumn& labels = data.role_columns[0];
  for (Index i = 0; i < data.rows; i += 12) {
    labels.values(i) = 1;  // of the first subject alone
  }
  TrainingRecipe recipe;
  recipe.learner = "sparse_multitask_svm";
  recipe.limits.relative_gap = 1e-7;
  recipe.class_weighting = ClassWeighting::kBalanced;
  const absl::StatusOr<TrainedModel> balanced = TrainRecipe(recipe, data);
  ASSERT_TRUE(balanced.ok()) << balanced.status();

  Matrix counts = Matrix::Zero(3, 2);
  for (Index i = 0; i < data.rows; ++i) {
    counts(i % 3, static_cast<Index>(labels.values(i))) += 1;
  }
  Vector weights(data.rows);
  for (Index i = 0; i < data.rows; ++i) {
    weights(i) = 30 / (2 * counts(i % 3, static_cast<Index>(labels.values(i))));
  }
  data.role_columns.push_back(NumericColumn(ColumnRole::kWeight, "weight", weights));
  recipe.class_weighting = ClassWeighting::kNone;
  const absl::StatusOr<TrainedModel> by_hand = TrainRecipe(recipe, data);
  ASSERT_TRUE(by_hand.ok()) << by_hand.status();
  EXPECT_NEAR(balanced->model.certificate.primal, by_hand->model.certificate.primal,
              1e-6 * by_hand->model.certificate.primal);
}

Dataset RowsOf(const Dataset& data, Index subject) {
  std::vector<Index> rows;
  for (Index i = subject; i < data.rows; i += 3) {
    rows.push_back(i);
  }
  Dataset own = data;
  own.rows = static_cast<Index>(rows.size());
  own.blocks = {NumericBlock(RowMatrix(data.blocks[0].values.view()(rows, Eigen::all)))};
  for (RoleColumn& column : own.role_columns) {
    column.values = Vector(column.values(rows));
  }
  return own;
}

// Of exponents of 2 a task's classes are the machines of that task alone.
TEST(SparseMultitaskPropertyTest, TasksMayHaveManyClasses) {
  Dataset data = SubjectData(180, 5, 17);
  for (Index i = 0; i < data.rows; ++i) {
    data.role_columns[0].values(i) = static_cast<double>(i / 3 % 4);
  }
  for (const CodingChoice coding : {CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    TrainingRecipe recipe;
    recipe.learner = "sparse_multitask_svm";
    recipe.coding = coding;
    recipe.options = {{"p", 2.0}};
    recipe.limits.relative_gap = 1e-9;
    recipe.class_weighting = ClassWeighting::kBalanced;
    recipe.preprocessing.scaling = Scaling::kNone;
    const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    const Index outputs = coding == CodingChoice::kOneVsAll ? 4 : 6;
    EXPECT_EQ(trained->model.function.num_outputs(), 3 * outputs);
    EXPECT_EQ(trained->model.num_training_rows, 180);
    EXPECT_EQ(OutputNames(trained->model)[static_cast<size_t>(outputs)],
              coding == CodingChoice::kOneVsAll ? "eve: 0" : "eve: 0 vs 1");
    RunContext context;
    const RecipeRun run{FindLearner("sparse_multitask_svm"), &recipe, &data, "digest", "v"};
    EXPECT_TRUE(VerifyModel(run, trained->model, trained->witness, context).ok());
    recipe.learner = "svm";
    recipe.options = {};
    KernelGrid columns;
    columns.prototype.type = KernelType::kLinear;
    recipe.kernels = {columns};
    for (Index subject = 0; subject < 3; ++subject) {
      const Dataset own = RowsOf(data, subject);
      const absl::StatusOr<TrainedModel> alone = TrainRecipe(recipe, own, "svm");
      ASSERT_TRUE(alone.ok()) << alone.status();
      const Prediction together = MustPredict(trained->model, own);
      const Prediction expected = MustPredict(alone->model, own);
      EXPECT_LE((together.decision_values - expected.decision_values).cwiseAbs().maxCoeff(), 1e-3);
      Index different = 0;  // where two classes are as good as each other
      for (size_t i = 0; i < expected.classes.size(); ++i) {
        different += together.classes[i] == expected.classes[i] ? 0 : 1;
      }
      EXPECT_LE(different, 1);
    }
  }
}

// Every column is one that all tasks and classes share.
TEST(SparseMultitaskPropertyTest, ClassesOfTasksShareWhatIsSelected) {
  Dataset data = SubjectData(180, 8, 18);
  for (Index i = 0; i < data.rows; ++i) {
    data.role_columns[0].values(i) = static_cast<double>(i / 3 % 3);
  }
  RowMatrix values = data.blocks[0].values.view();
  for (Index i = 0; i < data.rows; ++i) {
    values.row(i).head(2) *= 0.3;
    values(i, 0) += i / 3 % 3 == 0 ? 1 : -1;
    values(i, 1) += i / 3 % 3 == 1 ? 1 : -1;
  }
  data.blocks = {NumericBlock(std::move(values))};
  TrainingRecipe recipe;
  recipe.learner = "sparse_multitask_svm";
  recipe.options = {{"C", 0.03}, {"p", 0.5}};
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 3;
  recipe.stability = {.resamples = 5};
  const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(CountSelected(trained->model.summary), 2);
  EXPECT_EQ(trained->model.summary.tables.at(1).values.cols(), 9);
  std::map<std::string, double> metrics;
  for (const Metric& metric : trained->model.metrics) {
    metrics[metric.name] = metric.value;
  }
  EXPECT_GT(metrics.at("folds.accuracy"), 0.9);
  EXPECT_GT(metrics.at("folds.task.zoe.accuracy"), 0.9);
  EXPECT_EQ(trained->model.summary.tables.back().values(1, 0), 1);
}

// The columns that tell the classes apart are selected on every half of the rows.
TEST(SparseMultitaskPropertyTest, WhatMattersIsSelectedOnEveryHalfOfTheRows) {
  TrainingRecipe recipe;
  recipe.learner = "sparse_multitask_svm";
  recipe.options = {{"C", 0.05}};
  recipe.stability = {.resamples = 20};
  const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, SubjectData(180, 10, 16));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const ModelTable& table = trained->model.summary.tables.back();
  ASSERT_EQ(table.name, kStabilityTable);
  EXPECT_EQ(table.values(0, 0), 1);
  EXPECT_EQ(table.values(1, 0), 1);
  EXPECT_LT(table.values.bottomRows(8).mean(), 0.5);
}

TEST(SparseMultitaskPropertyTest, OneTaskIsAMachineOfItsOwn) {
  TrainingProblem one = OneTask(ToyProblem(4, 50, 6), 1);
  const TrainingOutcome mkl = MustTrain(one, {{"p", 1.0}}, 1e-6, "lp_mkl");
  const TrainingOutcome own = MustTrain(one, {}, 1e-6);
  EXPECT_NEAR(own.certificate.primal, mkl.certificate.primal, 3e-6 * mkl.certificate.primal);
  one.kernels = {one.kernels[0]};
  const TrainingOutcome svm = MustTrain(one, {}, 1e-8, "svm");
  const TrainingOutcome single = MustTrain(one, {}, 1e-8);
  EXPECT_NEAR(single.certificate.primal, svm.certificate.primal, 2e-8 * svm.certificate.primal);
}

TEST(SparseMultitaskPropertyTest, SquaredAndPlainFormsMeetWhereTheirCostsDo) {
  const TrainingProblem problem = ToyProblem(5, 40, 10);
  const TrainingOutcome squared = MustTrain(problem, {{"C", 0.5}}, 1e-9);
  const double omega = BlockNorms(squared.point.summary).sum();
  const TrainingOutcome plain =
      MustTrain(problem, {{"C", 0.5 / omega}, {"form", std::string("plain")}}, 1e-9);
  EXPECT_LE(
      (BlockNorms(squared.point.summary) - BlockNorms(plain.point.summary)).cwiseAbs().maxCoeff(),
      1e-3 * omega);
}

TEST(SparseMultitaskPropertyTest, SmallerExponentsSelectFewerBlocks) {
  const TrainingProblem problem = ToyProblem(6, 40, 30);
  for (const char* form : {"squared", "plain"}) {
    const OptionValues common = {{"form", std::string(form)}};
    OptionValues concave = common;
    concave["p"] = 0.5;
    const TrainingOutcome convex = MustTrain(problem, common, 1e-4);
    const TrainingOutcome fewer = MustTrain(problem, concave, 1e-4);
    EXPECT_EQ(fewer.certificate.kind, CertificateKind::kStationarity);
    EXPECT_LE(fewer.certificate.accuracy, 1e-4) << form;
    EXPECT_LT(CountSelected(fewer.point.summary), CountSelected(convex.point.summary)) << form;
    EXPECT_GE(CountSelected(fewer.point.summary), 1) << form;
  }
}

// The plain form has costs up to which no block is selected; that is told, and no error.
TEST(SparseMultitaskPropertyTest, TheFunctionZeroIsAResultThatIsTold) {
  const Dataset data = SubjectData(60, 3, 1);
  TrainingRecipe recipe;
  recipe.learner = "sparse_multitask_svm";
  for (const double p : {1.0, 0.5}) {
    recipe.options = {{"C", 1e-3}, {"form", std::string("plain")}, {"p", p}};
    const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_EQ(trained->model.stop_reason, StopReason::kConverged);
    EXPECT_TRUE(trained->model.function.terms.empty());
    EXPECT_EQ(CountSelected(trained->model.summary), 0);
    EXPECT_LE(trained->model.certificate.accuracy, 1e-3);
    const std::vector<TrainingWarning> warnings = FindWarnings(recipe, data, trained->model);
    EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const TrainingWarning& warning) {
      return warning.code == WarningCode::kConstantFunction;
    }));
  }
}

TEST(SparseMultitaskPropertyTest, WithoutKernelsEveryColumnIsABlock) {
  const Dataset data = SubjectData(120, 9, 2);
  TrainingRecipe recipe;
  recipe.learner = "sparse_multitask_svm";
  recipe.options = {{"p", 0.5}, {"C", 0.3}};
  const absl::StatusOr<TrainedModel> trained = TrainRecipe(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const ModelTable& blocks = trained->model.summary.tables.at(0);
  EXPECT_EQ(blocks.name, "blocks");
  EXPECT_EQ(blocks.rows,
            (std::vector<std::string>{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"}));
  EXPECT_EQ(blocks.values(0, 2), 1);
  EXPECT_EQ(blocks.values(1, 2), 1);
  const ModelTable& norms = trained->model.summary.tables.at(1);
  EXPECT_EQ(norms.values.cols(), 3);
  for (Index k = 0; k < 9; ++k) {
    EXPECT_NEAR(norms.values.row(k).norm(), blocks.values(k, 0), 1e-12);
  }
  const absl::StatusOr<Model> read = LoadModel(SaveModel(trained->model));
  ASSERT_TRUE(read.ok()) << read.status();
  const Dataset rows = SubjectData(90, 9, 3);
  RunContext context;
  const auto predict = [&](const Model& model) {
    return Predictor::Make(std::make_shared<const Model>(model))
        .value()
        ->Predict(rows, {}, context)
        .value();
  };
  const Prediction prediction = predict(*read);
  EXPECT_EQ(prediction.decision_values, predict(trained->model).decision_values);
  double right = 0;
  for (Index i = 0; i < 90; ++i) {
    right += (prediction.decision_values(i, 0) > 0) == (i / 3 % 2 == 1) ? 1 : 0;
  }
  EXPECT_GE(right, 80);
}

TEST(SparseMultitaskPropertyTest, AWarmStartHasTheSameOptimum) {
  TrainingProblem problem = ToyProblem(7, 30, 240);
  problem.relative_gap = 1e-6;
  const TrainingOutcome before = MustTrain(problem, {{"C", 0.2}}, 1e-6);
  const TrainingOutcome cold = MustTrain(problem, {{"C", 0.5}}, 1e-6);
  const LearnerEntry& entry = *FindLearner("sparse_multitask_svm");
  const std::unique_ptr<Learner> learner = entry.create({{"C", 0.5}}).value();
  const WarmStart warm{&before.point, &problem};
  ASSERT_TRUE(learner->Start(problem, &warm).ok());
  RunContext context;
  StepReport report;
  for (int step = 0; step < 10000 && !(report.has_model && report.accuracy <= 1e-6); ++step) {
    report = learner->Step(context, 1e-6).value();
  }
  EXPECT_NEAR(report.primal, cold.certificate.primal, 2e-6 * cold.certificate.primal);
}

TEST(SparseMultitaskPropertyTest, TheVerifierSeesWhatIsSpoiled) {
  const TrainingProblem problem = ToyProblem(8, 30, 8);
  const LearnerEntry& entry = *FindLearner("sparse_multitask_svm");
  for (const auto& [sharing, p] :
       {std::pair("joint", 1.0), {"joint", 0.5}, {"separate", 1.0}, {"separate", 0.5}}) {
    const OptionValues options = {{"p", p}, {"sharing", std::string(sharing)}};
    const TrainingOutcome outcome = MustTrain(problem, options, 1e-6);
    RunContext context;
    const auto verify = [&](const Witness& witness) {
      return VerifyWitness(entry, options, problem, witness, context);
    };
    Witness spoiled = outcome.point.witness;
    spoiled.tasks[1].dual *= 2;
    EXPECT_GT(verify(spoiled)->accuracy, 1e-3);
    spoiled = outcome.point.witness;
    for (auto& [name, values] : spoiled.arrays) {
      if (name == "lower_dual") {
        values *= 0.5;
      }
    }
    EXPECT_GT(verify(spoiled)->accuracy, 1e-3);
    spoiled = outcome.point.witness;
    for (auto& [name, values] : spoiled.arrays) {
      values(0, 0) = name == "weights" ? -1 : values(0, 0);
    }
    EXPECT_EQ(GetReason(verify(spoiled).status()), "WITNESS_MISMATCH");
    spoiled = outcome.point.witness;
    spoiled.arrays.clear();
    EXPECT_EQ(GetReason(verify(spoiled).status()), "WITNESS_MISMATCH");
    spoiled = outcome.point.witness;
    std::erase_if(spoiled.arrays, [](const auto& array) { return array.first == "smoothing"; });
    EXPECT_EQ(verify(spoiled).ok(), p == 1.0);
  }
}

// Copies of one task have its solution, with sqrt(T) times its norms.
TEST(SparseMultitaskPropertyTest, CopiesOfATaskHaveItsSolution) {
  const Toy toy = MakeToy(9, 30, 8);
  const Matrix& x = toy.inputs[0];
  const Vector& y = toy.targets[0];
  const TrainingProblem one = ColumnProblem({x}, IndexRange(0, 8), {y});
  const TrainingProblem three = ColumnProblem({x, x, x}, IndexRange(0, 8), {y, y, y});
  const TrainingOutcome alone = MustTrain(one, {}, 1e-9);
  const TrainingOutcome copies = MustTrain(three, {}, 1e-9);
  EXPECT_NEAR(copies.certificate.primal, 3 * alone.certificate.primal,
              1e-8 * copies.certificate.primal);
  const Vector norms = std::sqrt(3.0) * BlockNorms(alone.point.summary);
  EXPECT_LE((BlockNorms(copies.point.summary) - norms).cwiseAbs().maxCoeff(), 1e-3);
}

}  // namespace
}  // namespace mercer::sparse_multitask_svm
