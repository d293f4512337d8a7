// The fixtures of an independent cone solver; factors enter through their Gram matrices.
#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/training/targets/output_coding.h"
#include "tests/core/learners/lp_mkl/lp_mkl_fixture_checks.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

using nlohmann::json;

Vector Decision(const FixtureCase& given, const std::vector<Matrix>& rows, const Fit& fit) {
  Vector values = Vector::Zero(rows[0].rows());
  for (size_t k = 0; k < rows.size(); ++k) {
    values += fit.weights()(static_cast<Index>(k)) *
              (rows[k] * (given.factors[k].transpose() * fit.dual()));
  }
  return values;
}

// Empty where the fixture has no test rows.
Vector TestDecision(const FixtureCase& given, const Fit& fit) {
  return given.test_factors.empty() ? Vector() : Decision(given, given.test_factors, fit);
}

void CheckCase(const json& fixture, OptionValues more, const std::string& name) {
  FixtureCase given = ReadCase(fixture["input"]);
  const std::string what = fixture.value("name", fixture.value("title", "")) + " " + name;
  given.options.merge(more);
  const json& tolerance = fixture["tolerance"];
  const absl::StatusOr<Fit> fit =
      Train(given.problem, given.options, tolerance["solve_to_gap_rel"].get<double>());
  ASSERT_TRUE(fit.ok()) << what << ": " << fit.status();
  ExpectFixture(fixture, *fit, tolerance["objective_rel"].get<double>(),
                {Decision(given, given.factors, *fit), TestDecision(given, *fit)}, what);
}

TEST(LpMklFixtureTest, FactorsThroughTheirGramsMatchConeSolver) {
  for (const char* name :
       {"lowrank_p1", "lowrank_p1_1", "lowrank_p2_bigC", "lowrank_p4_imbalanced"}) {
    CheckCase(ReadFixture(name), {}, name);
  }
}

TEST(LpMklFixtureTest, EverySolverAndOuterLoopMatchesConeSolver) {
  const json fixture = ReadFixture("lowrank_p1_1");
  for (const char* inner : {"newton", "smo"}) {
    CheckCase(fixture, {{"inner_solver", std::string(inner)}}, inner);
  }
  for (const char* outer : {"over_relaxed", "alternation"}) {
    CheckCase(fixture, {{"outer_loop", std::string(outer)}}, outer);
  }
  for (const char* name : {"lowrank_p1_1", "lowrank_p2_bigC", "lowrank_p4_imbalanced"}) {
    CheckCase(ReadFixture(name), {{"outer_loop", std::string("smo_mkl")}}, "smo_mkl");
  }
}

TEST(LpMklFixtureTest, DegenerateInputsMatchConeSolver) {
  const json fixture = ReadFixture("edge_cases");
  for (const json& edge : fixture["cases"]) {
    if (!edge["expected"].contains("error")) {
      CheckCase(edge, {}, "");
    }
  }
}

// What the refusal is about: the reason of the status, or the option that is wrong.
std::string Meaning(const absl::Status& status) {
  const std::vector<FieldViolation> violations = GetFieldViolations(status);
  if (!violations.empty()) {
    return "bad_" + violations[0].field;
  }
  const std::string reason = GetReason(status);
  return reason == "ONE_CLASS" ? "one_class" : (reason == "BAD_LABEL" ? "bad_labels" : reason);
}

TEST(LpMklFixtureTest, BadInputIsRefusedWithItsMeaning) {
  int refused = 0;
  const json fixture = ReadFixture("edge_cases");
  for (const json& edge : fixture["cases"]) {
    if (edge["expected"].contains("error")) {
      const FixtureCase given = ReadCase(edge["input"]);
      const absl::StatusOr<Fit> fit = Train(given.problem, given.options, 1e-6);
      ASSERT_FALSE(fit.ok()) << edge["name"];
      EXPECT_TRUE(absl::IsInvalidArgument(fit.status())) << fit.status();
      EXPECT_EQ(Meaning(fit.status()), edge["expected"]["error"].get<std::string>())
          << fit.status();
      ++refused;
    }
  }
  EXPECT_EQ(refused, 5);
}

TEST(LpMklFixtureTest, GaussianKernelsMatchConeSolver) {
  const json fixture = ReadFixture("gaussian_nystrom");
  const json& input = fixture["input"];
  const json& expected = fixture["expected"]["exact_gram"];
  const RowMatrix x = FixtureMatrix(input["X"]);
  const RowMatrix x_test = FixtureMatrix(input["X_test"]);
  const std::vector<double> sigmas = input["sigma"].get<std::vector<double>>();
  const TrainingProblem problem = GaussianProblem(x, FixtureVector(input["y"]), sigmas);
  const absl::StatusOr<Fit> fit =
      Train(problem, {{"p", input["p"].get<double>()}, {"C", input["C"].get<double>()}}, 1e-9);
  ASSERT_TRUE(fit.ok()) << fit.status();
  const json& tolerance = fixture["tolerance"];
  ExpectObjective(*fit, expected["objective"].get<double>(),
                  tolerance["objective_rel"].get<double>(), "gaussian");
  ExpectWeights(*fit, expected, fixture["unique"], tolerance, "gaussian");
  ExpectBias(*fit, expected, fixture["unique"], tolerance, "gaussian");
  Vector test_values = Vector::Zero(x_test.rows());
  for (size_t k = 0; k < sigmas.size(); ++k) {
    test_values +=
        fit->weights()(static_cast<Index>(k)) * (GaussianGram(x_test, x, sigmas[k]) * fit->dual());
  }
  ExpectClose(test_values, FixtureVector(expected["decision_without_bias_test"]),
              tolerance["decision_abs"], "gaussian");
}

TEST(LpMklFixtureTest, CertificateFormulasMatchAtInfeasiblePoint) {
  const json fixture = ReadFixture("certificate_p1_5");
  const FixtureCase given = ReadCase(fixture["input"]);
  const json& expected = fixture["expected"];
  const double slack = fixture["tolerance"]["abs"].get<double>();
  const double p = fixture["input"]["p"].get<double>();
  const Vector labels = FixtureVector(fixture["input"]["y"]);
  const Vector costs = Vector::Constant(labels.size(), fixture["input"]["C"].get<double>());
  const Vector weights = FixtureVector(fixture["input"]["weights"]);
  const auto loss = *MakeLoss(LossKind::kHinge);
  Vector dual = FixtureVector(fixture["input"]["alpha"]).cwiseProduct(labels);
  loss->RepairDual(labels, costs, true, dual);
  ExpectClose(dual.cwiseProduct(labels), FixtureVector(expected["alpha_repaired"]),
              fixture["tolerance"]["abs"], "dual");
  Vector energies(weights.size());
  Vector scores = Vector::Zero(labels.size());
  for (size_t k = 0; k < given.factors.size(); ++k) {
    const Vector image = given.factors[k].transpose() * dual;
    energies(static_cast<Index>(k)) = image.squaredNorm();
    scores += weights(static_cast<Index>(k)) * (given.factors[k] * image);
  }
  ExpectClose(energies, FixtureVector(expected["s"]), fixture["tolerance"]["abs"], "energies");
  const PointBounds bounds =
      BoundPoint({*loss, labels, costs, LpBall(p), weights, dual, energies, scores}, RunContext())
          .value();
  EXPECT_NEAR(bounds.dual, expected["dual_best_scaled"].get<double>(), slack);
  EXPECT_NEAR(bounds.dual_scale, expected["best_scale"].get<double>(), slack);
  EXPECT_NEAR(bounds.primal, expected["primal_block_norm"].get<double>(), slack);
  EXPECT_NEAR(bounds.primal - bounds.dual, expected["gap"].get<double>(), slack);
  const Vector norms = weights.array() * energies.array().sqrt();
  ExpectClose(WeightsFromNorms(norms, p, weights), FixtureVector(expected["weights_after_update"]),
              fixture["tolerance"]["abs"], "closed form");
  ExpectClose(OverRelaxedWeights(weights, energies, p),
              FixtureVector(expected["weights_overrelaxed"]), fixture["tolerance"]["abs"],
              "over-relaxed");
}

// The binary problem of one output of a multi-class coding, and its decision values on the test
// rows.
struct BinaryResult {
  Fit fit;
  Vector test_values;
};

absl::StatusOr<BinaryResult> SolveBinary(const json& input, const std::vector<Index>& rows,
                                         const Vector& targets) {
  const RowMatrix all = FixtureMatrix(input["X"]);
  const RowMatrix x_test = FixtureMatrix(input["X_test"]);
  RowMatrix x(static_cast<Index>(rows.size()), all.cols());
  for (size_t i = 0; i < rows.size(); ++i) {
    x.row(static_cast<Index>(i)) = all.row(rows[i]);
  }
  const std::vector<double> sigmas = input["sigma"].get<std::vector<double>>();
  absl::StatusOr<Fit> fit =
      Train(GaussianProblem(x, targets, sigmas),
            {{"p", input["p"].get<double>()}, {"C", input["C"].get<double>()}}, 1e-9);
  if (!fit.ok()) {
    return fit.status();
  }
  Vector values = Vector::Constant(x_test.rows(), fit->bias());
  for (size_t k = 0; k < sigmas.size(); ++k) {
    values +=
        fit->weights()(static_cast<Index>(k)) * (GaussianGram(x_test, x, sigmas[k]) * fit->dual());
  }
  return BinaryResult{*std::move(fit), std::move(values)};
}

TEST(LpMklFixtureTest, OutputsOfMultiClassCodingsMatchConeSolver) {
  const json fixture = ReadFixture("multiclass");
  const std::vector<double> labels = fixture["input"]["label"].get<std::vector<double>>();
  for (const char* coding : {"one_vs_all", "one_vs_one"}) {
    for (const json& output : fixture["expected"][coding]) {
      std::vector<Index> rows;
      std::vector<double> signs;
      for (size_t i = 0; i < labels.size(); ++i) {
        const bool positive = labels[i] == output["positive"].get<double>();
        if (positive || !output.contains("negative") ||
            labels[i] == output["negative"].get<double>()) {
          rows.push_back(static_cast<Index>(i));
          signs.push_back(positive ? 1.0 : -1.0);
        }
      }
      const Vector targets =
          Eigen::Map<const Vector>(signs.data(), static_cast<Index>(signs.size()));
      const absl::StatusOr<BinaryResult> result = SolveBinary(fixture["input"], rows, targets);
      ASSERT_TRUE(result.ok()) << result.status();
      ExpectObjective(result->fit, output["objective"].get<double>(),
                      fixture["tolerance"]["objective_rel"].get<double>(), coding);
      ExpectClose(result->fit.weights(), FixtureVector(output["weights"]),
                  fixture["tolerance"]["weights_abs"], coding);
      EXPECT_NEAR(result->fit.bias(), output["bias"].get<double>(),
                  fixture["tolerance"]["bias_abs"].get<double>());
      ExpectClose(result->test_values, FixtureVector(output["decision_test"]),
                  fixture["tolerance"]["decision_abs"], coding);
    }
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
