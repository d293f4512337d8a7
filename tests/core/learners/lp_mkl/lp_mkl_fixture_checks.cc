#include "tests/core/learners/lp_mkl/lp_mkl_fixture_checks.h"

#include <cmath>

#include <gtest/gtest.h>

namespace mercer::lp_mkl {

using nlohmann::json;

FixtureCase ReadCase(const json& input) {
  FixtureCase read;
  std::vector<Matrix> grams;
  for (const json& factor : input["V"]) {
    read.factors.push_back(FixtureMatrix(factor));
    grams.push_back(read.factors.back() * read.factors.back().transpose());
  }
  if (input.contains("V_test")) {
    for (const json& factor : input["V_test"]) {
      read.test_factors.push_back(FixtureMatrix(factor));
    }
  }
  read.problem = GramProblem(grams, FixtureVector(input["y"]));
  read.options = {{"p", FixtureNumber(input["p"])}, {"C", input["C"].get<double>()}};
  return read;
}

void ExpectClose(const Vector& actual, const Vector& expected, const json& tolerance,
                 const std::string& what) {
  if (tolerance.is_null()) {
    return;
  }
  ASSERT_EQ(actual.size(), expected.size()) << what;
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), tolerance.get<double>())
      << what << ": " << actual.transpose() << " instead of " << expected.transpose();
}

void ExpectObjective(const Fit& fit, double objective, double relative, const std::string& what) {
  const double allowed = relative * std::abs(objective);
  const std::string end = what + ", gap " + std::to_string(fit.certificate.accuracy * 1e9) +
                          "e-9, " + std::string(StopReasonName(fit.stop_reason));
  EXPECT_NEAR(fit.certificate.primal, objective, allowed) << end;
  EXPECT_NEAR(fit.certificate.dual, objective, allowed) << end;
}

void ExpectBias(const Fit& fit, const json& expected, const json& unique, const json& tolerance,
                const std::string& what) {
  if (!expected.contains("bias_interval") || tolerance["bias_abs"].is_null()) {
    return;
  }
  const double slack = tolerance["bias_abs"].get<double>();
  if (unique.value("bias", true)) {
    EXPECT_NEAR(fit.bias(), expected["bias"].get<double>(), slack) << what;
  } else {
    EXPECT_GE(fit.bias(), expected["bias_interval"][0].get<double>() - slack) << what;
    EXPECT_LE(fit.bias(), expected["bias_interval"][1].get<double>() + slack) << what;
  }
}

void ExpectWeights(const Fit& fit, const json& expected, const json& unique, const json& tolerance,
                   const std::string& what) {
  if (unique.value("weights", true)) {
    ExpectClose(fit.weights(), FixtureVector(expected["weights"]), tolerance["weights_abs"],
                what + " weights");
  } else if (expected.contains("weights_sum_of_first_two")) {
    const double slack = tolerance["weights_abs"].get<double>();
    EXPECT_NEAR(fit.weights()(0) + fit.weights()(1),
                expected["weights_sum_of_first_two"].get<double>(), slack)
        << what;
    EXPECT_NEAR(fit.weights()(2), expected["third_weight"].get<double>(), slack) << what;
  } else {
    const double m = static_cast<double>(fit.weights().size());
    ExpectClose(fit.weights(), Vector::Constant(fit.weights().size(), 1.0 / std::sqrt(m)),
                tolerance["weights_abs"], what + " kept weights");
  }
}

void ExpectFixture(const json& fixture, const Fit& fit, double objective_relative,
                   const Decisions& decisions, const std::string& what) {
  const json& expected = fixture["expected"];
  const json& tolerance = fixture["tolerance"];
  ExpectObjective(fit, expected["objective"].get<double>(), objective_relative, what);
  ExpectWeights(fit, expected, fixture["unique"], tolerance, what);
  ExpectBias(fit, expected, fixture["unique"], tolerance, what);
  ExpectClose(decisions.train, FixtureVector(expected["decision_without_bias_train"]),
              tolerance["decision_abs"], what + " training decision");
  if (expected.contains("decision_without_bias_test")) {
    ExpectClose(decisions.test, FixtureVector(expected["decision_without_bias_test"]),
                tolerance["decision_abs"], what + " test decision");
  }
}

}  // namespace mercer::lp_mkl
