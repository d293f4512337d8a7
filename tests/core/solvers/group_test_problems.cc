#include "tests/core/solvers/group_test_problems.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

double NumberOrInfinity(const nlohmann::json& value) {
  return value.is_string() ? kInfinity : value.get<double>();
}

GroupPenalty PenaltyOf(const nlohmann::json& penalty, const nlohmann::json& lambda) {
  const BlockShape shape = penalty["mode"] == "flat" ? BlockShape::kFlat : BlockShape::kNested;
  return {*BlockNorm::Make(shape, NumberOrInfinity(penalty["q"])), NumberOrInfinity(lambda)};
}

LossKind KindOfLoss(const std::string& name) {
  return name == "square"     ? LossKind::kSquare
         : name == "logistic" ? LossKind::kLogistic
                              : LossKind::kSquaredHinge;
}

}  // namespace

std::unique_ptr<FeatureColumns> MakeColumns(const Matrix& values, ColumnPrecision precision) {
  auto columns = std::make_unique<FeatureColumns>(values.rows(), precision);
  RunContext context;
  EXPECT_TRUE(
      columns->Append(values, Vector::Zero(values.cols()), Vector::Ones(values.cols()), context)
          .ok());
  return columns;
}

OwnedGroupProblem FixtureGroupProblem(const nlohmann::json& fixture) {
  const nlohmann::json& item = fixture["problem"];
  OwnedGroupProblem owned;
  GroupProblem& problem = owned.problem;
  problem.loss = *MakeLoss(KindOfLoss(item["loss"]));
  problem.bias = item["bias"];
  for (const nlohmann::json& task : item["tasks"]) {
    owned.columns.push_back(MakeColumns(JsonMatrix(task["Phi"])));
    const Vector targets = JsonVector(task["y"]);
    problem.tasks.push_back({owned.columns.back().get(), targets, Vector::Ones(targets.size())});
  }
  for (const nlohmann::json& group : item["groups"]) {
    problem.group_begin.push_back(problem.group_begin.back() + static_cast<Index>(group.size()));
  }
  problem.specific = PenaltyOf(item["penalty_p"], item["lambda_p"]);
  problem.shared = PenaltyOf(item["penalty_s"], item["lambda_s"]);
  problem.group_weights = JsonVector(item["penalty_p"]["weights"]);
  return owned;
}

OwnedGroupProblem RandomGroupProblem(const RandomGroupProblemSpec& spec, uint64_t seed) {
  RandomStream random(seed, "random-master");
  OwnedGroupProblem owned;
  GroupProblem& problem = owned.problem;
  problem.loss = *MakeLoss(spec.loss);
  problem.bias = spec.bias;
  const Index d = spec.groups * spec.group_size;
  for (Index t = 0; t < spec.tasks; ++t) {
    Matrix values(spec.rows, d);
    for (Index i = 0; i < spec.rows; ++i) {
      const double common = random.Normal();
      for (Index j = 0; j < d; ++j) {
        values(i, j) = random.Normal() + 0.7 * common;
      }
    }
    values.colwise().normalize();
    if (t == 0 || !spec.shared_rows) {
      owned.columns.push_back(MakeColumns(values, spec.precision));
    }
    const Matrix used = owned.columns.back()->Columns(0, d);
    Vector targets(spec.rows);
    Vector costs = Vector::Ones(spec.rows);
    for (Index i = 0; i < spec.rows; ++i) {
      const double value = 8 * used(i, 0) - 5 * used(i, d - 1) + 3 * used(i, (t + 1) % d) +
                           0.4 * random.Normal() + 0.2;
      targets(i) = spec.loss == LossKind::kSquare ? value : (value > 0 ? 1.0 : -1.0);
      if (spec.varied_costs) {
        costs(i) = i % 7 == 3 ? 0.0 : 3 * random.Uniform();
      }
    }
    problem.tasks.push_back({owned.columns.back().get(), targets, costs});
  }
  for (Index g = 0; g < spec.groups; ++g) {
    problem.group_begin.push_back((g + 1) * spec.group_size);
  }
  problem.group_weights = Vector::Ones(spec.groups);
  problem.specific = {*BlockNorm::Make(spec.shape, spec.q), spec.lambda};
  problem.shared.lambda = spec.shared_lambda;
  return owned;
}

GroupPoint RandomPoint(const GroupProblem& problem, RandomStream& random, double scale) {
  GroupPoint point = GroupPoint::Zero(problem.num_columns(), problem.num_tasks());
  for (double& value : point.specific.reshaped()) {
    value = problem.has_specific() ? scale * random.Normal() : 0.0;
  }
  for (double& value : point.shared) {
    value = problem.has_shared() ? scale * random.Normal() : 0.0;
  }
  for (double& value : point.bias) {
    value = problem.bias ? random.Normal() : 0.0;
  }
  return point;
}

double LargestUsefulLambda(const GroupProblem& problem) {
  RunContext context;
  GroupPoint point = GroupPoint::Zero(problem.num_columns(), problem.num_tasks());
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const GroupTask& task = problem.task(t);
    point.bias(t) =
        problem.loss
            ->ExactBias(task.targets, task.costs, Vector::Zero(task.targets.size()), RunContext())
            .value()
            .chosen;
  }
  GroupEvaluation evaluation;
  EXPECT_TRUE(EvaluateGroupProblem(problem, point, evaluation, context).ok());
  const Matrix products = evaluation.positive + evaluation.negative;
  double largest = 0;
  for (Index g = 0; g < problem.num_groups(); ++g) {
    const auto block = products.middleRows(problem.first_column(g), problem.group_size(g));
    const double norm = problem.has_specific()
                            ? problem.specific.norm.DualNorm(block)
                            : problem.shared.norm.DualNorm(block.rowwise().sum());
    largest = std::max(largest, norm / problem.group_weights(g));
  }
  return largest;
}

std::unique_ptr<GroupSolver> SolveGroupProblem(const GroupProblem& problem, double relative_gap,
                                               GroupMethod method) {
  RunContext context;
  std::unique_ptr<GroupSolver> solver = MakeGroupSolver(method);
  solver->SetAccuracy({.relative_gap = relative_gap, .relative_decrease = 0});
  EXPECT_EQ(
      solver->Start(problem, GroupPoint::Zero(problem.num_columns(), problem.num_tasks()), context),
      absl::OkStatus());
  EXPECT_EQ(solver->Run(context), absl::OkStatus());
  EXPECT_LE(solver->certificate().RelativeGap(), relative_gap)
      << "after " << solver->iterations() << " iterations, objective "
      << solver->certificate().primal;
  return solver;
}

}  // namespace mercer
