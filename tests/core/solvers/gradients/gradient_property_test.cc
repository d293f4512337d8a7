// What must hold of gradient learning on any data: the acceptance properties of its mathematics.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/solvers/gradients/gradient_results.h"
#include "core/solvers/gradients/pair_kernel.h"
#include "core/solvers/gradients/pair_solver.h"
#include "core/solvers/gradients/pair_system.h"
#include "tests/core/solvers/gradients/gradient_test_problems.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

constexpr LossKind kGradientLosses[] = {LossKind::kSquare, LossKind::kHinge,
                                        LossKind::kSquaredHinge};

// At these weights, which a line search moves along.
PairSolution SolveAt(const GradientProblem& problem, const Vector& weights) {
  RunContext context;
  const auto kernel = DiagonalPairKernel::Make(problem, weights, context).value();
  const PairMachine machine{*problem.loss, problem.pair_targets, problem.pair_costs};
  const PairSolution solution = SolvePairs(machine, *kernel, {}, context).value();
  EXPECT_LE(solution.gap, 1e-9);
  return solution;
}

GradientPoint FixedPoint(const GradientProblem& problem, const Vector& weights) {
  RunContext context;
  return EvaluateGradients(problem, CoordinateWeights::kFixed, weights,
                           SolveAt(problem, weights).dual, context)
      .value();
}

Vector EvenWeights(Index size) { return Vector::Constant(size, 1 / static_cast<double>(size)); }

TEST(PairKernelTest, ProductsBlocksAndEnergiesAreThoseOfTheDefinition) {
  for (const Index columns : {3, 40}) {  // as many columns, and more than rows
    const GradientProblem problem = MakeCase({.columns = columns});
    const Vector weights = RandomVector(columns, 2).cwiseAbs();
    RunContext context;
    const auto kernel = DiagonalPairKernel::Make(problem, weights, context).value();
    const Matrix expected = PairMatrix(problem, weights);
    const double close = 1e-12 * expected.cwiseAbs().maxCoeff();
    const Vector v = RandomVector(problem.num_pairs(), 3);
    EXPECT_LE((kernel->Product(v, context).value() - expected * v).cwiseAbs().maxCoeff(),
              30 * close);
    std::vector<Index> some;
    for (Index p = 0; p < problem.num_pairs(); p += 3) {
      some.push_back(p);
    }
    const Matrix block = kernel->Block(some, context).value();
    const Matrix difference = block - expected(some, some);
    EXPECT_LE(Matrix(difference.triangularView<Eigen::Lower>()).cwiseAbs().maxCoeff(), close);
    EXPECT_LE((kernel->diagonal() - expected.diagonal()).cwiseAbs().maxCoeff(), close);
    const GradientPoint point =
        EvaluateGradients(problem, CoordinateWeights::kFixed, weights, v, context).value();
    EXPECT_LE((point.predictions - expected * v).cwiseAbs().maxCoeff(), 30 * close);
    const Matrix base = PairMatrix(problem, Vector::Zero(columns));
    for (Index l = 0; l < columns; ++l) {
      const Matrix of_column = PairMatrix(problem, Vector::Unit(columns, l)) - base;
      EXPECT_NEAR(point.energies(l), 0.5 * v.dot(of_column * v), 1e-10);
    }
  }
}

TEST(PairKernelTest, TheHessianMatrixIsTheNormOfItsFunction) {
  const GradientCase given{.rows = 10, .columns = 3};
  const GradientData data = MakeGradientData(given);
  GradientProblem problem = MakeCase(given, data);
  RunContext context;
  const Matrix squared = SquaredRowDistances(data.rows, context).value();
  constexpr double kWidth = 1.3;
  problem.gram = (-0.5 / (kWidth * kWidth) * squared).array().exp();
  const Matrix q = HessianPairMatrix(problem, kWidth, context).value();
  const Vector v = RandomVector(problem.num_pairs(), 1);
  const HessianFunction function = MakeHessianFunction(problem, kWidth, v);
  const GradientValues at = ValuesAt(function, data.rows, context).value();
  // Q v are the predictions of the function and its own gradient.
  const Vector predictions = q * v;
  for (Index p = 0; p < problem.num_pairs(); ++p) {
    const Index i = problem.pairs.targets[static_cast<size_t>(p)];
    const Index j = problem.pairs.anchors[static_cast<size_t>(p)];
    EXPECT_NEAR(predictions(p),
                at.base(j) + at.gradients.row(j).dot(data.rows.row(i) - data.rows.row(j)), 1e-10);
  }
  constexpr double kStep = 1e-5;
  for (Index l = 0; l < 3; ++l) {
    Matrix up = data.rows;
    Matrix down = data.rows;
    up.col(l).array() += kStep;
    down.col(l).array() -= kStep;
    const Vector slope =
        (ValuesAt(function, up, context)->base - ValuesAt(function, down, context)->base) /
        (2 * kStep);
    EXPECT_LE((slope - at.gradients.col(l)).cwiseAbs().maxCoeff(), 1e-7);
  }
}

TEST(PairSolverTest, AllMethodsOfABoxAgree) {
  const GradientProblem problem = MakeCase({.loss = LossKind::kSquaredHinge});
  RunContext context;
  const Vector weights = EvenWeights(problem.num_columns());
  const auto kernel = DiagonalPairKernel::Make(problem, weights, context).value();
  const PairMachine machine{*problem.loss, problem.pair_targets, problem.pair_costs};
  const PairSolution solution = SolvePairs(machine, *kernel, {}, context).value();
  const Vector swept = SweepPairs(machine, *kernel, {}, 3000, context).value();
  EXPECT_LE((swept - solution.dual).cwiseAbs().maxCoeff(), 1e-8);
  const MachinePoint point = EvaluateMachine(machine, *kernel, swept, context).value();
  EXPECT_NEAR(point.upper, solution.value, 1e-9 * solution.value);
  EXPECT_NEAR(point.lower, solution.value, 1e-9 * solution.value);
}

TEST(GradientPropertyTest, BoundsHoldForAnyDualAndWeights) {
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.loss = loss});
    const GradientBest best = SolveCase(problem);
    EXPECT_LE(best.upper, problem.pair_costs.sum());
    for (uint64_t seed = 0; seed < 20; ++seed) {
      RunContext context;
      Vector weights = RandomVector(problem.num_columns(), seed).cwiseAbs();
      weights /= weights.sum();
      const auto point =
          EvaluateGradients(problem, CoordinateWeights::kSimplex, weights,
                            0.05 * RandomVector(problem.num_pairs(), 100 + seed), context);
      ASSERT_TRUE(point.ok());
      EXPECT_GE(point->upper, best.lower);
      EXPECT_LE(point->lower, best.upper * (1 + 1e-12));
    }
  }
}

TEST(GradientPropertyTest, TheSlopeInAWeightIsItsEnergy) {
  constexpr double kStep = 1e-5;
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.loss = loss});
    const Vector weights = EvenWeights(problem.num_columns());
    const GradientPoint point = FixedPoint(problem, weights);
    for (Index l = 0; l < problem.num_columns(); ++l) {
      const Vector step = kStep * Vector::Unit(problem.num_columns(), l);
      const double up = SolveAt(problem, weights + step).value;
      const double down = SolveAt(problem, weights - step).value;
      EXPECT_NEAR((up - down) / (2 * kStep), -point.energies(l), 1e-5);
      EXPECT_GE(up + down, 2 * point.lower - 1e-10);  // convex
    }
  }
}

TEST(GradientPropertyTest, ScoresAreTheWeightsAndEnergiesAreEqualOnTheSupport) {
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.columns = 30, .loss = loss});
    const GradientPoint point = PointOf(problem, SolveCase(problem, 1e-10));
    const CoordinateRanking ranking = RankCoordinates(point.Norms(), point.energies);
    const double largest = point.energies.maxCoeff();
    EXPECT_LE((ranking.scores - point.weights).cwiseAbs().maxCoeff(), 1e-4);
    for (Index l = 0; l < 30; ++l) {
      if (point.weights(l) > 1e-4) {
        EXPECT_NEAR(point.energies(l), largest, 1e-3 * largest);
      }
    }
    EXPECT_EQ(ranking.scores(ranking.order[0]), ranking.scores.maxCoeff());
  }
}

TEST(GradientPropertyTest, TheAlternationDescendsToTheSameOptimum) {
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.columns = 4, .loss = loss, .cost = 2});
    const GradientBest best = SolveCase(problem);
    RunContext context;
    CoordinateWeightSolver solver(
        problem,
        {.method = CoordinateMethod::kAlternation, .relative_gap = 1e-4, .max_steps = 3000});
    ASSERT_TRUE(solver.Start({}, context).ok());
    double before = kInfinity;
    while (!solver.done()) {
      ASSERT_TRUE(solver.Step(context).ok());
      EXPECT_LE(solver.best().upper, before);
      before = solver.best().upper;
    }
    EXPECT_EQ(solver.stop(), GradientStop::kRelativeGap);
    EXPECT_NEAR(solver.best().upper, best.upper, 1.1e-4 * best.upper);
  }
}

// On problems with repeated rows and columns too, whose optimal weights are not unique.
TEST(GradientPropertyTest, ThePlanesLeadToTheSameOptimum) {
  constexpr double kPlaneGap = 1e-7;
  for (const LossKind loss : kGradientLosses) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const GradientProblem problem =
          MakeCase({.seed = seed,
                    .rows = 20,
                    .columns = seed % 2 == 0 ? 8 : 60,
                    .loss = loss,
                    .cost = std::pow(10.0, static_cast<double>(seed) - 3),
                    .repeated_rows = seed % 3 == 0 ? 2 : 0,
                    .repeated_columns = seed % 3 == 1 ? 2 : 0,
                    .scale = seed > 3 ? 10.0 : 1.0});
      const GradientBest best = SolveCase(problem, 1e-8);
      const GradientBest other = SolveCase(problem, kPlaneGap, 1, CoordinateMethod::kSilp);
      EXPECT_LE(other.lower, best.upper * (1 + 1e-12)) << seed;
      EXPECT_GE(other.upper, best.lower * (1 - 1e-12)) << seed;
      EXPECT_NEAR(other.weights.sum(), 1, 1e-12);
    }
  }
}

// They never part again, and an early end keeps them.
TEST(GradientPropertyTest, BoundsOfThePlanesHoldAtEveryStep) {
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.columns = 40, .loss = loss, .cost = 50});
    const GradientBest best = SolveCase(problem, 1e-8);
    RunContext context;
    CoordinateWeightSolver solver(
        problem, {.method = CoordinateMethod::kSilp, .relative_gap = 1e-9, .max_steps = 12});
    ASSERT_TRUE(solver.Start({}, context).ok());
    GradientBest last = solver.best();
    while (!solver.done()) {
      ASSERT_TRUE(solver.Step(context).ok());
      EXPECT_LE(solver.best().lower, best.upper);
      EXPECT_GE(solver.best().upper, best.lower);
      EXPECT_GE(solver.best().lower, last.lower);
      EXPECT_LE(solver.best().upper, last.upper);
      last = solver.best();
    }
    EXPECT_EQ(solver.stop(), GradientStop::kIterationLimit);
  }
}

TEST(GradientPropertyTest, OneColumnIsTheMachineOfTheWeightOne) {
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.columns = 1, .loss = loss});
    const GradientBest best = SolveCase(problem);
    const GradientPoint fixed = FixedPoint(problem, Vector::Ones(1));
    EXPECT_NEAR(best.upper, fixed.upper, 1e-8 * fixed.upper);
  }
}

TEST(GradientPropertyTest, ColumnsThatSayNothingNewChangeNothing) {
  const GradientCase given{.columns = 5};
  const GradientData data = MakeGradientData(given);
  const GradientProblem problem = MakeCase(given, data);
  const GradientBest best = SolveCase(problem);
  Matrix more(given.rows, 8);
  more.leftCols(5) = data.rows.array() + 3.0;  // a translation
  more.col(5).setConstant(7);
  more.col(6) = data.rows.col(0);
  more.col(7) = 0.5 * data.rows.col(1);
  const GradientBest other = SolveCase(WithRows(problem, more));
  EXPECT_NEAR(other.upper, best.upper, 1e-8 * best.upper);
  EXPECT_EQ(other.weights(5), 0);
  EXPECT_EQ(other.weights(7), 0);  // the smaller copy
  EXPECT_NEAR(other.weights(0) + other.weights(6), best.weights(0), 1e-5);
  EXPECT_NEAR(other.weights(1), best.weights(1), 1e-5);
}

TEST(GradientPropertyTest, WeightsOfPairsAndScalesOfTargetsAreCosts) {
  const GradientCase given;
  const GradientProblem problem = MakeCase(given);
  const GradientBest best = SolveCase(problem);
  GradientProblem scaled = problem;
  scaled.pair_targets *= -3;
  const GradientBest of_scaled = SolveCase(scaled);
  EXPECT_NEAR(of_scaled.upper, 9 * best.upper, 1e-7 * best.upper);
  EXPECT_LE((of_scaled.weights - best.weights).cwiseAbs().maxCoeff(), 1e-5);
  GradientProblem split = problem;  // each pair in two halves
  split.pairs.targets.insert(split.pairs.targets.end(), problem.pairs.targets.begin(),
                             problem.pairs.targets.end());
  split.pairs.anchors.insert(split.pairs.anchors.end(), problem.pairs.anchors.begin(),
                             problem.pairs.anchors.end());
  split.pairs.weights = problem.pairs.weights.replicate(2, 1) / 2;
  split.pair_costs = problem.pair_costs.replicate(2, 1) / 2;
  split.pair_targets = problem.pair_targets.replicate(2, 1);
  EXPECT_NEAR(SolveCase(split).upper, best.upper, 1e-8 * best.upper);
}

// All dual variables are at their bounds, one coordinate is selected: C_sat of the closed form.
TEST(GradientPropertyTest, SmallCostsOfTheHingeHaveTheClosedForm) {
  const GradientCase given{.loss = LossKind::kHinge, .cost = 1};
  const GradientProblem unit = MakeCase(given);
  RunContext context;
  const Vector v = unit.pair_costs.cwiseProduct(unit.pair_targets);
  GradientPoint point = EvaluateGradients(unit, CoordinateWeights::kFixed,
                                          Vector::Zero(unit.num_columns()), v, context)
                            .value();
  Index best = 0;
  const double energy = point.energies.maxCoeff(&best);
  const Vector weights = Vector::Unit(unit.num_columns(), best);
  point = EvaluateGradients(unit, CoordinateWeights::kFixed, weights, v, context).value();
  const double saturation = 1 / unit.pair_targets.cwiseProduct(point.predictions).maxCoeff();
  ASSERT_GT(saturation, 0);
  GradientCase small = given;
  small.cost = 0.99 * saturation;
  const GradientProblem problem = MakeCase(small);
  const GradientBest solved = SolveCase(problem, 1e-12);
  EXPECT_EQ(solved.weights, weights);
  EXPECT_EQ(solved.dual.cwiseAbs(), problem.pair_costs);
  const double expected = small.cost - small.cost * small.cost * (0.5 * point.base_norm + energy);
  EXPECT_NEAR(solved.upper, expected, 1e-12 * expected);
}

TEST(GradientPropertyTest, OptimaAreNonDecreasingAndConcaveInTheCost) {
  for (const LossKind loss : kGradientLosses) {
    std::vector<double> values;
    for (const double cost : {1.0, 2.0, 3.0}) {
      values.push_back(SolveCase(MakeCase({.loss = loss, .cost = cost})).upper);
    }
    EXPECT_LE(values[0], values[1] * (1 + 1e-8));
    EXPECT_LE(values[1], values[2] * (1 + 1e-8));
    EXPECT_GE(2 * values[1], (values[0] + values[2]) * (1 - 1e-8));
  }
}

TEST(GradientPropertyTest, DirectionsAreEigenvectorsOfTheCovariance) {
  const GradientProblem problem = MakeCase({.columns = 8, .cost = 50});
  const GradientPoint point = PointOf(problem, SolveCase(problem));
  const GradientFunctions functions = MakeGradientFunctions(problem, point.weights, point.dual);
  RunContext context;
  const GradientDirections found =
      LeadingDirections(problem, functions, DirectionMeasure::kNorm, 3, context).value();
  const Matrix covariance =
      GradientCovariance(problem, point.weights, point.dual, functions.columns, context).value();
  const Matrix& w = found.directions;
  ASSERT_GT(w.cols(), 0);
  EXPECT_LE((w.transpose() * w - Matrix::Identity(w.cols(), w.cols())).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LE((covariance * w - w * found.eigenvalues.asDiagonal()).cwiseAbs().maxCoeff(),
            1e-10 * found.eigenvalues(0));
  const Vector norms = point.Norms()(functions.columns);
  EXPECT_LE((covariance.diagonal().cwiseSqrt() - norms).cwiseAbs().maxCoeff(), 1e-10);
}

// Two rings whose radius tells the classes apart, and twenty columns of small noise.
TEST(GradientPropertyTest, FindsTheTwoColumnsOfARing) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    GradientCase given{
        .seed = seed, .rows = 60, .columns = 22, .loss = LossKind::kHinge, .cost = 100};
    given.weights.neighbors = 8;
    GradientData data = MakeGradientData(given);
    data.rows *= 0.1;
    RandomStream random(seed, "gradient-ring");
    for (Index i = 0; i < 60; ++i) {
      data.targets(i) = i % 2 == 0 ? 1 : -1;
      const double radius = 0.8 * random.Uniform() + (i % 2 == 0 ? 0 : 1.2);
      const double angle = 2 * M_PI * random.Uniform();
      data.rows(i, 0) = radius * std::cos(angle);
      data.rows(i, 1) = radius * std::sin(angle);
    }
    const GradientProblem problem = MakeCase(given, data);
    const GradientBest best = SolveCase(problem, 1e-6);
    EXPECT_GE(best.weights(0) + best.weights(1), 0.99) << seed;
    const Vector fixed = FixedPoint(problem, Vector::Ones(22)).Norms();
    EXPECT_LE(fixed(0) + fixed(1), 0.5 * fixed.sum()) << seed;
  }
}

void ExpectSameBits(const GradientProblem& problem, CoordinateMethod method, double gap) {
  const GradientBest one = SolveCase(problem, gap, 1, method);
  const GradientBest two = SolveCase(problem, gap, 2, method);
  EXPECT_EQ(one.weights, two.weights);
  EXPECT_EQ(one.dual, two.dual);
  EXPECT_EQ(one.upper, two.upper);
  RunContext context;
  const CoordinateWeightOptions options{.method = method, .relative_gap = gap, .max_steps = 500};
  CoordinateWeightSolver first(problem, options);
  ASSERT_TRUE(first.Start({}, context).ok());
  // Before the first step, and between later ones.
  for (int restored = 0; restored < 16; ++restored) {
    if (restored % 5 == 0) {
      ByteWriter writer;
      first.Save(writer);
      CoordinateWeightSolver second(problem, options);
      ByteReader reader(writer.bytes());
      ASSERT_TRUE(second.Load(reader).ok());
      ASSERT_TRUE(reader.AtEnd());
      ASSERT_TRUE(second.Run(context).ok());
      EXPECT_EQ(second.best().weights, one.weights);
      EXPECT_EQ(second.best().lower, one.lower);
    }
    ASSERT_TRUE(first.Step(context).ok());
  }
}

TEST(CoordinateWeightSolverTest, HasTheSameBitsForEveryNumberOfThreadsAndWhenRestored) {
  for (const LossKind loss : kGradientLosses) {
    const GradientProblem problem = MakeCase({.rows = 30, .columns = 700, .loss = loss});
    ExpectSameBits(problem, CoordinateMethod::kNewton, 1e-8);
    ExpectSameBits(problem, CoordinateMethod::kSilp, 1e-6);
  }
}

TEST(CoordinateWeightSolverTest, RefusesThePlanesOfAnotherProblem) {
  const GradientProblem problem = MakeCase(GradientCase());
  const CoordinateWeightOptions options{.method = CoordinateMethod::kSilp, .relative_gap = 1e-6};
  RunContext context;
  CoordinateWeightSolver solver(problem, options);
  ASSERT_TRUE(solver.Start({}, context).ok());
  ByteWriter writer;
  solver.Save(writer);
  const std::string bytes(writer.bytes());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(CoordinateWeightSolver(problem, options).Load(reader).ok()) << size;
  }
  const GradientProblem more = MakeCase({.rows = 17});
  ByteReader reader(bytes);
  EXPECT_FALSE(CoordinateWeightSolver(more, options).Load(reader).ok());
}

// At small costs the hinge's dual at its bound is the optimum, and there is no program to solve.
TEST(CoordinateWeightSolverTest, PlanesOfARunThatEndsAtItsStartAreSaved) {
  const GradientProblem problem = MakeCase({.loss = LossKind::kHinge, .cost = 1e-6});
  const CoordinateWeightOptions options{.method = CoordinateMethod::kSilp, .relative_gap = 1e-6};
  RunContext context;
  CoordinateWeightSolver solver(problem, options);
  ASSERT_TRUE(solver.Start({}, context).ok());
  ASSERT_TRUE(solver.done());
  ByteWriter writer;
  solver.Save(writer);
  CoordinateWeightSolver restored(problem, options);
  ByteReader reader(writer.bytes());
  ASSERT_TRUE(restored.Load(reader).ok());
  EXPECT_TRUE(restored.done());
  EXPECT_EQ(restored.best().upper, solver.best().upper);
}

TEST(CoordinateWeightSolverTest, EndsSoonWhenCancelled) {
  const GradientProblem problem = MakeCase(
      {.rows = 100, .columns = kSanitized ? 100 : 3000, .loss = LossKind::kHinge, .cost = 100});
  for (const CoordinateMethod method : {CoordinateMethod::kNewton, CoordinateMethod::kSilp}) {
    ExpectEndsSoon([&](RunContext& context) -> absl::Status {
      CoordinateWeightSolver solver(problem,
                                    {.method = method, .relative_gap = 1e-8, .max_steps = 40});
      if (const absl::Status started = solver.Start({}, context); !started.ok()) {
        return started;
      }
      return solver.Run(context);
    });
  }
}

TEST(CoordinateWeightSolverTest, TargetsOfZeroNeedNoFunctions) {
  GradientProblem problem = MakeCase(GradientCase());
  problem.pair_targets.setZero();
  RunContext context;
  CoordinateWeightSolver solver(problem, {});
  ASSERT_TRUE(solver.Start({}, context).ok());
  ASSERT_TRUE(solver.done());
  EXPECT_EQ(solver.best().upper, 0);
}

}  // namespace
}  // namespace mercer
