// Solvers of multi-task problems against optima of an independent cone solver, and of the dual by
// another independent one for general exponents.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/solvers/multitask/alternation_solver.h"
#include "core/solvers/multitask/reweighted_solver.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "tests/core/solvers/multitask/multitask_test_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

using nlohmann::json;

json ReadMultitaskFixture(const std::string& name) {
  return ReadFixtureFile("sparse-multitask-svm/" + name + ".json");
}

MultitaskPoint PointOfBest(const MultitaskProblem& problem, const MultitaskBest& best) {
  RunContext context;
  auto point = EvaluateMultitask(problem, best.dual, best.weights, context);
  EXPECT_TRUE(point.ok()) << point.status();
  return *std::move(point);
}

void ExpectBounds(const MultitaskBest& best, const json& fixture) {
  const double objective = fixture["expected"]["objective"];
  const double allowed = fixture["tolerance"]["objective_rel"].get<double>() * objective;
  EXPECT_NEAR(best.primal, objective, allowed);
  EXPECT_NEAR(best.lower, objective, allowed);
}

void ExpectWithin(const Vector& actual, const json& expected, double allowed) {
  const Vector wanted = JsonVector(expected);
  ASSERT_EQ(actual.size(), wanted.size());
  EXPECT_LE((actual - wanted).cwiseAbs().maxCoeff(), allowed) << actual.transpose() << "\n"
                                                              << wanted.transpose();
}

// Of biases that are no single number the interval counts.
void ExpectBias(const BiasInterval& bias, const json& interval, double allowed) {
  const double low = interval[0].is_null() ? -kInfinity : interval[0].get<double>();
  const double high = interval[1].is_null() ? kInfinity : interval[1].get<double>();
  EXPECT_GE(bias.chosen, low - allowed);
  EXPECT_LE(bias.chosen, high + allowed);
}

void ExpectFunction(const MultitaskCase& given, const MultitaskPoint& point, const json& fixture) {
  const json& expected = fixture["expected"];
  const json& tolerance = fixture["tolerance"];
  Vector norms = given.problem.norm.JointNorms(point.Norms());
  Vector wanted = JsonVector(expected["block_norms"]);
  if (fixture["name"] == "degenerate_columns") {  // columns 0 and 5 are the same
    norms(0) += norms(5);
    wanted(0) += wanted(5);
    norms(5) = wanted(5) = 0;
  }
  EXPECT_LE((norms - wanted).cwiseAbs().maxCoeff(), tolerance["block_norms_abs"].get<double>())
      << norms.transpose() << "\n"
      << wanted.transpose();
  for (Index t = 0; t < given.problem.num_tasks(); ++t) {
    const auto i = static_cast<size_t>(t);
    SCOPED_TRACE(t);
    if (!tolerance["decision_abs"].is_number()) {
      ExpectBias(point.biases[i], expected["bias_interval"][i], 1e-12);
      continue;
    }
    const double allowed = tolerance["decision_abs"];
    ExpectBias(point.biases[i], expected["bias_interval"][i], allowed);
    ExpectWithin(TestDecision(given, point, t), expected["decision_test"][i], allowed);
    ExpectWithin(point.scores[i].array() + point.biases[i].chosen, expected["decision_train"][i],
                 allowed);
  }
}

class ConvexFixtureTest : public testing::TestWithParam<std::string> {};

TEST_P(ConvexFixtureTest, InteriorPointMatchesConeSolver) {
  const json fixture = ReadMultitaskFixture(GetParam());
  const MultitaskCase given = ReadMultitaskCase(fixture);
  RunContext context;
  WorkingSetSolver solver(given.problem, 0.1 * fixture["tolerance"]["gap_rel"].get<double>());
  ASSERT_EQ(solver.Start(context), absl::OkStatus());
  ASSERT_EQ(solver.Run(context), absl::OkStatus());
  RecordProperty("iterations", static_cast<int>(solver.iterations()));
  EXPECT_LE(solver.best().RelativeGap(), fixture["tolerance"]["gap_rel"].get<double>())
      << solver.iterations();
  EXPECT_GE(solver.best().RelativeGap(), -1e-12);
  ExpectBounds(solver.best(), fixture);
  ExpectFunction(given, PointOfBest(given.problem, solver.best()), fixture);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ConvexFixtureTest,
                         testing::Values("squared_linear", "plain_weighted", "squared_kernel",
                                         "grouped", "degenerate_columns", "plain_dead_zone",
                                         "squared_small_C", "squared_large_C", "one_class_task"),
                         [](const auto& fixture) { return fixture.param; });

TEST(AlternationFixtureTest, NewtonMatchesConeSolver) {
  for (const std::string name : {"squared_linear", "squared_kernel", "grouped", "one_class_task"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadMultitaskFixture(name);
    const MultitaskCase given = ReadMultitaskCase(fixture);
    RunContext context;
    AlternationSolver solver(given.problem,
                             {TaskWeightRule::kNewton, fixture["tolerance"]["gap_rel"], 200});
    ASSERT_EQ(solver.Start(context), absl::OkStatus());
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap) << solver.best().RelativeGap();
    ExpectBounds(solver.best(), fixture);
  }
}

// First-order methods reach the optimum from both sides, in sublinear time.
TEST(AlternationFixtureTest, ReducedGradientAndClosedFormEncloseTheOptimum) {
  for (const std::string name : {"squared_linear", "squared_kernel", "grouped"}) {
    const json fixture = ReadMultitaskFixture(name);
    const MultitaskCase given = ReadMultitaskCase(fixture);
    const double objective = fixture["expected"]["objective"];
    for (const TaskWeightRule rule :
         {TaskWeightRule::kClosedForm, TaskWeightRule::kReducedGradient}) {
      SCOPED_TRACE(name + (rule == TaskWeightRule::kClosedForm ? " closed form" : " gradient"));
      RunContext context;
      AlternationSolver solver(given.problem, {.rule = rule, .relative_gap = 1e-3});
      ASSERT_EQ(solver.Start(context), absl::OkStatus());
      ASSERT_EQ(solver.Run(context), absl::OkStatus());
      EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap)
          << solver.best().RelativeGap() << " after " << solver.iterations();
      EXPECT_GE(solver.best().primal, objective * (1 - 1e-9));
      EXPECT_LE(solver.best().primal, objective * (1 + 1e-3));
      EXPECT_LE(solver.best().lower, objective * (1 + 1e-9));
    }
  }
}

TEST(AlternationFixtureTest, GeneralExponentsMatchIndependentDuals) {
  for (const std::string name :
       {"lplq_below2", "lplq_above2", "lplq_mixed", "lplq_p2q2_separable"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadMultitaskFixture(name);
    const json& expected = fixture["expected"];
    const json& tolerance = fixture["tolerance"];
    const MultitaskCase given = ReadMultitaskCase(fixture);
    RunContext context;
    AlternationSolver solver(given.problem, {.relative_gap = tolerance["gap_rel"]});
    ASSERT_EQ(solver.Start(context), absl::OkStatus());
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap)
        << solver.best().RelativeGap() << " after " << solver.iterations();
    ExpectBounds(solver.best(), fixture);
    const MultitaskPoint point = PointOfBest(given.problem, solver.best());
    EXPECT_LE((point.Norms() - JsonMatrix(expected["norms"])).cwiseAbs().maxCoeff(),
              tolerance["norms_abs"].get<double>());
    for (Index t = 0; t < given.problem.num_tasks(); ++t) {
      ExpectWithin(TestDecision(given, point, t), expected["decision_test"][static_cast<size_t>(t)],
                   tolerance["decision_abs"]);
    }
  }
}

TEST(ReweightedFixtureTest, EveryStepMatchesTheReferencePath) {
  for (const std::string name : {"mm_plain_half", "mm_squared_half"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadMultitaskFixture(name);
    const json& expected = fixture["expected"];
    const json& tolerance = fixture["tolerance"];
    const MultitaskCase given = ReadMultitaskCase(fixture);
    RunContext context;
    ReweightedSolver solver(given.problem, {.p = fixture["p"],
                                            .smoothing = fixture["epsilon"],
                                            .relative_decrease = 1e-11,
                                            .relative_gap = 1e-10});
    ASSERT_EQ(solver.Start(context), absl::OkStatus());
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    const auto& steps = solver.steps();
    const json& path = expected["path"];
    ASSERT_GE(steps.size(), path.size());
    for (size_t s = 0; s < path.size(); ++s) {
      SCOPED_TRACE(s);
      const double relative = tolerance["path_objective_rel"];
      const double convex = path[s]["convex_objective"];
      EXPECT_NEAR(steps[s].convex_objective, convex, relative * convex);
      const double objective = path[s]["objective"];
      EXPECT_NEAR(steps[s].objective, objective, relative * objective);
      ExpectWithin(steps[s].joint_norms, path[s]["block_norms"], tolerance["path_block_norms_abs"]);
      const Vector beta = JsonVector(path[s]["beta"]);
      EXPECT_TRUE(steps[s].block_weights.isApprox(beta, 1e-3));
      if (s > 0) {
        EXPECT_LE(steps[s].objective, steps[s - 1].objective * (1 + 1e-9));
      }
    }
    const double last = expected["objective"];
    EXPECT_NEAR(steps.back().objective, last, tolerance["objective_rel"].get<double>() * last);
    ExpectWithin(steps.back().joint_norms, expected["block_norms"], tolerance["block_norms_abs"]);
    EXPECT_GE(solver.stationarity(), -1e-12);
    EXPECT_LE(solver.stationarity(), 1e-4);
    for (Index t = 0; t < given.problem.num_tasks(); ++t) {
      ExpectWithin(TestDecision(given, solver.point(), t),
                   expected["decision_test"][static_cast<size_t>(t)], tolerance["decision_abs"]);
    }
  }
}

}  // namespace
}  // namespace mercer
