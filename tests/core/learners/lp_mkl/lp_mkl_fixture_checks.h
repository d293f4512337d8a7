// What the fixtures of an independent cone solver expect of a run, within their tolerances.
#pragma once

#include <string>
#include <vector>

#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {

// A fixture whose kernels are V_k V_k'.
struct FixtureCase {
  std::vector<Matrix> factors;
  std::vector<Matrix> test_factors;  // may be empty
  TrainingProblem problem;           // on the Gram matrices
  OptionValues options;
};
FixtureCase ReadCase(const nlohmann::json& input);

// Values without the bias.
struct Decisions {
  Vector train;
  Vector test;
};

// A null tolerance: nothing is compared.
void ExpectClose(const Vector& actual, const Vector& expected, const nlohmann::json& tolerance,
                 const std::string& what);
void ExpectObjective(const Fit& fit, double objective, double relative, const std::string& what);
void ExpectBias(const Fit& fit, const nlohmann::json& expected, const nlohmann::json& unique,
                const nlohmann::json& tolerance, const std::string& what);
void ExpectWeights(const Fit& fit, const nlohmann::json& expected, const nlohmann::json& unique,
                   const nlohmann::json& tolerance, const std::string& what);
// All of them; bounds within `objective_relative` of the objective.
void ExpectFixture(const nlohmann::json& fixture, const Fit& fit, double objective_relative,
                   const Decisions& decisions, const std::string& what);

}  // namespace mercer::lp_mkl
