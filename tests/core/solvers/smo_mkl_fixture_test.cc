// SmoMklSolver against solutions of an independent cone solver: the penalised form, and the constrained one.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/solvers/smo_mkl_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

using nlohmann::json;

struct FixtureProblem {
  std::vector<Matrix> factors;
  std::vector<Matrix> test_factors;
  GramFamily family;
  SvmProblem problem;
};

FixtureProblem ReadProblem(const json& input, double c) {
  std::vector<Matrix> factors;
  std::vector<Matrix> test_factors;
  std::vector<Matrix> grams;
  for (const json& factor : input["V"]) {
    factors.push_back(JsonMatrix(factor));
    grams.push_back(factors.back() * factors.back().transpose());
  }
  for (const json& factor : input["V_test"]) {
    test_factors.push_back(JsonMatrix(factor));
  }
  const Vector labels = JsonVector(input["y"]);
  return {std::move(factors),
          std::move(test_factors),
          GramFamily(std::move(grams)),
          {SharedLoss(LossKind::kHinge), labels, Vector::Constant(labels.size(), c)}};
}

// sum_k weights(k) rows_k factors_k' dual.
Vector Decision(const FixtureProblem& given, const std::vector<Matrix>& rows,
                const SmoMklPoint& point) {
  Vector values = Vector::Zero(rows[0].rows());
  for (size_t k = 0; k < rows.size(); ++k) {
    values += point.weights(static_cast<Index>(k)) *
              (rows[k] * (given.factors[k].transpose() * point.dual));
  }
  return values;
}

void ExpectWithin(const Vector& actual, const json& expected, const json& tolerance) {
  EXPECT_LE((actual - JsonVector(expected)).cwiseAbs().maxCoeff(), tolerance.get<double>());
}

void ExpectSolution(const FixtureProblem& given, const SmoMklSolver& solver, const json& fixture) {
  const json& expected = fixture["expected"];
  const json& tolerance = fixture["tolerance"];
  const SmoMklPoint& point = solver.best();
  EXPECT_EQ(solver.stop(), SmoMklStop::kRelativeGap) << point.certificate.RelativeGap();
  const double objective = expected["objective"];
  const double allowed = tolerance["objective_rel"].get<double>() * objective;
  EXPECT_NEAR(point.certificate.primal, objective, allowed);
  EXPECT_NEAR(point.certificate.dual, objective, allowed);
  EXPECT_NEAR(point.certificate.bias, expected["bias"].get<double>(),
              tolerance["bias_abs"].get<double>());
  ExpectWithin(point.weights, expected["weights"], tolerance["weights_abs"]);
  ExpectWithin(Decision(given, given.factors, point), expected["decision_without_bias_train"],
               tolerance["decision_abs"]);
  ExpectWithin(Decision(given, given.test_factors, point), expected["decision_without_bias_test"],
               tolerance["decision_abs"]);
}

TEST(SmoMklFixtureTest, PenalisedFormMatchesConeSolver) {
  const json fixture = ReadFixtureFile("lowrank-lp-mkl/tikhonov_p2.json");
  const json& input = fixture["input"];
  const FixtureProblem given = ReadProblem(input, input["C"]);
  const auto solver = SolveSmoMkl(given.family, given.problem,
                                  {.p = input["p"],
                                   .weight_penalty = input["lambda"],
                                   .relative_gap = fixture["tolerance"]["solve_to_gap_rel"]});
  ExpectSolution(given, *solver, fixture);
  EXPECT_NEAR(solver->best().weights.norm(), fixture["expected"]["weights_p_norm"].get<double>(),
              fixture["tolerance"]["weights_abs"].get<double>());
}

TEST(SmoMklFixtureTest, ConstrainedFormOfTheSameCostsMatchesConeSolver) {
  const json fixture = ReadFixtureFile("lowrank-lp-mkl/tikhonov_p2.json");
  const json& expected = fixture["expected"];
  const FixtureProblem given = ReadProblem(fixture["input"], expected["constrained_C"]);
  const auto solver = SolveSmoMkl(given.family, given.problem, {.p = 2.0, .relative_gap = 1e-9});
  const json& tolerance = fixture["tolerance"];
  ExpectWithin(solver->best().weights, expected["constrained_weights"], tolerance["weights_abs"]);
  EXPECT_NEAR(solver->best().certificate.bias, expected["bias"].get<double>(),
              tolerance["bias_abs"].get<double>());
  ExpectWithin(Decision(given, given.test_factors, solver->best()),
               expected["decision_without_bias_test"], tolerance["decision_abs"]);
}

TEST(SmoMklFixtureTest, ConstrainedFormMatchesConeSolver) {
  for (const std::string name : {"lowrank_p1_1", "lowrank_p2_bigC", "lowrank_p4_imbalanced"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadFixtureFile("lowrank-lp-mkl/" + name + ".json");
    const json& input = fixture["input"];
    const FixtureProblem given = ReadProblem(input, input["C"]);
    const auto solver =
        SolveSmoMkl(given.family, given.problem,
                    {.p = input["p"], .relative_gap = fixture["tolerance"]["solve_to_gap_rel"]});
    ExpectSolution(given, *solver, fixture);
  }
}

}  // namespace
}  // namespace mercer
