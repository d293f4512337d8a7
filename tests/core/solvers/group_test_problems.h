// Restricted masters for tests: those of the fixtures, and random ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/numeric/random.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {

// A problem with its columns, which the problem points to.
struct OwnedGroupProblem {
  std::vector<std::unique_ptr<FeatureColumns>> columns;
  GroupProblem problem;
};

std::unique_ptr<FeatureColumns> MakeColumns(const Matrix& values,
                                            ColumnPrecision precision = ColumnPrecision::kDouble);

// The problem of a fixture of kind "master".
OwnedGroupProblem FixtureGroupProblem(const nlohmann::json& fixture);

// What random problems are made of.
struct RandomGroupProblemSpec {
  LossKind loss = LossKind::kSquaredHinge;
  Index rows = 60;
  Index groups = 6;
  Index group_size = 2;
  Index tasks = 1;
  bool shared_rows = true;  // the tasks have the same columns
  BlockShape shape = BlockShape::kNested;
  double q = 2;
  double lambda = 1;
  double shared_lambda = kInfinity;
  bool bias = true;
  bool varied_costs = false;  // between 0, which some rows have, and 3
  ColumnPrecision precision = ColumnPrecision::kDouble;
};

// Correlated columns of unit norm, targets that depend on a few of them.
OwnedGroupProblem RandomGroupProblem(const RandomGroupProblemSpec& spec, uint64_t seed);

// Values of a point that has nothing to do with the optimum.
GroupPoint RandomPoint(const GroupProblem& problem, RandomStream& random, double scale);

// The smallest lambda at which all weights are 0, with only the specific part or only the shared one.
double LargestUsefulLambda(const GroupProblem& problem);

// Solves from 0 to the relative gap; fails the test when that is not reached.
std::unique_ptr<GroupSolver> SolveGroupProblem(const GroupProblem& problem, double relative_gap,
                                               GroupMethod method = GroupMethod::kNewton);

}  // namespace mercer
