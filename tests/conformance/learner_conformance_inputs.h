// Conformance of options and inputs: every allowed value and every odd data set gives a finite
// model or a refusal.
#pragma once

#include <cmath>
#include <functional>

#include "core/base/status/errors.h"
#include "tests/conformance/learner_conformance.h"
#include "tests/conformance/learner_conformance_options.h"

namespace mercer {

TEST_P(LearnerConformance, EveryOptionIsDocumented) {
  for (const OptionField& field : entry().fields) {
    EXPECT_GT(field.doc.meaning.size(), 20u) << field.name;
    EXPECT_FALSE(field.doc.source.empty()) << field.name;
  }
  EXPECT_FALSE(entry().title.empty());
  EXPECT_GT(entry().summary.size(), 40u);
}

TEST_P(LearnerConformance, EveryOptionRoundTripsAValueOtherThanItsDefault) {
  for (const OptionField& field : entry().fields) {
    OptionValue other = field.default_value;
    for (OptionValue& candidate : ExtremeValues(field, kind())) {
      if (candidate != field.default_value) {
        other = candidate;
      }
    }
    ASSERT_NE(other, field.default_value) << field.name << " allows nothing but its default";
    EXPECT_TRUE(CheckOptionValue(field, other).ok()) << field.name;
    const absl::StatusOr<OptionValue> parsed = ParseOptionText(field, FormatOptionValue(other));
    ASSERT_TRUE(parsed.ok()) << field.name << ": " << parsed.status();
    EXPECT_EQ(*parsed, other) << field.name;
    Model model;
    model.options = {{field.name, other}};
    model.function.bias = Vector::Zero(1);
    const absl::StatusOr<Model> loaded = LoadModel(SaveModel(model));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->options.at(field.name), other) << field.name;
    const absl::Status created = entry().create({{field.name, other}}).status();
    EXPECT_TRUE(created.ok() || IsRefusal(created)) << field.name << ": " << created;
  }
}

TEST_P(LearnerConformance, UnknownOptionsAndWrongTypesAreRefused) {
  EXPECT_EQ(entry().create({{"no_such_option", 1.0}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  for (const OptionField& field : entry().fields) {
    const OptionValue wrong = field.type == OptionType::kText || field.type == OptionType::kChoice
                                  ? OptionValue(true)
                                  : OptionValue("word");
    const absl::Status status = entry().create({{field.name, wrong}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field.name;
    ASSERT_FALSE(GetFieldViolations(status).empty()) << field.name;
    EXPECT_EQ(GetFieldViolations(status)[0].field, field.name);
  }
}

// No value that the user gave is ignored.
TEST_P(LearnerConformance, OptionsOfRegressionAreRefusedForClassification) {
  for (const OptionField& field : entry().fields) {
    EXPECT_EQ(field.doc.regression_only,
              field.doc.meaning.find("Regression only") != std::string::npos)
        << field.name;
    TrainingRecipe recipe;
    recipe.learner = entry().name;
    recipe.kind = kind();
    recipe.kernels.resize(entry().uses_kernels ? 1 : 0);
    recipe.options = {{field.name, field.default_value}};
    const absl::Status status = ValidateRecipe(entry(), recipe);
    if (field.doc.regression_only && kind() == TargetKind::kClassification) {
      ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
      EXPECT_EQ(GetFieldViolations(status)[0].field, "options." + field.name);
    } else {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST_P(LearnerConformance, ChoicesOfTheOtherKindOfTargetAreRefused) {
  for (const OptionField& field : entry().fields) {
    for (const std::string& choice : field.choices) {
      TrainingRecipe recipe;
      recipe.learner = entry().name;
      recipe.kind = kind();
      recipe.kernels.resize(entry().uses_kernels ? 1 : 0);
      recipe.options = WithWhatItNeeds(entry(), field.name, choice);
      const absl::Status status = ValidateRecipe(entry(), recipe);
      const bool fits = FitsKind(field, choice, kind() == TargetKind::kRegression);
      EXPECT_EQ(status.ok(), fits) << field.name << " = " << choice << ": " << status;
      if (!fits && !status.ok()) {
        ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
        EXPECT_EQ(GetFieldViolations(status)[0].field, "options." + field.name);
        const absl::Status started =
            Train(Problem(30, 2), {.options = {{field.name, choice}}}).status();
        ASSERT_EQ(GetFieldViolations(started).size(), 1u) << started;
        EXPECT_EQ(GetFieldViolations(started)[0].field, field.name);
      }
    }
  }
}

// What is right for an odd data set.
enum class Answer { kModel, kRefusal, kEither };

struct OddData {
  std::string what;
  Dataset data;
  Answer answer = Answer::kModel;
};

// Trains by a recipe without scaling, so that odd values reach the learner. A model must be finite,
// and predict finite values.
inline void ExpectAnswer(const LearnerCase& learner, const OddData& odd, KernelType type) {
  const std::string what = odd.what + ", " + std::string(KernelTypeName(type));
  TrainingRecipe recipe;
  recipe.learner = learner.entry->name;
  recipe.kind = learner.kind;
  recipe.preprocessing.scaling = Scaling::kNone;
  recipe.limits.max_iterations = 500;
  if (learner.entry->uses_kernels) {
    recipe.kernels.resize(2);
    recipe.kernels[0].prototype.type = type;
  }
  RunContext context;
  ConformanceObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe({learner.entry, &recipe, &odd.data, "", "v"}, {}, context, observer);
  EXPECT_TRUE(odd.answer == Answer::kEither || trained.ok() == (odd.answer == Answer::kModel))
      << what << ": " << trained.status();
  if (!trained.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(trained.status()) ||
                absl::IsFailedPrecondition(trained.status()))
        << what << ": " << trained.status();
    return;
  }
  EXPECT_TRUE(CheckModel(trained->model).ok()) << what;
  EXPECT_TRUE(std::isfinite(trained->model.certificate.primal)) << what;
  EXPECT_TRUE(std::isfinite(trained->model.certificate.dual)) << what;
  const absl::StatusOr<std::unique_ptr<Predictor>> predictor =
      Predictor::Make(std::make_shared<const Model>(trained->model));
  ASSERT_TRUE(predictor.ok()) << what << ": " << predictor.status();
  const absl::StatusOr<Prediction> prediction = (*predictor)->Predict(odd.data, {}, context);
  ASSERT_TRUE(prediction.ok()) << what << ": " << prediction.status();
  EXPECT_TRUE(prediction->decision_values.allFinite()) << what;
}

TEST_P(LearnerConformance, OddDataGivesAFiniteModelOrARefusal) {
  const auto data = [&](Index rows, Index columns) {
    return kind() == TargetKind::kRegression ? RegressionData(rows, columns, 4)
                                             : ClassificationData(rows, columns, 2, 4);
  };
  const auto with_values = [&](const std::function<void(RowMatrix&)>& change) {
    Dataset changed = data(24, 3);
    RowMatrix values = changed.blocks[0].values.view();
    change(values);
    changed.blocks[0].values = SharedMatrix(std::move(values));
    return changed;
  };
  const bool regression = kind() == TargetKind::kRegression;
  std::vector<OddData> cases = {
      {"no rows", data(0, 2), Answer::kRefusal},
      {"one row", data(1, 2),
       regression && entry().least_rows <= 1 ? Answer::kModel : Answer::kRefusal},
      {"two rows", data(2, 2)},
      {"one column", data(24, 1)},
      {"constant columns", with_values([](RowMatrix& values) { values.setConstant(3); })},
      {"zeros", with_values([](RowMatrix& values) { values.setZero(); })},
      {"duplicate rows",
       with_values([](RowMatrix& values) { values.bottomRows(12) = values.topRows(12); })},
      {"huge values", with_values([](RowMatrix& values) { values *= 1e12; }), Answer::kEither},
      {"tiny values", with_values([](RowMatrix& values) { values *= 1e-12; })},
      {"a missing value", with_values([](RowMatrix& values) { values(2, 1) = std::nan(""); }),
       Answer::kRefusal}};
  for (const double constant : {0.0, 1.0}) {
    Dataset one_target = data(24, 2);
    one_target.role_columns[0].values.setConstant(constant);
    cases.push_back({"one target value", std::move(one_target),
                     regression ? Answer::kModel : Answer::kRefusal});
  }
  if (regression) {
    for (const double scale : {1e12, 1e-12}) {
      Dataset scaled = data(24, 2);
      scaled.role_columns[0].values *= scale;
      cases.push_back({"targets of another scale", std::move(scaled)});
    }
  }
  for (const KernelType type : {KernelType::kGaussian, KernelType::kLinear}) {
    for (const OddData& odd : cases) {
      ExpectAnswer(GetParam(), odd, type);
    }
  }
}

// `problem` with one kernel that is given as a matrix.
inline TrainingProblem WithGramMatrix(TrainingProblem problem, RowMatrix gram) {
  PreparedData inputs = *problem.tasks[0].inputs;
  inputs.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(std::move(gram))});
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(inputs));
  problem.kernels.resize(1);
  problem.kernels[0].type = KernelType::kPrecomputed;
  problem.kernels[0].block = "gram";
  return problem;
}

TEST_P(LearnerConformance, IndefiniteKernelsGiveAFiniteModelOrARefusal) {
  if (!entry().uses_kernels) {
    GTEST_SKIP() << "no kernels";
  }
  RowMatrix gram = NormalMatrix(20, 20, 5);
  gram = (gram + gram.transpose()).eval();
  gram.diagonal() = gram.diagonal().cwiseAbs();
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(WithGramMatrix(Problem(20, 2, {1.0}), gram), {.max_iterations = 500});
  if (outcome.ok()) {
    EXPECT_TRUE(std::isfinite(outcome->certificate.primal));
    EXPECT_TRUE(outcome->point.function.bias.allFinite());
  } else {
    EXPECT_TRUE(IsRefusal(outcome.status())) << outcome.status();
  }
}

// exp(-|x - z|^2 / (2 s^2)) written out.
TEST_P(LearnerConformance, GivenKernelIsTrainedOnLikeAComputedOne) {
  if (!entry().uses_kernels) {
    GTEST_SKIP() << "no kernels";
  }
  const double bandwidth = 1.5;
  const TrainingProblem problem = Problem(40, 2, {bandwidth});
  const RowMatrix rows = problem.tasks[0].inputs->blocks[0].values.view();
  RowMatrix gram(40, 40);
  for (Index i = 0; i < 40; ++i) {
    for (Index j = 0; j < 40; ++j) {
      gram(i, j) =
          std::exp((rows.row(i) - rows.row(j)).squaredNorm() / (-2 * bandwidth * bandwidth));
    }
  }
  const absl::StatusOr<TrainingOutcome> computed = Train(problem, {.relative_gap = 1e-8});
  const absl::StatusOr<TrainingOutcome> given =
      Train(WithGramMatrix(problem, gram), {.relative_gap = 1e-8});
  ASSERT_TRUE(computed.ok() && given.ok()) << computed.status() << given.status();
  EXPECT_NEAR(given->certificate.primal, computed->certificate.primal,
              1e-6 * std::abs(computed->certificate.primal));
}

TEST_P(LearnerConformance, RowsOfCostZeroDoNotMatter) {
  TrainingProblem problem = Problem(60, 3);
  problem.tasks[0].costs.tail(20).setZero();
  problem.tasks[0].targets.bottomRows(20) *= -1;
  TrainingProblem without = problem;
  without.tasks[0].rows.resize(40);
  without.tasks[0].targets = problem.tasks[0].targets.topRows(40).eval();
  without.tasks[0].costs = Vector::Ones(40);
  const absl::StatusOr<TrainingOutcome> first = Train(problem, {.relative_gap = 1e-8});
  const absl::StatusOr<TrainingOutcome> second = Train(without, {.relative_gap = 1e-8});
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_NEAR(first->certificate.primal, second->certificate.primal,
              1e-6 * std::abs(second->certificate.primal));
}

}  // namespace mercer
