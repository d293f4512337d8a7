#include "tests/golden/fixture_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/golden/number_comparison.h"

namespace mercer::golden {
namespace {

using nlohmann::json;

// Both bounds within `relative` of the optimum, and on their sides of it.
void ExpectBounds(double optimum, const json& result, double relative) {
  const double primal = result.at("primal");
  const double dual = result.at("dual");
  EXPECT_NEAR(primal, optimum, relative * std::abs(optimum)) << "primal";
  EXPECT_NEAR(dual, optimum, relative * std::abs(optimum)) << "dual";
  EXPECT_GE(primal, optimum - 1e-9 * std::abs(optimum)) << "an upper bound";
  EXPECT_LE(dual, optimum + 1e-9 * std::abs(optimum)) << "a lower bound";
}

bool IsUnique(const json& unique, const std::string& name) { return unique.value(name, true); }

// Inside the interval of the reference widened by the tolerance.
void ExpectInside(const json& interval, const json& value, double tolerance) {
  EXPECT_GE(value.get<double>(), Number(interval.at(0)) - tolerance) << "bias";
  EXPECT_LE(value.get<double>(), Number(interval.at(1)) + tolerance) << "bias";
}

void CompareWeights(const json& expected, const json& result, const json& unique,
                    const json& tolerance) {
  if (expected.contains("weights_sum_of_first_two")) {
    ExpectNear(expected.at("weights_sum_of_first_two"), result.at("weights_sum_of_first_two"),
               tolerance.at("weights_abs"), "weights_sum_of_first_two");
    ExpectNear(expected.at("third_weight"), result.at("third_weight"), tolerance.at("weights_abs"),
               "third_weight");
    return;
  }
  if (!IsUnique(unique, "weights")) {
    return;
  }
  ExpectNear(expected.at("weights"), result.at("weights"), tolerance.at("weights_abs"), "weights");
  // No tolerance of their own: |w_k| = weights(k) sqrt(s(k)), a function of norm |w_k|, moves like
  // weights and decision values.
  for (const char* name : {"block_norms", "s"}) {
    if (expected.contains(name) && !tolerance.at("weights_abs").is_null()) {
      const double scale = std::max(1.0, LargestMagnitude(expected.at(name)));
      const double largest = std::max(tolerance.at("weights_abs").get<double>(),
                                      tolerance.at("decision_abs").get<double>());
      ExpectNear(expected.at(name), result.at(name), 3 * scale * largest, name);
    }
  }
}

void CompareMklResult(const json& expected, const json& result, const json& unique,
                      const json& tolerance) {
  ExpectBounds(expected.at("objective"), result, tolerance.at("objective_rel"));
  CompareWeights(expected, result, unique, tolerance);
  for (const char* name : {"decision_without_bias_train", "decision_without_bias_test"}) {
    if (expected.contains(name) && IsUnique(unique, "decision")) {
      ExpectNear(expected.at(name), result.at(name), tolerance.at("decision_abs"), name);
    }
  }
  if (expected.contains("bias") && !tolerance.at("bias_abs").is_null()) {
    if (IsUnique(unique, "bias")) {
      ExpectNear(expected.at("bias"), result.at("bias"), tolerance.at("bias_abs"), "bias");
    } else {
      ExpectInside(expected.at("bias_interval"), result.at("bias"), tolerance.at("bias_abs"));
    }
  }
}

void CompareOutputs(const json& expected, const json& actual, const json& tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t o = 0; o < expected.size(); ++o) {
    SCOPED_TRACE("output " + std::to_string(o));
    EXPECT_EQ(actual[o].at("positive"), expected[o].at("positive"));
    EXPECT_EQ(actual[o].value("negative", json()), expected[o].value("negative", json()));
    ExpectBounds(expected[o].at("objective"), actual[o], tolerance.at("objective_rel"));
    ExpectNear(expected[o].at("weights"), actual[o].at("weights"), tolerance.at("weights_abs"),
               "weights");
    ExpectNear(expected[o].at("bias"), actual[o].at("bias"), tolerance.at("bias_abs"), "bias");
    ExpectNear(expected[o].at("decision_test"), actual[o].at("decision_test"),
               tolerance.at("decision_abs"), "decision_test");
  }
}

void CompareSvmCase(const json& item, const json& result, const json& tolerance) {
  const double decision_abs = tolerance.at("decision_abs");
  ExpectBounds(item.at("objective"), result, tolerance.at("objective_rel"));
  ExpectInside(item.at("b_interval"), result.at("b"), decision_abs);
  const bool unique_bias = item.at("b_unique");
  // Where b is open, f = decision + b is compared.
  const double shift =
      unique_bias ? 0.0 : item.at("b").get<double>() - result.at("b").get<double>();
  for (const char* name : {"decision_train", "decision_test"}) {
    if (item.contains(name)) {
      json values = item.at(name);
      for (json& value : values) {
        value = value.get<double>() + shift;
      }
      ExpectNear(values, result.at(name), decision_abs, name);
    }
  }
  if (item.at("beta_unique")) {
    ExpectNear(item.at("beta"), result.at("beta"),
               tolerance.at("beta_rel_to_C").get<double>() * LargestMagnitude(item.at("C_i")),
               "beta");
  }
}

// Of one solver. A fixture without a tolerance of the scores has one class, and its optimum is 0.
void CompareGroupPoint(const json& fixture, const json& point) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  const json& unique = fixture.at("unique");
  const double objective = expected.at("objective");
  if (!tolerance.contains("scores_absolute")) {
    ExpectNear(objective, point.at("objective"), tolerance.at("objective_absolute"), "objective");
    ExpectNear(expected.at("V"), point.at("V"), 0.0, "V");
    for (const json& target : fixture.at("problem").at("tasks").at(0).at("y")) {
      EXPECT_GE(target.get<double>() * point.at("b").at(0).get<double>(), 1);
    }
    return;
  }
  const double allowed =
      tolerance.at("objective_relative").get<double>() * std::max(1.0, std::abs(objective));
  ExpectNear(objective, point.at("objective"), allowed, "objective");
  ExpectNear(objective, point.at("dual_objective"), allowed, "dual_objective");
  std::vector<std::string> names = {"train_scores", "test_scores"};
  if (unique.at("V_and_b").get<bool>()) {
    names.insert(names.end(), {"V", "b"});
  }
  if (unique.at("split_W_w_shared").get<bool>()) {
    names.insert(names.end(), {"W", "w_shared"});
  }
  for (const std::string& name : names) {
    ExpectNear(expected.at(name), point.at(name), tolerance.at("scores_absolute"), name);
  }
}

// Repeated kernels of a group share their weight in any way: what is unique is its sum.
void CompareSumsOfTwins(const json& fixture, const json& result) {
  const json& kernels = fixture.at("inputs").at("kernels");
  const json& expected = fixture.at("expected").at("eta");
  const json& found = result.at("eta");
  const double close =
      fixture.at("tolerance").at("eta_rel_to_max").get<double>() * LargestMagnitude(expected);
  ASSERT_EQ(found.size(), kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    double sum = 0;
    double sum_found = 0;
    for (size_t l = 0; l < kernels.size(); ++l) {
      if (kernels[l] == kernels[k]) {
        sum += expected[l].get<double>();
        sum_found += found[l].get<double>();
      }
    }
    EXPECT_NEAR(sum_found, sum, close) << "kernel " << k << " and its twins";
  }
}

}  // namespace

void CompareMkl(const json& fixture, const json& answer) {
  EXPECT_LE(answer.at("gap_relative").get<double>(),
            fixture.at("tolerance").at("solve_to_gap_rel").get<double>());
  CompareMklResult(fixture.at("expected"), answer.at("result"), fixture.at("unique"),
                   fixture.at("tolerance"));
}

void CompareGaussian(const json& fixture, const json& answer) {
  CompareMklResult(fixture.at("expected").at("exact_gram"), answer.at("result").at("exact_gram"),
                   fixture.at("unique"), fixture.at("tolerance"));
}

void CompareTikhonov(const json& fixture, const json& answer) {
  CompareMkl(fixture, answer);
  const json& expected = fixture.at("expected");
  const json& result = answer.at("result");
  for (const char* name : {"weights_p_norm", "constrained_C", "constrained_weights"}) {
    ExpectNear(expected.at(name), result.at(name), fixture.at("tolerance").at("weights_abs"), name);
  }
}

void CompareEdgeCases(const json& fixture, const json& answer) {
  const json& cases = fixture.at("cases");
  ASSERT_EQ(answer.at("cases").size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + ": " + cases[i].at("name").get<std::string>());
    const json& actual = answer.at("cases")[i];
    if (cases[i].at("expected").contains("error")) {
      const std::string meaning = cases[i].at("expected").at("error");
      EXPECT_NE(actual.value("error", "").find(meaning), std::string::npos)
          << actual.dump().substr(0, 300);
    } else if (!actual.contains("result")) {
      ADD_FAILURE() << actual.dump().substr(0, 300);
    } else {
      CompareMklResult(cases[i].at("expected"), actual.at("result"), cases[i].at("unique"),
                       cases[i].at("tolerance"));
    }
  }
}

void CompareMulticlass(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& result = answer.at("result");
  CompareOutputs(expected.at("one_vs_all"), result.at("one_vs_all"), fixture.at("tolerance"));
  CompareOutputs(expected.at("one_vs_one"), result.at("one_vs_one"), fixture.at("tolerance"));
  EXPECT_EQ(result.at("predict_one_vs_all"), expected.at("predict_one_vs_all"));
  EXPECT_EQ(result.at("predict_one_vs_one"), expected.at("predict_one_vs_one"));
  ExpectNear(expected.at("votes"), result.at("votes"), 0.0, "votes");
  // Each is the sum of two decision values.
  ExpectNear(expected.at("margin_sums"), result.at("margin_sums"),
             2 * fixture.at("tolerance").at("decision_abs").get<double>(), "margin_sums");
}

void CompareCertificate(const json& fixture, const json& answer) {
  const double tolerance = fixture.at("tolerance").at("abs");
  for (const auto& [name, expected] : fixture.at("expected").items()) {
    const double scale = std::max(1.0, LargestMagnitude(expected));
    ExpectNear(expected, answer.at("result").value(name, json()), tolerance * scale, name);
  }
}

void CompareWeightUpdate(const json& fixture, const json& answer) {
  const double relative = fixture.at("tolerance").at("rel");
  const json& expected = fixture.at("expected").at("cases");
  const json& actual = answer.at("result").at("cases");
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    for (const auto& [name, value] : expected[i].items()) {
      // Below the normal range numbers have no relative precision: half a unit of the last place on
      // either side.
      const double floor = 2 * std::numeric_limits<double>::denorm_min();
      ExpectNear(value, actual[i].at(name), std::max(relative * LargestMagnitude(value), floor),
                 name);
    }
  }
  EXPECT_EQ(answer.at("result").at("all_zero"), fixture.at("expected").at("all_zero"));
}

void CompareNormalisation(const json& fixture, const json& answer) {
  const double relative = fixture.at("tolerance").at("relative");
  for (const auto& [name, expected] : fixture.at("expected").items()) {
    for (const auto& [part, value] : expected.items()) {
      ExpectRelative(value, answer.at("result").at(name).value(part, json()), relative,
                     name + "." + part);
    }
  }
}

void CompareSvm(const json& fixture, const json& answer) {
  const json& cases = fixture.at("cases");
  ASSERT_EQ(answer.at("cases").size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + ": " + cases[i].at("name").get<std::string>());
    const json& actual = answer.at("cases")[i];
    if (!actual.contains("result")) {
      ADD_FAILURE() << actual.dump().substr(0, 300);
      continue;
    }
    CompareSvmCase(cases[i], actual.at("result"), fixture.at("tolerance"));
  }
}

void CompareMixedNorm(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& result = answer.at("result");
  const json& tolerance = fixture.at("tolerance");
  const json& unique = fixture.at("unique");
  const double objective = expected.at("objective");
  ExpectBounds(objective, result, tolerance.at("objective_rel"));
  if (IsUnique(unique, "eta")) {
    const double close = tolerance.at("eta_rel_to_max");
    for (const char* name : {"eta", "lambda", "gamma"}) {
      ExpectNear(expected.at(name), result.at(name), close * LargestMagnitude(expected.at(name)),
                 name);
    }
  }
  // No tolerances of their own: each as far as weights may be off, against its largest entry.
  for (const char* name : {"group_norm", "beta", "quad"}) {
    const bool comparable = expected.contains(name) && tolerance.contains("eta_rel_to_max") &&
                            IsUnique(unique, name) &&
                            (std::string(name) != "quad" || IsUnique(unique, "beta"));
    if (comparable) {
      const double close = tolerance.at("eta_rel_to_max");
      ExpectNear(expected.at(name), result.at(name), close * LargestMagnitude(expected.at(name)),
                 name);
    }
  }
  if (!IsUnique(unique, "eta") && expected.contains("eta")) {
    CompareSumsOfTwins(fixture, result);
  }
  if (IsUnique(unique, "decision")) {
    const json& close = tolerance.at("decision_abs");
    ExpectNear(expected.at("decision_train"), result.at("decision_train"), close, "training rows");
    if (expected.contains("decision_test")) {
      ExpectNear(expected.at("decision_test"), result.at("decision_test"), close, "test rows");
    }
    ExpectInside(expected.at("b_interval"), result.at("b"), close);
  }
}

void CompareMixedNormPairs(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& result = answer.at("result");
  const json& tolerance = fixture.at("tolerance");
  const double close = tolerance.at("decision_abs");
  ASSERT_EQ(result.at("pairs").size(), expected.at("pairs").size());
  for (size_t o = 0; o < expected.at("pairs").size(); ++o) {
    const json& pair = expected.at("pairs").at(o);
    const json& found = result.at("pairs").at(o);
    EXPECT_EQ(found.at("positive"), pair.at("positive"));
    EXPECT_EQ(found.at("negative"), pair.at("negative"));
    const double objective = pair.at("objective");
    ExpectNear(objective, found.at("objective"),
               tolerance.at("objective_rel").get<double>() * objective, "objective");
    if (pair.at("eta_unique").get<bool>()) {
      ExpectNear(pair.at("eta"), found.at("eta"),
                 tolerance.at("eta_rel_to_max").get<double>() * LargestMagnitude(pair.at("eta")),
                 "eta");
    }
    ExpectNear(pair.at("decision_test"), found.at("decision_test"), close, "test rows");
  }
  ExpectNear(expected.at("votes"), result.at("votes"), 0.0, "votes");
  // Each is the sum of two decision values.
  ExpectNear(expected.at("margin_sum"), result.at("margin_sum"), 2 * close, "margin sums");
  EXPECT_EQ(result.at("label_test"), expected.at("label_test"));
}

void CompareGroupProblem(const json& fixture, const json& answer) {
  CompareGroupPoint(fixture, answer.at("result"));
  for (const char* solver : {"newton", "admm", "fista"}) {
    SCOPED_TRACE(solver);
    CompareGroupPoint(fixture, answer.at("result").at("solvers").at(solver));
  }
  EXPECT_LE(answer.at("gap_relative").get<double>(),
            fixture.at("tolerance").value("duality_gap_relative", 1e-12));
}

void CompareProxAndLosses(const json& fixture, const json& answer) {
  const double absolute = fixture.at("tolerance").at("absolute_over_norm_v");
  const double relative = fixture.at("tolerance").at("loss_relative");
  const json& cases = fixture.at("cases");
  const json& result = answer.at("result");
  ASSERT_EQ(result.at("cases").size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    double squares = 0;
    for (const json& entry : cases[i].at("v")) {
      squares += Number(entry) * Number(entry);
    }
    for (const char* name : {"prox", "norm", "dual_norm"}) {
      ExpectNear(cases[i].at(name), result.at("cases")[i].at(name),
                 absolute * std::max(1.0, std::sqrt(squares)), name);
    }
  }
  const json& losses = fixture.at("losses");
  ASSERT_EQ(result.at("losses").size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    SCOPED_TRACE(losses[i].at("loss").get<std::string>());
    for (const char* name : {"value", "d1", "d2", "conj_at_half_d1"}) {
      ExpectRelative(losses[i].at(name), result.at("losses")[i].at(name), relative, name);
    }
  }
}

void CompareFeatures(const json& fixture, const json& answer) {
  const double relative = fixture.at("tolerance").at("relative");
  const json& pairs = fixture.at("fourier");
  const json& result = answer.at("result");
  ASSERT_EQ(result.at("fourier").size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE("pair " + std::to_string(i));
    const json& judged = result.at("fourier")[i];
    EXPECT_EQ(judged.at("rejected"), pairs[i].at("rejected"));
    for (const char* name : {"scale", "H", "ratio_p", "ratio_s"}) {
      if (!pairs[i].at("rejected").get<bool>()) {
        const double scale = std::max(1.0, LargestMagnitude(pairs[i].at(name)));
        ExpectNear(pairs[i].at(name), judged.at(name), relative * scale, name);
      }
    }
  }
  ExpectRelative(fixture.at("gabor").at("values"), result.at("gabor").at("values"), relative,
                 "gabor");
}

void CompareFiniteFeatures(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  ExpectRelative(expected.at("objective"), answer.at("result").at("objective"),
                 tolerance.at("objective_relative"), "objective");
  ExpectNear(expected.at("test_scores"), answer.at("result").at("test_scores"),
             tolerance.at("scores_absolute"), "test_scores");
}

void CompareInfiniteKernels(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  const json& result = answer.at("result");
  ExpectRelative(expected.at("finite_objective"), result.at("finite_objective"),
                 tolerance.at("finite_objective_relative"), "finite_objective");
  for (const char* name : {"infinite_objective_upper", "infinite_objective_lower"}) {
    ExpectRelative(expected.at(name), result.at(name), tolerance.at("infinite_objective_relative"),
                   name);
  }
  EXPECT_LE(Number(result.at("infinite_objective_lower")),
            Number(result.at("infinite_objective_upper")));
}

void CompareCsi(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& tolerance = fixture.at("tolerance");
  const json& result = answer.at("result");
  EXPECT_EQ(result.at("pivots"), expected.at("pivots"));
  ExpectNear(expected.at("J"), result.at("J"), tolerance.at("J_absolute"), "J");
  // The factor of these pivots is unique: its diagonal is positive.
  ExpectNear(expected.at("G"), result.at("G"), tolerance.at("GGt_absolute"), "G");
  ExpectNear(expected.at("G_test"), result.at("G_test"), tolerance.at("G_test_absolute"), "G_test");
}

}  // namespace mercer::golden
