#include "tests/core/solvers/multitask/multitask_test_problems.h"

#include <utility>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "tests/core/solvers/smo_mkl_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

using nlohmann::json;

TaskNorm NormOf(const json& fixture) {
  const TaskNormForm form =
      fixture["form"] == "plain" ? TaskNormForm::kPlain : TaskNormForm::kSquared;
  const double p = std::max(fixture.value("p", 1.0), 1.0);
  const Vector beta = fixture.contains("beta") ? JsonVector(fixture["beta"]) : Vector();
  return TaskNorm::Make(form, p, fixture.value("q", 2.0), beta).value();
}

std::vector<Matrix> JsonMatrices(const json& list) {
  std::vector<Matrix> matrices;
  for (const json& rows : list) {
    matrices.push_back(JsonMatrix(rows));
  }
  return matrices;
}

std::shared_ptr<const Loss> Hinge() { return MakeLoss(LossKind::kHinge).value(); }

}  // namespace

MultitaskCase ReadMultitaskCase(const json& fixture) {
  MultitaskCase read;
  read.problem.loss = Hinge();
  read.problem.norm = NormOf(fixture);
  std::shared_ptr<const ColumnBlocks> blocks;
  if (fixture["kind"] == "linear") {
    read.block_of = fixture["groups"].get<std::vector<Index>>();
    blocks = std::make_shared<const ColumnBlocks>(read.block_of);
  }
  for (const json& given : fixture["tasks"]) {
    MultitaskTask task;
    task.targets = JsonVector(given["y"]);
    task.costs = Vector::Constant(task.targets.size(), fixture["C"].get<double>());
    if (blocks != nullptr) {
      read.inputs.push_back(JsonMatrix(given["X"]));
      read.tests.push_back(JsonMatrix(given["X_test"]));
      task.blocks = std::make_shared<const ColumnKernels>(
          std::make_shared<const Matrix>(read.inputs.back()), blocks);
    } else {
      read.grams.push_back(JsonMatrices(given["K"]));
      read.test_grams.push_back(JsonMatrices(given["K_test"]));
      task.blocks = std::make_shared<const GramFamily>(read.grams.back());
    }
    read.problem.tasks.push_back(std::move(task));
  }
  return read;
}

MultitaskProblem ColumnProblem(const std::vector<Matrix>& inputs,
                               const std::vector<Index>& block_of,
                               const std::vector<Vector>& targets, double cost,
                               const TaskNorm& norm) {
  MultitaskProblem problem{Hinge(), {}, norm};
  const auto blocks = std::make_shared<const ColumnBlocks>(block_of);
  for (size_t t = 0; t < inputs.size(); ++t) {
    problem.tasks.push_back(
        {std::make_shared<const ColumnKernels>(std::make_shared<const Matrix>(inputs[t]), blocks),
         targets[t], Vector::Constant(targets[t].size(), cost)});
  }
  return problem;
}

ToyData MakeToyData(uint64_t seed, const ToyOptions& options) {
  RandomStream random(seed, "multitask-test-data");
  ToyData data;
  for (Index t = 0; t < options.tasks; ++t) {
    Vector means(options.relevant);
    for (double& mean : means) {
      mean = random.Normal() > 0 ? options.separation : -options.separation;
    }
    Matrix inputs(options.rows, options.columns);
    Vector targets(options.rows);
    for (Index i = 0; i < options.rows; ++i) {
      targets(i) = i % 2 == 0 ? 1 : -1;
      for (Index j = 0; j < options.columns; ++j) {
        inputs(i, j) = random.Normal() + (j < options.relevant ? targets(i) * means(j) : 0);
      }
    }
    data.inputs.push_back(std::move(inputs));
    data.targets.push_back(std::move(targets));
  }
  return data;
}

std::vector<Index> OwnBlocks(Index columns) {
  std::vector<Index> blocks;
  for (Index c = 0; c < columns; ++c) {
    blocks.push_back(c);
  }
  return blocks;
}

MultitaskBest SolveJointly(const MultitaskProblem& problem, double gap, int threads) {
  RunContext context(CancellationToken(), threads, nullptr);
  WorkingSetSolver solver(problem, gap);
  EXPECT_EQ(solver.Start(context), absl::OkStatus());
  EXPECT_EQ(solver.Run(context), absl::OkStatus());
  EXPECT_LE(solver.best().RelativeGap(), gap) << solver.iterations();
  return solver.best();
}

MultitaskPoint PointOf(const MultitaskProblem& problem, const MultitaskBest& best) {
  RunContext context;
  return EvaluateMultitask(problem, best.dual, best.weights, context).value();
}

Vector NormsOf(const MultitaskProblem& problem, const MultitaskBest& best) {
  return problem.norm.JointNorms(PointOf(problem, best).Norms());
}

Vector TestDecision(const MultitaskCase& given, const MultitaskPoint& point, Index task) {
  const auto t = static_cast<size_t>(task);
  const Vector& dual = point.dual[t];
  Vector values;
  if (given.grams.empty()) {
    Vector sums = given.inputs[t].transpose() * dual;
    for (Index c = 0; c < sums.size(); ++c) {
      sums(c) *= point.weights(task, given.block_of[static_cast<size_t>(c)]);
    }
    values = given.tests[t] * sums;
  } else {
    values = Vector::Zero(given.test_grams[t][0].rows());
    for (size_t k = 0; k < given.test_grams[t].size(); ++k) {
      values += point.weights(task, static_cast<Index>(k)) * (given.test_grams[t][k] * dual);
    }
  }
  return values.array() + point.biases[t].chosen;
}

}  // namespace mercer
