// The fixtures of an independent cone solver.
#include <cmath>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/training/targets/output_coding.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer::mixed_norm_mkl {
namespace {

using nlohmann::json;

std::vector<Matrix> Scaled(std::vector<Matrix> grams, const json& scales) {
  for (size_t k = 0; k < grams.size(); ++k) {
    grams[k] *= scales[k].get<double>();
  }
  return grams;
}

void ExpectNear(const Vector& actual, const Vector& expected, double allowed,
                const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), allowed)
      << what << ": " << actual.transpose() << " instead of " << expected.transpose();
}

// With the bounds of `fit`, whose gap may be larger than that of the fixture.
void ExpectBounds(const json& fixture, const Fit& fit, const std::string& what) {
  const double objective = fixture["expected"]["objective"];
  EXPECT_GE(fit.certificate.primal, objective * (1 - 1e-9)) << what;
  EXPECT_LE(fit.certificate.dual, objective * (1 + 1e-9)) << what;
}

void ExpectSolution(const json& fixture, const FixtureProblem& given, const Fit& fit,
                    const std::string& what) {
  const json& expected = fixture["expected"];
  const json& unique = fixture["unique"];
  const json& tolerance = fixture["tolerance"];
  const double objective = expected["objective"];
  ExpectBounds(fixture, fit, what);
  const double allowed = tolerance["objective_rel"].get<double>() * objective;
  EXPECT_NEAR(fit.certificate.primal, objective, allowed) << what;
  EXPECT_NEAR(fit.certificate.dual, objective, allowed) << what;
  if (unique["eta"].get<bool>()) {
    const Vector eta = JsonVector(expected["eta"]);
    ExpectNear(fit.weights(), eta, tolerance["eta_rel_to_max"].get<double>() * eta.maxCoeff(),
               what + " weights");
  }
  if (!unique["decision"].get<bool>()) {
    return;
  }
  const double close = tolerance["decision_abs"];
  ExpectNear(DecisionOf(fit, Scaled(given.grams, expected["kernel_scale"])),
             JsonVector(expected["decision_train"]), close, what + " training rows");
  if (expected.contains("decision_test")) {
    ExpectNear(DecisionOf(fit, Scaled(given.test_grams, expected["kernel_scale"])),
               JsonVector(expected["decision_test"]), close, what + " test rows");
  }
}

Fit Solve(const FixtureProblem& given, OptionValues options, double gap) {
  options.merge(OptionValues(given.options));
  return MustTrain(given.problem, options, gap);
}

class MixedNormFixture : public testing::TestWithParam<const char*> {};

TEST_P(MixedNormFixture, NewtonMatchesConeSolver) {
  const json fixture = ReadMixedFixture(GetParam());
  const FixtureProblem given = ReadMixedProblem(fixture["inputs"]);
  const Fit fit = Solve(given, {}, fixture["tolerance"]["run_with_relative_gap"]);
  EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
  ExpectSolution(fixture, given, fit, GetParam());
}

// To the same tolerances; with other losses than the hinge it is Newton's method.
TEST_P(MixedNormFixture, InteriorPointMatchesConeSolver) {
  const json fixture = ReadMixedFixture(GetParam());
  const FixtureProblem given = ReadMixedProblem(fixture["inputs"]);
  const Fit fit = Solve(given, {{"method", std::string("interior_point")}},
                        fixture["tolerance"]["run_with_relative_gap"]);
  EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
  ExpectSolution(fixture, given, fit, GetParam());
}

// First-order methods to a gap that they reach in a second; each bound is on its side of the
// optimum.
TEST_P(MixedNormFixture, FirstOrderMethodsAgreeWithinTheirGaps) {
  const json fixture = ReadMixedFixture(GetParam());
  const FixtureProblem given = ReadMixedProblem(fixture["inputs"]);
  for (const char* method : {"closed_form", "mirror_descent", "alternating_mirror_descent"}) {
    const double gap = 1e-3;
    const Fit fit = Solve(given, {{"method", std::string(method)}}, gap);
    const std::string what = absl::StrCat(GetParam(), " by ", method);
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged) << what;
    EXPECT_LE(fit.certificate.accuracy, gap) << what;
    ExpectBounds(fixture, fit, what);
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, MixedNormFixture,
                         testing::Values("grouped-gaussian", "one-group-l1", "singleton-groups",
                                         "tiny-precomputed", "distance-groups",
                                         "class-and-sample-weights", "duplicate-and-zero-kernels",
                                         "identical-groups", "hard-margin", "low-rank-groups",
                                         "squared-hinge", "logistic", "epsilon-insensitive",
                                         "square"));

TEST(MixedNormFixtureTest, SimpleMklMatchesConeSolverOnOneGroup) {
  const json fixture = ReadMixedFixture("one-group-l1");
  const FixtureProblem given = ReadMixedProblem(fixture["inputs"]);
  const Fit fit = Solve(given, {{"method", std::string("simple_mkl")}}, 1e-5);
  EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
  ExpectBounds(fixture, fit, "simple_mkl");
  EXPECT_LE(fit.certificate.accuracy, 1e-5);
}

TEST(MixedNormFixtureTest, EveryPairOfClassesMatchesConeSolver) {
  const json fixture = ReadMixedFixture("one-vs-one");
  for (const json& pair : fixture["expected"]["pairs"]) {
    json inputs = fixture["inputs"];
    const auto rows = pair["rows"].get<std::vector<size_t>>();
    json features;
    std::vector<double> y;
    for (const size_t row : rows) {
      const int label = inputs["labels"][row];
      y.push_back(label == pair["positive"].get<int>() ? 1.0 : -1.0);
      for (const auto& [name, values] : inputs["features"].items()) {
        features[name].push_back(values[row]);
      }
    }
    inputs["features"] = features;
    inputs["y"] = y;
    const FixtureProblem given = ReadMixedProblem(inputs);
    const Fit fit =
        MustTrain(given.problem, given.options, fixture["tolerance"]["run_with_relative_gap"]);
    const double objective = pair["objective"];
    EXPECT_NEAR(fit.objective(), objective, 1e-7 * objective);
    ExpectNear(DecisionOf(fit, Scaled(given.test_grams, pair["kernel_scale"])),
               JsonVector(pair["decision_test"]), fixture["tolerance"]["decision_abs"], "pair");
  }
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
