// What must hold of multi-task problems on any data: the acceptance properties of
// docs/mathematics/sparse_multitask_svm.md.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/solvers/multitask/alternation_solver.h"
#include "core/solvers/multitask/dual_coordinate_solver.h"
#include "core/solvers/multitask/reweighted_solver.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "core/solvers/svm/svm_newton.h"
#include "tests/core/solvers/multitask/multitask_test_problems.h"
#include "tests/core/solvers/smo_mkl_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

TaskNorm NormOfForm(TaskNormForm form, const Vector& beta = {}) {
  return TaskNorm::Make(form, 1, 2, beta).value();
}

double OmegaOf(const MultitaskProblem& problem, const MultitaskBest& best) {
  return NormsOf(problem, best).dot(problem.norm.BlockWeights(problem.num_blocks()));
}

TEST(MultitaskPropertyTest, BoundsHoldForAnyDualAndWeights) {
  const ToyData data = MakeToyData(1, {});
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    const MultitaskProblem problem =
        ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.3, NormOfForm(form));
    const MultitaskBest best = SolveJointly(problem);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const ToyData drawn = MakeToyData(100 + seed, {.columns = 1});
      std::vector<Vector> duals;
      for (const Matrix& input : drawn.inputs) {
        duals.emplace_back(input.col(0));
      }
      const Matrix weights = MakeToyData(200 + seed, {.tasks = 1, .rows = 3}).inputs[0].cwiseAbs();
      RunContext context;
      const auto point = EvaluateMultitask(problem, duals, weights, context);
      ASSERT_TRUE(point.ok());
      EXPECT_GE(point->primal, best.lower);
      EXPECT_LE(point->dual_value, best.primal * (1 + 1e-12));
    }
  }
}

// Selected blocks are at the level, others below; the sum of norms is its root.
TEST(MultitaskPropertyTest, SelectedBlocksAreAtTheLevel) {
  const ToyData data = MakeToyData(2, {.columns = 60});
  Vector beta = Vector::Ones(60);
  beta(3) = 0.7;
  beta(5) = 2;
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    const MultitaskProblem problem =
        ColumnProblem(data.inputs, OwnBlocks(60), data.targets, 0.1, NormOfForm(form, beta));
    const MultitaskBest best = SolveJointly(problem);
    const MultitaskPoint point = PointOf(problem, best);
    const Vector ratios =
        point.energies.colwise().sum().transpose().array() / beta.array().square();
    const double level = form == TaskNormForm::kPlain ? 1 : ratios.maxCoeff();
    Index selected = 0;
    for (Index k = 0; k < 60; ++k) {
      EXPECT_LE(ratios(k), level * (1 + 1e-6));
      if (point.weights(0, k) > 0) {
        ++selected;
        EXPECT_NEAR(ratios(k), level, 1e-3 * level) << k;
      }
    }
    EXPECT_GT(selected, 0);
    EXPECT_LT(selected, 60);
    if (form == TaskNormForm::kSquared) {
      EXPECT_NEAR(OmegaOf(problem, best), std::sqrt(level), 1e-4 * std::sqrt(level));
    }
  }
}

TEST(MultitaskPropertyTest, FormsHaveTheSameSolutionsAtCostsThatBelongTogether) {
  const ToyData data = MakeToyData(3, {});
  const MultitaskProblem squared = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1,
                                                 NormOfForm(TaskNormForm::kSquared));
  const MultitaskBest of_squared = SolveJointly(squared);
  const double omega = OmegaOf(squared, of_squared);
  const MultitaskProblem plain = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1 / omega,
                                               NormOfForm(TaskNormForm::kPlain));
  EXPECT_TRUE(NormsOf(plain, SolveJointly(plain)).isApprox(NormsOf(squared, of_squared), 1e-4));
}

// A first step that makes alpha ten times as large makes energies a hundred times as large, and the
// next one takes the level below 0.
TEST(MultitaskPropertyTest, LevelsMayBeBelowZeroOnTheWay) {
  const nlohmann::json digits = ReadFixtureFile("svm/grouped-digits.json");
  const MultitaskProblem problem =
      ColumnProblem({JsonMatrix(digits.at("X"))}, digits.at("groups").get<std::vector<Index>>(),
                    {JsonVector(digits.at("y"))}, digits.at("C").get<double>(),
                    NormOfForm(TaskNormForm::kSquared));
  const MultitaskBest best = SolveJointly(problem, 1e-8);
  AlternationSolver newton(problem, {.rule = TaskWeightRule::kNewton, .relative_gap = 1e-5});
  RunContext context;
  ASSERT_TRUE(newton.Start(context).ok());
  ASSERT_TRUE(newton.Run(context).ok());
  EXPECT_LE(newton.best().RelativeGap(), 1e-5);
  EXPECT_NEAR(best.primal, newton.best().primal, 2e-5 * best.primal);
}

// One block and one task: a support vector machine with that kernel over beta^2.
TEST(MultitaskPropertyTest, OneBlockIsASupportVectorMachine) {
  const ToyData data = MakeToyData(4, {.tasks = 1, .columns = 5});
  const double beta = 1.5;
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, {0, 0, 0, 0, 0}, data.targets, 2,
                    NormOfForm(TaskNormForm::kSquared, Vector::Constant(1, beta)));
  const DenseKernelOperator kernel(
      std::make_shared<const Matrix>(data.inputs[0] * data.inputs[0].transpose() / (beta * beta)));
  SvmNewtonSolver svm(kernel, 1e-10);
  RunContext context;
  const MultitaskTask& task = problem.tasks[0];
  ASSERT_TRUE(svm.Start({problem.loss, task.targets, task.costs}, {}, context).ok());
  ASSERT_TRUE(svm.Run(context).ok());
  const double objective = svm.certificate().primal;
  EXPECT_NEAR(SolveJointly(problem).primal, objective, 1e-8 * objective);
}

TEST(MultitaskPropertyTest, CopiesOfATaskHaveItsSolution) {
  const ToyData data = MakeToyData(5, {.tasks = 1});
  const TaskNorm norm = NormOfForm(TaskNormForm::kSquared);
  const MultitaskProblem one = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1, norm);
  const MultitaskProblem three =
      ColumnProblem({data.inputs[0], data.inputs[0], data.inputs[0]}, OwnBlocks(20),
                    {data.targets[0], data.targets[0], data.targets[0]}, 1, norm);
  const MultitaskBest of_one = SolveJointly(one);
  const MultitaskBest of_three = SolveJointly(three);
  EXPECT_NEAR(of_three.primal, 3 * of_one.primal, 1e-8 * of_three.primal);
  EXPECT_TRUE(NormsOf(three, of_three).isApprox(std::sqrt(3.0) * NormsOf(one, of_one), 1e-4));
}

// One block for all columns, p = q = 2: machines that know nothing of each other.
TEST(MultitaskPropertyTest, ExponentsOfTwoSeparateTheTasks) {
  const ToyData data = MakeToyData(6, {});
  const TaskNorm norm = TaskNorm::Make(TaskNormForm::kSquared, 2, 2).value();
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.5, norm);
  RunContext context;
  AlternationSolver solver(problem, {.relative_gap = 1e-9});
  ASSERT_TRUE(solver.Start(context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  double sum = 0;
  for (Index t = 0; t < 3; ++t) {
    const auto i = static_cast<size_t>(t);
    const MultitaskProblem own =
        ColumnProblem({data.inputs[i]}, std::vector<Index>(20, 0), {data.targets[i]}, 0.5,
                      NormOfForm(TaskNormForm::kSquared));
    sum += SolveJointly(own).primal;
  }
  EXPECT_NEAR(solver.best().primal, sum, 1e-8 * sum);
}

TEST(MultitaskPropertyTest, ScalingBlockWeightsIsScalingCosts) {
  const ToyData data = MakeToyData(7, {});
  const Vector beta = Vector::Constant(20, 2);
  const MultitaskProblem weighted = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1,
                                                  NormOfForm(TaskNormForm::kSquared, beta));
  const MultitaskProblem cheaper = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.25,
                                                 NormOfForm(TaskNormForm::kSquared));
  const double objective = SolveJointly(weighted).primal;
  EXPECT_NEAR(SolveJointly(cheaper).primal * 4, objective, 1e-8 * objective);
}

TEST(MultitaskPropertyTest, UselessColumnsChangeNothing) {
  const ToyData data = MakeToyData(8, {});
  std::vector<Matrix> wider;
  for (const Matrix& inputs : data.inputs) {
    Matrix more(inputs.rows(), 23);
    // A column of zeros, a constant one, and a copy.
    more << inputs, Vector::Zero(inputs.rows()), Vector::Ones(inputs.rows()), inputs.col(1);
    wider.push_back(std::move(more));
  }
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    const double before =
        SolveJointly(ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.4, NormOfForm(form)))
            .primal;
    const double after =
        SolveJointly(ColumnProblem(wider, OwnBlocks(23), data.targets, 0.4, NormOfForm(form)))
            .primal;
    EXPECT_NEAR(after, before, 1e-8 * before);
  }
}

// Few columns against the rows, and the same as Gram matrices: all three forms of a step.
TEST(MultitaskPropertyTest, ColumnsAndGramMatricesAgree) {
  for (const Index rows : {30, 120}) {
    const ToyData data = MakeToyData(9, {.rows = rows});
    std::vector<Index> blocks;
    for (Index c = 0; c < 20; ++c) {
      blocks.push_back(c % 7);
    }
    const TaskNorm norm = NormOfForm(TaskNormForm::kSquared);
    const MultitaskProblem columns = ColumnProblem(data.inputs, blocks, data.targets, 1, norm);
    MultitaskProblem grams = columns;
    for (MultitaskTask& task : grams.tasks) {
      const auto& kernels = static_cast<const ColumnKernels&>(*task.blocks);
      std::vector<Matrix> of_blocks;
      for (Index k = 0; k < 7; ++k) {
        const Matrix x = kernels.Columns(kernels.blocks().ColumnsOf(k));
        of_blocks.emplace_back(x * x.transpose());
      }
      task.blocks = std::make_shared<const GramFamily>(std::move(of_blocks));
    }
    const double objective = SolveJointly(columns).primal;
    EXPECT_NEAR(SolveJointly(grams).primal, objective, 1e-8 * objective);
  }
}

TEST(MultitaskPropertyTest, PenaltyRisesAndLossFallsWithTheCosts) {
  const ToyData data = MakeToyData(10, {});
  double omega = 0;
  double loss = kInfinity;
  for (const double cost : {0.01, 0.1, 1.0, 10.0, 1e4}) {
    const MultitaskProblem problem = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, cost,
                                                   NormOfForm(TaskNormForm::kSquared));
    const MultitaskBest best = SolveJointly(problem, 1e-7);
    const double next = PointOf(problem, best).risk / cost;
    EXPECT_GE(OmegaOf(problem, best), omega * (1 - 1e-4));
    EXPECT_LE(next, loss * (1 + 1e-4));
    omega = OmegaOf(problem, best);
    loss = next;
  }
}

// Where the sum of one class is one of rows of the other with weights in [0, 1] (here 1, 1/2, 1/4,
// 1/4), no function is better than a constant, at any cost.
TEST(MultitaskPropertyTest, TheFunctionZeroIsAResult) {
  Matrix inputs(6, 2);
  inputs << 1, 0, -2, 0, 0, 1, 0, -1, 0.1, 0, -0.1, 0;
  const Vector targets{{-1, -1, -1, -1, 1, 1}};
  for (const double cost : {0.1, 1.0, 100.0}) {
    const MultitaskProblem problem =
        ColumnProblem({inputs}, OwnBlocks(2), {targets}, cost, NormOfForm(TaskNormForm::kSquared));
    const MultitaskBest best = SolveJointly(problem, 1e-6);
    EXPECT_NEAR(best.primal, 4 * cost, 1e-6 * cost);
    EXPECT_LE(NormsOf(problem, best).sum(), 1e-2);
    EXPECT_NEAR(PointOf(problem, best).biases[0].chosen, -1, 1e-2);
  }
}

TEST(MultitaskPropertyTest, WorkingSetsFindTheOptimumOfAllBlocks) {
  const ToyData data = MakeToyData(11, {.rows = 40, .columns = 600, .separation = 1});
  for (const double cost : {0.1, 10.0}) {
    for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
      const MultitaskProblem problem =
          ColumnProblem(data.inputs, OwnBlocks(600), data.targets, cost, NormOfForm(form));
      RunContext context;
      WorkingSetSolver solver(problem, 1e-8);
      ASSERT_TRUE(solver.Start(context).ok());
      ASSERT_TRUE(solver.Run(context).ok());
      EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap) << solver.best().RelativeGap();
      EXPECT_LT(solver.working_blocks(), 400);
      // From other blocks.
      WorkingSetSolver other(problem, 1e-8, {599, 300, 17});
      ASSERT_TRUE(other.Start(context).ok());
      ASSERT_TRUE(other.Run(context).ok());
      EXPECT_NEAR(other.best().primal, solver.best().primal, 2e-8 * solver.best().primal);
    }
  }
}

// Costs that rise and fall, once with other rows without cost.
TEST(MultitaskPropertyTest, SolutionsOfOtherCostsAreBeginnings) {
  const ToyData data = MakeToyData(17, {.columns = 300, .separation = 1});
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    MultitaskProblem problem =
        ColumnProblem(data.inputs, OwnBlocks(300), data.targets, 1, NormOfForm(form));
    RunContext context;
    std::unique_ptr<WorkingSetSolver> before;
    for (const double cost : {0.1, 0.2, 0.5, 1.0, 10.0, 0.3}) {
      for (MultitaskTask& task : problem.tasks) {
        task.costs = Vector::Constant(task.targets.size(), cost);
        task.costs(3) = cost == 1 ? 0 : cost;
      }
      WorkingSetSolver alone(problem, 1e-8);
      ASSERT_TRUE(alone.Start(context).ok());
      ASSERT_TRUE(alone.Run(context).ok());
      auto next = std::make_unique<WorkingSetSolver>(problem, 1e-8);
      ASSERT_TRUE(
          (before != nullptr ? next->StartFrom(*before, context) : next->Start(context)).ok());
      ASSERT_TRUE(next->Run(context).ok());
      EXPECT_EQ(next->stop(), MultitaskStop::kRelativeGap) << next->best().RelativeGap();
      EXPECT_NEAR(next->best().primal, alone.best().primal, 2e-8 * alone.best().primal);
      before = std::move(next);
    }
  }
}

TEST(MultitaskPropertyTest, ScalingNeverRaisesThePrimal) {
  const ToyData data = MakeToyData(19, {});
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    const MultitaskProblem problem =
        ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1, NormOfForm(form));
    MultitaskBest best = SolveJointly(problem);
    const MultitaskPoint solution = PointOf(problem, best);
    for (const double factor : {0.7, 1.0, 1.3}) {
      best.weights = factor * solution.weights;
      MultitaskPoint point = PointOf(problem, best);
      RunContext context;
      ASSERT_TRUE(ScaleMultitask(problem, point, context).ok());
      EXPECT_NEAR(point.primal, solution.primal, 1e-8 * solution.primal);
      best.weights = point.weights;
      EXPECT_NEAR(PointOf(problem, best).primal, point.primal, 1e-12 * point.primal);
    }
  }
}

TEST(MultitaskPropertyTest, ThreadsChangeNoBits) {
  const ToyData data = MakeToyData(12, {.tasks = 5, .rows = 50, .columns = 300});
  const MultitaskProblem problem = ColumnProblem(data.inputs, OwnBlocks(300), data.targets, 1,
                                                 NormOfForm(TaskNormForm::kSquared));
  const MultitaskBest one = SolveJointly(problem, 1e-6, 1);
  const MultitaskBest three = SolveJointly(problem, 1e-6, 3);
  EXPECT_EQ(one.weights, three.weights);
  EXPECT_EQ(one.dual, three.dual);
  EXPECT_EQ(one.lower, three.lower);
}

TEST(MultitaskPropertyTest, ConcavePenaltySelectsFewerAndNeverRises) {
  const ToyData data = MakeToyData(13, {.columns = 60});
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    const MultitaskProblem problem =
        ColumnProblem(data.inputs, OwnBlocks(60), data.targets, 3, NormOfForm(form));
    RunContext context;
    ReweightedSolver solver(problem, {.p = 0.5, .relative_gap = 1e-8});
    ASSERT_TRUE(solver.Start(context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap);
    const auto count = [](const Vector& norms) {
      return (norms.array() > 1e-6 * norms.maxCoeff()).count();
    };
    EXPECT_LT(count(solver.steps().back().joint_norms), count(solver.steps()[0].joint_norms));
    for (size_t s = 1; s < solver.steps().size(); ++s) {
      EXPECT_LE(solver.steps()[s].objective, solver.steps()[s - 1].objective * (1 + 1e-7));
    }
    EXPECT_LE(solver.stationarity(), 1e-2);
  }
}

// However often it is asked for what it could not reach.
TEST(MultitaskPropertyTest, AConcaveRunGoesOnWhenItIsAskedForMore) {
  const ToyData data = MakeToyData(13, {.columns = 60});
  const MultitaskProblem problem = ColumnProblem(data.inputs, OwnBlocks(60), data.targets, 3,
                                                 NormOfForm(TaskNormForm::kSquared));
  RunContext context;
  ReweightedSolver solver(problem, {.p = 0.5, .stationarity = 1e-2, .relative_decrease = 1});
  ASSERT_TRUE(solver.Start(context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  ASSERT_EQ(solver.stop(), MultitaskStop::kRelativeGap);
  solver.SetRelativeGap(1e-2);
  EXPECT_TRUE(solver.done());
  solver.SetRelativeGap(1e-12);
  EXPECT_FALSE(solver.done());
  ASSERT_TRUE(solver.Run(context).ok());
  solver.SetRelativeGap(1e-12);
  EXPECT_TRUE(solver.done());
}

// Saved after every step and restored into a new solver: the same bits as in one go.
TEST(MultitaskPropertyTest, RestoredRunsGoOnWithTheSameBits) {
  const ToyData data = MakeToyData(16, {.columns = 260});
  const MultitaskProblem problem = ColumnProblem(data.inputs, OwnBlocks(260), data.targets, 1,
                                                 NormOfForm(TaskNormForm::kSquared));
  const std::vector<std::function<std::unique_ptr<MultitaskSolver>()>> makers = {
      [&] { return std::make_unique<WorkingSetSolver>(problem, 1e-6); },
      [&] {
        return std::make_unique<AlternationSolver>(
            problem, AlternationOptions{.relative_gap = 1e-2, .max_steps = 20});
      },
      [&] {
        return std::make_unique<AlternationSolver>(
            problem, AlternationOptions{TaskWeightRule::kReducedGradient, 1e-2, 20});
      },
      [&] {
        return std::make_unique<AlternationSolver>(
            problem, AlternationOptions{TaskWeightRule::kNewton, 1e-4, 20});
      },
      [&] {
        return std::make_unique<DualCoordinateSolver>(
            problem, DualCoordinateOptions{.relative_gap = 1e-2, .max_steps = 20});
      },
      [&] { return std::make_unique<ReweightedSolver>(problem, ReweightedOptions{.p = 0.5}); }};
  for (const auto& make : makers) {
    RunContext context;
    const std::unique_ptr<MultitaskSolver> whole = make();
    ASSERT_TRUE(whole->Start(context).ok());
    ASSERT_TRUE(whole->Run(context).ok());
    std::unique_ptr<MultitaskSolver> sliced = make();
    ASSERT_TRUE(sliced->Start(context).ok());
    while (!sliced->done()) {
      ASSERT_TRUE(sliced->Step(context).ok());
      ByteWriter writer;
      sliced->Save(writer);
      const std::string saved = std::move(writer).Take();
      sliced = make();
      ByteReader reader(saved);
      ASSERT_EQ(sliced->Load(reader, context), absl::OkStatus());
      EXPECT_TRUE(reader.AtEnd());
    }
    EXPECT_EQ(sliced->stop(), whole->stop());
    EXPECT_EQ(sliced->iterations(), whole->iterations());
    EXPECT_EQ(sliced->best().weights, whole->best().weights);
    EXPECT_EQ(sliced->best().lower, whole->best().lower);
    ByteReader nothing("no state");
    EXPECT_FALSE(make()->Load(nothing, context).ok());
  }
}

TEST(MultitaskPropertyTest, CancelledRunsSaySo) {
  const ToyData data = MakeToyData(14, {});
  const MultitaskProblem problem = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1,
                                                 NormOfForm(TaskNormForm::kSquared));
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  WorkingSetSolver solver(problem, 1e-9);
  ASSERT_TRUE(solver.Start(context).ok());
  token.Cancel();
  EXPECT_TRUE(absl::IsCancelled(solver.Run(context)));
}

TEST(MultitaskPropertyTest, RefusesWhatIsNoProblem) {
  const ToyData data = MakeToyData(15, {});
  const TaskNorm norm = NormOfForm(TaskNormForm::kSquared);
  const MultitaskProblem good = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1, norm);
  EXPECT_TRUE(CheckMultitaskProblem(good).ok());
  const auto refused = [&](const std::function<void(MultitaskProblem&)>& spoil) {
    MultitaskProblem problem = good;
    spoil(problem);
    return absl::IsInvalidArgument(CheckMultitaskProblem(problem));
  };
  EXPECT_TRUE(refused([](MultitaskProblem& problem) { problem.tasks.clear(); }));
  EXPECT_TRUE(refused([](MultitaskProblem& problem) { problem.tasks[1].targets(0) = 0; }));
  EXPECT_TRUE(refused([](MultitaskProblem& problem) { problem.tasks[1].costs(0) = -1; }));
  EXPECT_TRUE(refused([](MultitaskProblem& problem) { problem.tasks[1].costs(0) = kInfinity; }));
  EXPECT_TRUE(refused([](MultitaskProblem& problem) { problem.loss = nullptr; }));
  EXPECT_TRUE(refused([](MultitaskProblem& problem) {
    problem.norm = NormOfForm(TaskNormForm::kSquared, Vector::Ones(3));
  }));
}

}  // namespace
}  // namespace mercer
