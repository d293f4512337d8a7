// Comparisons of answers about gradients: tests/fixtures/coordinate-gradients/README.md.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/golden/fixture_comparison.h"

namespace mercer::golden {
namespace {

using nlohmann::json;

constexpr double kWeightTolerance = 1e-12;  // relative, of pairs
constexpr double kEigenvalueTolerance = 1e-6;

// Numbers, lists and lists of lists within `tolerance`, relative to those above 1.
void ExpectClose(const json& expected, const json& actual, double tolerance,
                 const std::string& name) {
  if (!expected.is_array()) {
    ASSERT_TRUE(actual.is_number()) << name << ": " << actual;
    const double value = expected;
    EXPECT_NEAR(actual.get<double>(), value, tolerance * std::max(1.0, std::abs(value))) << name;
    return;
  }
  ASSERT_TRUE(actual.is_array()) << name << ": " << actual;
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t i = 0; i < expected.size(); ++i) {
    ExpectClose(expected[i], actual[i], tolerance, name + "[" + std::to_string(i) + "]");
  }
}

using PairNumbers = std::map<std::pair<int, int>, size_t>;

PairNumbers NumbersOf(const json& pairs) {
  PairNumbers numbers;
  for (size_t p = 0; p < pairs.at("i").size(); ++p) {
    numbers[{pairs.at("i")[p], pairs.at("j")[p]}] = p;
  }
  return numbers;
}

// The same set with the same weights, in any order; predictions follow it.
void ComparePairs(const json& fixture, const json& result, double tolerance) {
  const json& expected = fixture.at("pairs");
  const json& found = result.at("pairs");
  const PairNumbers numbers = NumbersOf(found);
  ASSERT_EQ(found.at("i").size(), expected.at("i").size());
  ASSERT_EQ(numbers.size(), expected.at("i").size());
  const json& predictions = fixture.at("expected").at("pair_predictions");
  for (const auto& [pair, p] : NumbersOf(expected)) {
    const auto same = numbers.find(pair);
    ASSERT_TRUE(same != numbers.end()) << pair.first << ", " << pair.second;
    const double weight = expected.at("w")[p];
    EXPECT_NEAR(found.at("w")[same->second].get<double>(), weight, kWeightTolerance * weight);
    ExpectClose(predictions[p], result.at("pair_predictions")[same->second], tolerance,
                "prediction of pair " + std::to_string(p));
  }
}

void CompareSupport(const json& expected, const json& result) {
  if (expected.contains("support")) {
    EXPECT_EQ(result.at("support"), expected.at("support"));
  }
  if (!expected.contains("beta_group_sums")) {
    return;
  }
  for (const json& group : expected.at("beta_group_sums")) {
    double sum = 0;
    for (const size_t column : group.at("columns").get<std::vector<size_t>>()) {
      sum += result.at("beta")[column].get<double>();
    }
    EXPECT_NEAR(sum, group.at("beta_sum").get<double>(), 1e-4) << group;
  }
}

// Those listed; what is below the largest by far need not be there.
void CompareEigenvalues(const json& expected, const json& result) {
  if (!expected.contains("covariance_eigenvalues")) {
    return;
  }
  const json& found = result.at("covariance_eigenvalues");
  const json& values = expected.at("covariance_eigenvalues");
  for (size_t k = 0; k < values.size(); ++k) {
    const double value = k < found.size() ? found[k].get<double>() : 0.0;
    EXPECT_NEAR(value, values[k].get<double>(), kEigenvalueTolerance) << "eigenvalue " << k;
  }
}

}  // namespace

void CompareGradients(const json& fixture, const json& answer) {
  ASSERT_TRUE(answer.contains("result")) << answer.dump().substr(0, 300);
  const json& result = answer.at("result");
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  const double values = tolerance.at("values_absolute");
  const double objective = expected.at("objective");
  const double close = tolerance.at("objective_relative").get<double>() * std::abs(objective);
  const double upper = result.at("objective");
  EXPECT_GE(upper, expected.at("objective_interval")[0].get<double>() - close);
  EXPECT_LE(upper, expected.at("objective_interval")[1].get<double>() + close);
  EXPECT_LE(result.at("objective_interval")[0].get<double>(), objective * (1 + 1e-12));
  EXPECT_NEAR(upper, expected.at("independent_objective").get<double>(), close);
  EXPECT_LE(answer.at("gap_relative").get<double>(), tolerance.value("solver_relative_gap", 1e-9));
  ComparePairs(fixture, result, values);
  for (const std::string name : fixture.at("unique")) {
    if (name != "objective" && name != "pair_predictions") {
      ExpectClose(expected.at(name), result.at(name),
                  name == "beta" ? tolerance.at("beta_absolute").get<double>() : values, name);
    }
  }
  for (const char* name : {"w", "covariance"}) {
    if (expected.contains(name)) {
      ExpectClose(expected.at(name), result.at(name), values, name);
    }
  }
  CompareSupport(expected, result);
  CompareEigenvalues(expected, result);
}

void CompareGradientErrors(const json& fixture, const json& answer) {
  const json& cases = fixture.at("cases");
  ASSERT_TRUE(answer.contains("cases")) << answer.dump().substr(0, 300);
  ASSERT_EQ(answer.at("cases").size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string field = cases[i].at("field");
    const std::string error = answer.at("cases")[i].value("error", "");
    EXPECT_EQ(error.rfind(field + ":", 0), 0u) << "case " << i << ": " << error;
  }
}

}  // namespace mercer::golden
