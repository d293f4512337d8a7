// Learning gradients with coordinate weights, by whole runs: against an independent solver, and what
// is true of any data.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/contract/target_unit.h"
#include "core/training/model/predictor.h"
#include "core/training/run/verification.h"
#include "core/training/terms/gradient_term.h"
#include "tests/support/field_violation.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"
#include "tests/support/toy_data.h"

namespace mercer::coordinate_gradients {
namespace {

using nlohmann::json;

absl::StatusOr<TrainingOutcome> Train(TrainingProblem problem, const OptionValues& options,
                                      double relative_gap) {
  problem.relative_gap = relative_gap;
  return RunToGap(*FindLearner("coordinate_gradients"), options, problem);
}

TrainingOutcome MustTrain(const TrainingProblem& problem, const OptionValues& options,
                          double relative_gap = 1e-7) {
  absl::StatusOr<TrainingOutcome> outcome = Train(problem, options, relative_gap);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingOutcome();
}

// By column: those of the table are in the order of the ranking.
Vector ColumnOf(const TrainingOutcome& outcome, Index property) {
  const Matrix& table = outcome.point.summary.tables.at(0).values;
  Vector values(table.rows());
  for (Index place = 0; place < table.rows(); ++place) {
    values(static_cast<Index>(table(place, 3)) - 1) = table(place, property);
  }
  return values;
}

Vector Scores(const TrainingOutcome& outcome) { return ColumnOf(outcome, 0); }

struct LearnerFixture {
  json file;
  TrainingProblem problem;
  OptionValues options;
};

LearnerFixture ReadLearnerFixture(const std::string& name) {
  LearnerFixture fixture{ReadFixtureFile("coordinate-gradients/" + name + ".json"), {}, {}};
  const json& file = fixture.file;
  const bool regression =
      file["description"].get<std::string>().find("real targets") != std::string::npos;
  fixture.problem = MakeProblem(regression ? TargetKind::kRegression : TargetKind::kClassification,
                                RowMatrix(JsonMatrix(file["X"])), JsonVector(file["y"]),
                                {file["kernel"]["sigma"].get<double>()});
  const std::string loss = file["loss"];
  const json& weights = file["weights"];
  fixture.options = {{"C", file["C"].get<double>()},
                     {"loss", loss == "sqhinge" ? std::string("squared_hinge") : loss},
                     {"column_weights", std::string(file["model"] == "grad" ? "fixed" : "learned")},
                     {"neighbors", int64_t{weights["k"].get<int64_t>()}},
                     {"include_self", weights["include_self"].get<bool>()}};
  return fixture;
}

class GradientLearnerFixture : public testing::TestWithParam<const char*> {};

TEST_P(GradientLearnerFixture, MatchesTheReference) {
  const LearnerFixture given = ReadLearnerFixture(GetParam());
  const TrainingProblem& problem = given.problem;
  const json& fixture = given.file;
  const json& expected = fixture["expected"];
  const TrainingOutcome outcome = MustTrain(problem, given.options, 1e-9);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
  const double objective = expected["objective"];
  EXPECT_NEAR(outcome.certificate.primal, objective, 1e-7 * objective);
  EXPECT_LE(outcome.certificate.dual, objective * (1 + 1e-9));
  const Vector scores = JsonVector(expected["scores"]);
  EXPECT_LE((Scores(outcome) - scores).cwiseAbs().maxCoeff(), 1e-4);
  RunContext context;
  const absl::StatusOr<Matrix> values =
      EvaluateFunction(outcome.point.function, *problem.tasks[0].inputs, context);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_LE((values->col(0) - JsonVector(expected["f0_train"])).cwiseAbs().maxCoeff(), 1e-4);

  const PreparedData test = Prepared(RowMatrix(JsonMatrix(fixture["X_test"])));
  const auto gradients = TermsOf<GradientTerm>(outcome.point.function.terms);
  ASSERT_EQ(gradients.size(), 1);
  const auto evaluate = gradients[0]->MakeValues(outcome.point.function.place(), context);
  ASSERT_TRUE(evaluate.ok()) << evaluate.status();
  const Matrix of_test = JsonMatrix(expected["grad_test"]);
  Matrix found = Matrix::Zero(of_test.rows(), of_test.cols());
  ASSERT_TRUE((*evaluate)->AddGradients(test, 0, found, context).ok());
  EXPECT_LE((found - of_test).cwiseAbs().maxCoeff(), 1e-4 * (1 + of_test.cwiseAbs().maxCoeff()));
  const absl::StatusOr<Matrix> at_test = EvaluateFunction(outcome.point.function, test, context);
  ASSERT_TRUE(at_test.ok()) << at_test.status();
  EXPECT_LE((at_test->col(0) - JsonVector(expected["f0_test"])).cwiseAbs().maxCoeff(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Files, GradientLearnerFixture,
                         testing::Values("gradkl_square", "gradkl_sqhinge_wide",
                                         "grad_square_regression", "grad_hinge",
                                         "gradkl_hinge_figure1"));

TEST(CoordinateGradientsTest, ThePapersLinearProgramsMatchTheReference) {
  for (const char* name : {"gradkl_square", "gradkl_square_duplicates", "gradkl_sqhinge_wide",
                           "gradkl_hinge_figure1", "gradkl_hinge_all_at_bound"}) {
    LearnerFixture given = ReadLearnerFixture(name);
    given.options["method"] = std::string("silp");
    const TrainingOutcome outcome = MustTrain(given.problem, given.options, 1e-7);
    EXPECT_EQ(outcome.stop_reason, StopReason::kConverged) << name;
    const double objective = given.file["expected"]["objective"];
    EXPECT_NEAR(outcome.certificate.primal, objective, 2e-7 * objective) << name;
    EXPECT_LE(outcome.certificate.dual, objective * (1 + 1e-9)) << name;
    if (std::string(name) != "gradkl_square_duplicates") {  // whose weights are not unique
      const Vector scores = JsonVector(given.file["expected"]["scores"]);
      EXPECT_LE((Scores(outcome) - scores).cwiseAbs().maxCoeff(), 1e-3) << name;
    }
  }
}

// A disc in a ring, and twenty columns of small noise.
TrainingProblem RingProblem(uint64_t seed) {
  constexpr Index kRows = 60;
  RandomStream random(seed, "ring");
  RowMatrix values(kRows, 22);
  Matrix targets(kRows, 1);
  for (Index i = 0; i < kRows; ++i) {
    targets(i, 0) = i % 2 == 0 ? 1 : -1;
    const double angle = 2 * std::numbers::pi * random.Uniform();
    const double radius = i % 2 == 0 ? 0.8 * random.Uniform() : 1.2 + 0.8 * random.Uniform();
    values(i, 0) = radius * std::cos(angle);
    values(i, 1) = radius * std::sin(angle);
    for (Index l = 2; l < 22; ++l) {
      values(i, l) = 0.1 * random.Normal();
    }
  }
  return MakeProblem(TargetKind::kClassification, std::move(values), std::move(targets), {1.5});
}

TEST(CoordinateGradientsTest, TheColumnsOfARingAreFoundAmongNoise) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const TrainingProblem problem = RingProblem(seed);
    OptionValues options = {{"loss", std::string("hinge")}};
    const Vector learned = Scores(MustTrain(problem, options, 1e-4));
    EXPECT_GE(learned.head(2).sum(), 0.99) << seed;
    options["column_weights"] = std::string("fixed");
    EXPECT_LT(Scores(MustTrain(problem, options, 1e-4)).head(2).sum(), 0.5) << seed;
  }
}

TEST(CoordinateGradientsTest, ThePapersStepsLeadToTheSameOptimum) {
  const TrainingProblem problem = RingProblem(7);
  for (const char* loss : {"square", "squared_hinge"}) {
    OptionValues options = {{"loss", std::string(loss)}};
    const double newton = MustTrain(problem, options).certificate.primal;
    options["method"] = std::string("alternation");
    const TrainingOutcome slow = MustTrain(problem, options, 1e-3);
    EXPECT_NEAR(slow.certificate.primal, newton, 2e-3 * newton) << loss;
    options["max_steps"] = int64_t{5};
    const TrainingOutcome early = MustTrain(problem, options, 1e-9);
    EXPECT_EQ(early.stop_reason, StopReason::kIterationLimit) << loss;
    EXPECT_LE(early.certificate.dual, newton * (1 + 1e-9)) << loss;
    EXPECT_GE(early.certificate.primal, newton * (1 - 1e-6)) << loss;
  }
}

TEST(CoordinateGradientsTest, RowsWithoutWeightTakeNoPart) {
  TrainingProblem problem = RingProblem(3);
  TaskData& task = problem.tasks[0];
  TrainingProblem fewer = problem;
  std::vector<Index> kept;
  for (Index i = 0; i < 60; ++i) {
    task.costs(i) = i % 5 == 0 ? 0.0 : 1.0;
    if (i % 5 != 0) {
      kept.push_back(i);
    }
  }
  fewer.tasks[0] = Narrow(fewer.tasks[0], kept);
  const double primal = MustTrain(fewer, {}).certificate.primal;
  EXPECT_NEAR(MustTrain(problem, {}).certificate.primal, primal, 1e-9 * primal);
}

TEST(CoordinateGradientsTest, TheCovarianceIsThatOfTheFirstColumns) {
  const TrainingOutcome outcome = MustTrain(RingProblem(1), {{"covariance_columns", int64_t{2}}});
  const std::vector<ModelTable>& tables = outcome.point.summary.tables;
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[1].rows, tables[1].columns);
  EXPECT_EQ(tables[1].rows.size(), 2u);
  const Matrix& values = tables[1].values;
  EXPECT_NEAR(values(0, 0), std::pow(tables[0].values(0, 1), 2), 1e-9 * values(0, 0));
  EXPECT_NEAR(values(0, 1), values(1, 0), 1e-12 * values(0, 0));
  EXPECT_GE(values(0, 0) * values(1, 1), values(0, 1) * values(1, 0));
  EXPECT_EQ(
      MustTrain(RingProblem(1), {{"covariance_columns", int64_t{0}}}).point.summary.tables.size(),
      1u);
}

TEST(CoordinateGradientsTest, TablesAreInTheUnitOfTheTargets) {
  constexpr double kUnit = 1000;
  TrainingProblem problem = RingProblem(4);
  problem.kind = TargetKind::kRegression;
  TrainingProblem larger = problem;
  larger.tasks[0].targets *= kUnit;
  StandardizeTargets(problem);
  StandardizeTargets(larger);
  const OptionValues options = {{"covariance_columns", int64_t{2}}};
  const TrainingOutcome outcome = MustTrain(problem, options);
  const TrainingOutcome of_larger = MustTrain(larger, options);
  EXPECT_TRUE(Scores(of_larger).isApprox(Scores(outcome), 1e-6));
  EXPECT_TRUE(ColumnOf(of_larger, 1).isApprox(kUnit * ColumnOf(outcome, 1), 1e-6));
  EXPECT_TRUE(ColumnOf(of_larger, 2).isApprox(kUnit * kUnit * ColumnOf(outcome, 2), 1e-6));
  EXPECT_TRUE(of_larger.point.summary.tables.at(1).values.isApprox(
      kUnit * kUnit * outcome.point.summary.tables.at(1).values, 1e-6));
}

TEST(CoordinateGradientsTest, AGradientThatIsNotThatOfItsWitnessIsRefused) {
  const TrainingProblem problem = RingProblem(5);
  const TrainingOutcome outcome = MustTrain(problem, {});
  RunContext context;
  const auto verify = [&](const ModelFunction& function) {
    return VerifyFunction(*FindLearner("coordinate_gradients"), {}, problem, function,
                          outcome.point.witness, context)
        .status();
  };
  EXPECT_EQ(verify(outcome.point.function), absl::OkStatus());
  const auto with = [&](auto change) {
    ModelFunction function = outcome.point.function;
    auto term =
        std::make_shared<GradientTerm>(static_cast<const GradientTerm&>(*function.terms[1]));
    change(*term);
    function.terms[1] = std::move(term);
    return GetReason(verify(function));
  };
  EXPECT_EQ(with([](GradientTerm&) {}), "");
  EXPECT_EQ(with([](GradientTerm& term) { term.functions.coefficients.coeffs() *= 1 + 1e-6; }),
            "WITNESS_MISMATCH");
  EXPECT_EQ(with([](GradientTerm& term) {
              term.functions.coefficients.coeffs()(0) += 1e-6 * term.functions.coefficients.norm();
            }),
            "WITNESS_MISMATCH");
  EXPECT_EQ(with([](GradientTerm& term) {
              for (Index& column : term.columns) {
                column = 21 - column;
              }
              std::sort(term.columns.begin(), term.columns.end());
            }),
            "WITNESS_MISMATCH");
  ModelFunction without = outcome.point.function;
  without.terms.pop_back();
  EXPECT_EQ(GetReason(verify(without)), "WITNESS_MISMATCH");
}

TEST(CoordinateGradientsTest, OddColumnsHaveNoScore) {
  const TrainingProblem problem = RingProblem(2);
  const Vector before = Scores(MustTrain(problem, {}));
  RowMatrix values(60, 24);
  values.leftCols(22) = problem.tasks[0].inputs->blocks[0].values.view();
  values.col(22).setConstant(3);
  values.col(23).setZero();
  TrainingProblem more =
      MakeProblem(TargetKind::kClassification, values, problem.tasks[0].targets, {1.5});
  const Vector after = Scores(MustTrain(more, {}));
  EXPECT_EQ(after(22), 0);
  EXPECT_EQ(after(23), 0);
  EXPECT_LE((after.head(22) - before).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(CoordinateGradientsTest, TargetsThatAreZeroHaveTheZeroFunction) {
  TrainingProblem problem = RingProblem(2);
  problem.kind = TargetKind::kRegression;
  problem.tasks[0].targets.setZero();
  const TrainingOutcome outcome = MustTrain(problem, {});
  EXPECT_EQ(outcome.stop_reason, StopReason::kObjectiveZero);
  EXPECT_EQ(Scores(outcome).sum(), 0);
}

TEST(CoordinateGradientsTest, WhatCannotBeTrainedOnIsNamed) {
  const TrainingProblem problem = RingProblem(1);
  const auto refused = [](const TrainingProblem& given, const OptionValues& options) {
    return Train(given, options, 1e-3).status();
  };
  EXPECT_NE(Violation(refused(problem, {{"neighbors", int64_t{61}}}), "neighbors"), "");
  EXPECT_NE(Violation(refused(problem, {{"neighbors", int64_t{1}}}), "neighbors"), "");
  EXPECT_NE(Violation(refused(problem, {{"neighbors", int64_t{60}}, {"include_self", false}}),
                      "neighbors"),
            "");
  EXPECT_NE(Violation(refused(problem, {{"pairs", std::string("gaussian")}, {"pair_width", 1e-9}}),
                      "pair_width"),
            "");
  EXPECT_NE(Violation(refused(problem, {{"C", 1e200}}), "C"), "");
  TrainingProblem one_class = problem;
  one_class.tasks[0].targets.setOnes();
  EXPECT_EQ(GetReason(refused(one_class, {})), "ONE_CLASS");
  TrainingProblem numbers = problem;
  numbers.kind = TargetKind::kRegression;
  EXPECT_NE(Violation(refused(numbers, {{"loss", std::string("hinge")}}), "loss"), "");
  TrainingProblem alone = problem;
  alone.tasks[0].costs.setZero();
  alone.tasks[0].costs(0) = 1;
  EXPECT_FALSE(refused(alone, {}).ok());
}

}  // namespace
}  // namespace mercer::coordinate_gradients
