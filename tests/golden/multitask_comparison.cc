// Comparisons of answers about several tasks: tests/fixtures/sparse-multitask-svm/README.md.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/golden/fixture_comparison.h"

namespace mercer::golden {
namespace {

using nlohmann::json;

// Numbers, lists and lists of lists within an absolute tolerance.
void ExpectAllNear(const json& expected, const json& actual, double tolerance,
                   const std::string& name) {
  if (!expected.is_array()) {
    ASSERT_TRUE(actual.is_number()) << name << ": " << actual;
    EXPECT_NEAR(actual.get<double>(), expected.get<double>(), tolerance) << name;
    return;
  }
  ASSERT_TRUE(actual.is_array()) << name << ": " << actual;
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t i = 0; i < expected.size(); ++i) {
    ExpectAllNear(expected[i], actual[i], tolerance, name + "[" + std::to_string(i) + "]");
  }
}

void ExpectObjective(const json& expected, const json& result, const json& tolerance) {
  const double objective = expected.at("objective");
  const double close = tolerance.at("objective_rel").get<double>() * objective;
  EXPECT_NEAR(result.at("objective").get<double>(), objective, close) << "objective";
  if (expected.contains("dual_objective")) {
    EXPECT_NEAR(result.at("dual_objective").get<double>(), objective, close) << "dual objective";
    EXPECT_LE(result.at("dual_objective").get<double>(), objective * (1 + 1e-9));
  }
}

// What is not unique of it: the split between repeated columns, as the file's note says.
void CompareTaskNorms(const json& fixture, const json& result) {
  const double close = fixture.at("tolerance").at("block_norms_abs");
  std::vector<double> expected = fixture.at("expected").at("block_norms");
  std::vector<double> found = result.at("block_norms");
  ASSERT_EQ(found.size(), expected.size());
  if (fixture.at("name") == "degenerate_columns") {
    expected[0] += expected[5];
    found[0] += found[5];
    found[5] = expected[5];
  } else {
    EXPECT_EQ(result.at("support"), fixture.at("expected").at("support"));
  }
  ExpectAllNear(expected, found, close, "block norms");
}

void CompareTaskBiases(const json& fixture, const json& result) {
  const json& close = fixture.at("tolerance").at("decision_abs");
  const double tolerance = close.is_number() ? close.get<double>() : 1e-12;
  const json& intervals = fixture.at("expected").at("bias_interval");
  for (size_t t = 0; t < intervals.size(); ++t) {
    const double bias = result.at("bias").at(t);
    EXPECT_TRUE(intervals[t][0].is_null() || bias >= intervals[t][0].get<double>() - tolerance);
    EXPECT_TRUE(intervals[t][1].is_null() || bias <= intervals[t][1].get<double>() + tolerance);
  }
}

void CompareConvex(const json& fixture, const json& result) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  ExpectObjective(expected, result, tolerance);
  CompareTaskNorms(fixture, result);
  CompareTaskBiases(fixture, result);
  const double of_norms = tolerance.at("block_norms_abs");
  ExpectAllNear(expected.at("omega"), result.at("omega"),
                of_norms * static_cast<double>(expected.at("block_norms").size()), "omega");
  if (tolerance.at("decision_abs").is_number()) {
    for (const char* name : {"bias", "decision_train", "decision_test"}) {
      ExpectAllNear(expected.at(name), result.at(name), tolerance.at("decision_abs"), name);
    }
  }
}

void CompareConcave(const json& fixture, const json& result) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  ExpectObjective(expected, result, tolerance);
  const json& path = expected.at("path");
  ASSERT_EQ(result.at("path").size(), path.size());
  for (size_t s = 0; s < path.size(); ++s) {
    SCOPED_TRACE("step " + std::to_string(s));
    for (const char* name : {"convex_objective", "objective", "loss", "penalty"}) {
      // The parts of an objective move more than the objective, along its minimum.
      const std::string what = name;
      const double part = what == "loss" || what == "penalty" ? 100 : 1;
      const double relative = tolerance.at("path_objective_rel").get<double>() * part;
      ExpectAllNear(path[s].at(name), result.at("path")[s].at(name),
                    relative * path[s].at(name).get<double>(), name);
    }
    ExpectAllNear(path[s].at("block_norms"), result.at("path")[s].at("block_norms"),
                  tolerance.at("path_block_norms_abs"), "block norms");
  }
  ExpectAllNear(expected.at("block_norms"), result.at("block_norms"),
                tolerance.at("block_norms_abs"), "block norms");
  ExpectAllNear(expected.at("decision_test"), result.at("decision_test"),
                tolerance.at("decision_abs"), "test rows");
  ExpectAllNear(expected.at("bias"), result.at("bias"), tolerance.at("decision_abs"), "bias");
}

void CompareGeneralExponents(const json& fixture, const json& result) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  ExpectObjective(expected, result, tolerance);
  ExpectAllNear(expected.at("norms"), result.at("norms"), tolerance.at("norms_abs"), "norms");
  ExpectAllNear(expected.at("decision_test"), result.at("decision_test"),
                tolerance.at("decision_abs"), "test rows");
  ExpectAllNear(expected.at("bias"), result.at("bias"), tolerance.at("decision_abs"), "bias");
}

void CompareBaselines(const json& fixture, const json& result) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  for (const auto& [name, model] : expected.at("models").items()) {
    SCOPED_TRACE(name);
    const json& found = result.at("models").at(name);
    ExpectObjective(model, found, tolerance);
    ExpectAllNear(model.at("block_norms"), found.at("block_norms"), tolerance.at("block_norms_abs"),
                  "block norms");
    EXPECT_EQ(found.at("support"), model.at("support"));
    ExpectAllNear(model.at("bias"), found.at("bias"), tolerance.at("decision_abs"), "bias");
  }
  for (const auto& [name, scores] : expected.at("pooled_test_scores").items()) {
    ExpectAllNear(scores, result.at("pooled_test_scores").at(name), tolerance.at("decision_abs"),
                  name);
    ExpectAllNear(expected.at("auc").at(name), result.at("auc").at(name), tolerance.at("auc_abs"),
                  "auc of " + name);
  }
  EXPECT_EQ(result.at("sep_support_union"), expected.at("sep_support_union"));
}

void CompareScores(const json& fixture, const json& result) {
  const json& tolerance = fixture.at("tolerance");
  for (const auto& [name, value] : fixture.at("expected").items()) {
    const bool is_auc = name.rfind("auc", 0) == 0;
    ExpectAllNear(value, result.at(name), tolerance.at(is_auc ? "auc_abs" : "fmeasure_abs"), name);
  }
}

}  // namespace

void CompareMultitask(const json& fixture, const json& answer) {
  ASSERT_TRUE(answer.contains("result")) << answer.dump().substr(0, 300);
  const json& result = answer.at("result");
  const std::string problem = fixture.at("problem");
  if (problem == "convex") {
    CompareConvex(fixture, result);
  } else if (problem == "mm") {
    CompareConcave(fixture, result);
  } else if (problem == "lplq") {
    CompareGeneralExponents(fixture, result);
  } else if (problem == "baselines") {
    CompareBaselines(fixture, result);
  } else {
    CompareScores(fixture, result);
  }
  if (fixture.at("tolerance").contains("gap_rel")) {
    EXPECT_LE(answer.at("gap_relative").get<double>(),
              fixture.at("tolerance").at("gap_rel").get<double>());
  }
}

}  // namespace mercer::golden
