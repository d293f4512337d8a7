// Functions whose gradient is their own, by whole runs: against an independent solver, and what is
// true of any data.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/model/model.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/verification.h"
#include "core/training/terms/differentiable_term.h"
#include "tests/core/training/scripted_learner.h"
#include "tests/support/field_violation.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"
#include "tests/support/toy_data.h"

namespace mercer::coordinate_gradients {
namespace {

using nlohmann::json;

const LearnerEntry& OwnLearner() { return *FindLearner("coordinate_gradients"); }

TrainingOutcome TrainOwn(TrainingProblem problem, OptionValues options, double relative_gap) {
  options["own_gradient"] = true;
  problem.relative_gap = relative_gap;
  absl::StatusOr<TrainingOutcome> outcome = RunToGap(OwnLearner(), options, problem);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingOutcome();
}

Vector OwnNorms(const TrainingOutcome& outcome) {
  const Matrix& table = outcome.point.summary.tables.at(0).values;
  Vector norms(table.rows());
  for (Index place = 0; place < table.rows(); ++place) {
    norms(static_cast<Index>(table(place, 3)) - 1) = table(place, 1);
  }
  return norms;
}

void ExpectReference(const json& fixture, const TrainingProblem& problem,
                     const TrainingOutcome& outcome) {
  const json& expected = fixture["expected"];
  const double objective = expected["objective"];
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
  EXPECT_NEAR(outcome.certificate.primal, objective, 1e-7 * objective);
  EXPECT_LE(outcome.certificate.dual, objective * (1 + 1e-9));
  EXPECT_LE((OwnNorms(outcome) - JsonVector(expected["component_norms"])).cwiseAbs().maxCoeff(),
            1e-4);
  RunContext context;
  const ModelFunction& function = outcome.point.function;
  const Matrix train = EvaluateFunction(function, *problem.tasks[0].inputs, context).value();
  EXPECT_LE((train.col(0) - JsonVector(expected["f0_train"])).cwiseAbs().maxCoeff(), 1e-4);
  const PreparedData test = Prepared(RowMatrix(JsonMatrix(fixture["X_test"])));
  const Matrix values = EvaluateFunction(function, test, context).value();
  EXPECT_LE((values.col(0) - JsonVector(expected["f0_test"])).cwiseAbs().maxCoeff(), 1e-4);
  const Matrix gradients = EvaluateGradients(function, 0, test, context).value();
  EXPECT_LE((gradients - JsonMatrix(expected["grad_test"])).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(OwnGradientTest, OfAGaussianItIsThatOfTheReference) {
  const json fixture = ReadFixtureFile("coordinate-gradients/hessian_square.json");
  const TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, RowMatrix(JsonMatrix(fixture["X"])),
                  JsonVector(fixture["y"]), {fixture["kernel"]["sigma"].get<double>()});
  const OptionValues options = {{"C", fixture["C"].get<double>()},
                                {"loss", std::string("square")},
                                {"neighbors", int64_t{fixture["weights"]["k"].get<int64_t>()}}};
  ExpectReference(fixture, problem, TrainOwn(problem, options, 1e-9));
}

// All pairs with the weight 1 / m of the reference are all neighbours, whose weights are 1 / m^2.
TEST(OwnGradientTest, OfALinearKernelItIsThatOfTheReference) {
  const json fixture = ReadFixtureFile("coordinate-gradients/linear_hinge.json");
  TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, RowMatrix(JsonMatrix(fixture["X"])),
                  JsonVector(fixture["y"]), {1.0});
  problem.kernels[0] = KernelSpec();
  problem.kernels[0].type = KernelType::kLinear;
  const auto rows = static_cast<int64_t>(problem.tasks[0].rows.size());
  const OptionValues options = {{"C", static_cast<double>(rows) * fixture["C"].get<double>()},
                                {"loss", std::string("hinge")},
                                {"neighbors", rows}};
  ExpectReference(fixture, problem, TrainOwn(problem, options, 1e-9));
}

TrainingProblem OwnProblem(TargetKind kind, KernelType type) {
  const Dataset data =
      kind == TargetKind::kRegression ? RegressionData(40, 4, 3) : ClassificationData(40, 4, 2, 3);
  Matrix targets = data.role_columns[0].values;
  if (kind == TargetKind::kClassification) {
    targets = targets.unaryExpr([](double label) { return label > 0 ? 1.0 : -1.0; });
  }
  TrainingProblem problem =
      MakeProblem(kind, RowMatrix(data.blocks[0].values.view()), std::move(targets), {1.5});
  problem.kernels[0].type = type;
  return problem;
}

TEST(OwnGradientTest, EveryLossEndsCertifiedWithTheGradientOfItsFunction) {
  constexpr double kStep = 1e-5;
  for (const KernelType type : {KernelType::kGaussian, KernelType::kLinear}) {
    for (const std::string loss : {"square", "hinge", "squared_hinge", "auto"}) {
      const TargetKind kind =
          loss == "auto" ? TargetKind::kRegression : TargetKind::kClassification;
      TrainingProblem problem = OwnProblem(kind, type);
      problem.tasks[0].costs(7) = 0;
      const TrainingOutcome outcome = TrainOwn(problem, {{"loss", loss}}, 1e-6);
      EXPECT_EQ(outcome.stop_reason, StopReason::kConverged) << loss;
      RunContext context;
      const RowMatrix rows = problem.tasks[0].inputs->blocks[0].values.view();
      const ModelFunction& function = outcome.point.function;
      const Matrix gradients = EvaluateGradients(function, 0, Prepared(rows), context).value();
      for (Index l = 0; l < rows.cols(); ++l) {
        RowMatrix up = rows;
        RowMatrix down = rows;
        up.col(l).array() += kStep;
        down.col(l).array() -= kStep;
        const Matrix slope = (EvaluateFunction(function, Prepared(up), context).value() -
                              EvaluateFunction(function, Prepared(down), context).value()) /
                             (2 * kStep);
        EXPECT_LE((slope.col(0) - gradients.col(l)).cwiseAbs().maxCoeff(),
                  1e-6 * (1 + gradients.cwiseAbs().maxCoeff()))
            << loss;
      }
    }
  }
}

TEST(OwnGradientTest, TheCovarianceIsThatOfTheGradientsAtTheRows) {
  const TrainingProblem problem = OwnProblem(TargetKind::kClassification, KernelType::kGaussian);
  const TrainingOutcome outcome = TrainOwn(problem, {}, 1e-6);
  RunContext context;
  const Matrix gradients =
      EvaluateGradients(outcome.point.function, 0, *problem.tasks[0].inputs, context).value();
  const ModelTable& ranking = outcome.point.summary.tables.at(0);
  const ModelTable& covariance = outcome.point.summary.tables.at(1);
  for (Index a = 0; a < 4; ++a) {
    for (Index b = 0; b < 4; ++b) {
      const auto i = static_cast<Index>(ranking.values(a, 3)) - 1;
      const auto j = static_cast<Index>(ranking.values(b, 3)) - 1;
      EXPECT_NEAR(covariance.values(a, b), gradients.col(i).dot(gradients.col(j)) / 40, 1e-10);
    }
  }
}

TEST(OwnGradientTest, AFunctionThatIsNotThatOfItsWitnessIsRefused) {
  for (const KernelType type : {KernelType::kGaussian, KernelType::kLinear}) {
    const TrainingProblem problem = OwnProblem(TargetKind::kClassification, type);
    const TrainingOutcome outcome = TrainOwn(problem, {}, 1e-6);
    const auto reason = [&](auto change) {
      ModelFunction function = outcome.point.function;
      auto term = std::make_shared<DifferentiableTerm>(
          static_cast<const DifferentiableTerm&>(*function.terms[0]));
      change(*term);
      function.terms[0] = std::move(term);
      RunContext context;
      return GetReason(VerifyFunction(OwnLearner(), {{"own_gradient", true}}, problem, function,
                                      outcome.point.witness, context)
                           .status());
    };
    EXPECT_EQ(reason([](DifferentiableTerm&) {}), "");
    EXPECT_EQ(reason([](DifferentiableTerm& term) { term.Scale(1 + 1e-5); }), "WITNESS_MISMATCH");
  }
}

// Functions that are 0 have no directions, and their models are read again.
TEST(OwnGradientTest, TargetsWithoutAGradientHaveReadableModels) {
  for (const KernelType type : {KernelType::kGaussian, KernelType::kLinear}) {
    for (const bool constant_columns : {false, true}) {
      Dataset data = RegressionData(30, 3, 2);
      if (constant_columns) {
        data.blocks[0].values = SharedMatrix(RowMatrix(RowMatrix::Ones(30, 3)));
      } else {
        data.role_columns[0].values.setConstant(4);
      }
      TrainingRecipe recipe;
      recipe.learner = "coordinate_gradients";
      recipe.kind = TargetKind::kRegression;
      recipe.options["own_gradient"] = true;
      KernelGrid grid;
      grid.prototype.type = type;
      recipe.kernels = {grid};
      RunContext context;
      RecordingObserver observer;
      const auto trained =
          RunRecipe({&OwnLearner(), &recipe, &data, "digest", "version"}, {}, context, observer);
      ASSERT_TRUE(trained.ok()) << trained.status();
      EXPECT_TRUE(LoadModel(SaveModel(trained->model)).ok());
    }
  }
}

TEST(OwnGradientTest, OtherKernelsAreRefused) {
  const auto refused = [](auto change) {
    TrainingProblem problem = OwnProblem(TargetKind::kClassification, KernelType::kGaussian);
    change(problem);
    return Violation(RunToGap(OwnLearner(), {{"own_gradient", true}}, problem).status(),
                     "own_gradient");
  };
  EXPECT_EQ(refused([](TrainingProblem&) {}), "");
  EXPECT_NE(refused([](TrainingProblem& problem) {
              problem.kernels.push_back(problem.kernels[0]);
              problem.kernels[1].bandwidth = 3;
            }),
            "");
  EXPECT_NE(
      refused([](TrainingProblem& problem) { problem.kernels[0].type = KernelType::kLaplacian; }),
      "");
  EXPECT_NE(refused([](TrainingProblem& problem) {
              problem.kernels[0].normalization.scaling = KernelScaling::kTrace;
            }),
            "");
}

}  // namespace
}  // namespace mercer::coordinate_gradients
