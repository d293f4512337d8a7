// SmoMklSolver: bounds, relations of its problems, bits, ends and errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/solvers/svm/smo.h"
#include "tests/core/solvers/smo_mkl_problems.h"
#include "tests/support/counted_loss.h"

namespace mercer {
namespace {

double NormOf(const Vector& values, double p) {
  return std::pow(values.array().pow(p).sum(), 1 / p);
}

// The bounds of a point from the Gram matrices, by the formulas of docs/mathematics/lp_mkl.md,
// section 6.
PointBounds Recompute(const SmoMklCase& given, const SmoMklOptions& options,
                      const SmoMklPoint& point) {
  const double q = options.p / (options.p - 1);
  const double r = 2 * options.p / (options.p + 1);
  const Index m = given.family.num_kernels();
  Vector energies(m);
  Vector scores = Vector::Zero(given.family.size());
  for (Index k = 0; k < m; ++k) {
    const Vector product = given.family.gram(k) * point.dual;
    energies(k) = std::max(0.0, point.dual.dot(product));
    scores += point.weights(k) * product;
  }
  const Vector norms = point.weights.array() * energies.array().sqrt();
  const double half = 0.5 * std::pow(norms.array().pow(r).sum(), 2 / r);
  const double lambda = options.weight_penalty;
  const double norm = NormOf(energies, q);
  const SvmProblem& problem = given.problem;
  PointBounds found;
  found.bias = point.certificate.bias;
  found.primal = (lambda == 0 ? half : 1.5 * std::cbrt(lambda) * std::pow(half, 2.0 / 3)) +
                 problem.loss->TotalValue(problem.targets, problem.costs, scores, found.bias);
  found.dual = problem.loss->DualValue(problem.targets, problem.costs, point.dual) -
               (lambda == 0 ? 0.5 * norm : norm * norm / (8 * lambda));
  return found;
}

TEST(SmoMklTest, CertificateFollowsFromTheGramMatrices) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    for (const double p : {1.05, 1.5, 2.0, 4.0, 8.0}) {
      for (const double lambda : {0.0, 0.3}) {
        const SmoMklCase given = MakeSmoMklCase(11, 60, 3.0, kind);
        const SmoMklOptions options{.p = p, .weight_penalty = lambda, .relative_gap = 1e-6};
        const auto solver = SolveSmoMkl(given.family, given.problem, options);
        const SmoMklPoint& point = solver->best();
        const PointBounds found = Recompute(given, options, point);
        EXPECT_EQ(solver->stop(), SmoMklStop::kRelativeGap) << p << ", " << lambda;
        EXPECT_LE(point.certificate.RelativeGap(), 1e-6);
        EXPECT_GE(point.certificate.primal, point.certificate.dual * (1 - 1e-12));
        EXPECT_NEAR(point.certificate.primal, found.primal, 1e-10 * found.primal);
        // The best multiple is not worse, and near the optimum hardly better.
        EXPECT_GE(point.certificate.dual, found.dual * (1 - 1e-12));
        EXPECT_NEAR(point.certificate.dual, found.dual, 1e-6 * found.primal);
        EXPECT_NEAR(point.dual.sum(), 0.0, 1e-12 * point.dual.lpNorm<1>());
      }
    }
  }
}

// With one kernel there is nothing to learn of weights: |s|_q = s.
TEST(SmoMklTest, OneKernelIsTheSupportVectorMachine) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    const SmoCase given = MakeSmoCase(5, 80, 4.0, kind);
    const GramFamily family({*given.gram});
    const SvmProblem problem{given.problem.loss, given.problem.targets, given.problem.costs};
    const auto joint = SolveSmoMkl(family, problem, {.p = 3.0, .relative_gap = 1e-9});
    const auto plain = SolveSmo(given.kernel, given.problem, {.relative_gap = 1e-9});
    EXPECT_EQ(joint->best().weights, Vector::Ones(1));
    EXPECT_NEAR(joint->best().certificate.dual, plain->certificate().dual,
                3e-9 * plain->certificate().dual);
    EXPECT_NEAR(joint->best().certificate.bias, plain->certificate().bias.chosen, 1e-3);
  }
}

TEST(SmoMklTest, FormsCoincideWhenCostsAreMultipliedByTheNormOfTheWeights) {
  for (const double p : {1.2, 2.0, 5.0}) {
    for (const double lambda : {0.05, 2.0}) {
      const SmoMklCase penalised = MakeSmoMklCase(17, 50, 2.0);
      const auto first = SolveSmoMkl(penalised.family, penalised.problem,
                                     {.p = p, .weight_penalty = lambda, .relative_gap = 1e-11});
      const double norm = NormOf(first->best().weights, p);
      const SmoMklCase constrained = MakeSmoMklCase(17, 50, 2.0 * norm);
      const auto second =
          SolveSmoMkl(constrained.family, constrained.problem, {.p = p, .relative_gap = 1e-11});
      EXPECT_LE((first->best().weights / norm - second->best().weights).cwiseAbs().maxCoeff(), 1e-4)
          << p << ", " << lambda;
      EXPECT_NEAR(first->best().certificate.bias, second->best().certificate.bias, 1e-4);
      // sum of losses: P_constrained - 1/2 N = t (P_penalised - 3/2 lambda t^2), N = 2 lambda t^3.
      const double cube = lambda * norm * norm * norm;
      EXPECT_NEAR(second->best().certificate.primal - cube,
                  norm * first->best().certificate.primal - 1.5 * cube,
                  1e-8 * second->best().certificate.primal)
          << p << ", " << lambda;
    }
  }
}

TEST(SmoMklTest, DualGrowsWithEveryIterationAndStaysFeasible) {
  const SmoMklCase given = MakeSmoMklCase(3, 40, 5.0, LossKind::kEpsilonInsensitive);
  const SmoMklOptions options{.p = 1.3, .relative_gap = 1e-7};
  RunContext context;
  SmoMklSolver solver(given.family, options);
  ASSERT_EQ(solver.Start(given.problem, {}, context), absl::OkStatus());
  double last = 0;
  while (!solver.done()) {
    ASSERT_EQ(solver.Step(1, context), absl::OkStatus());
    const double value = Recompute(given, options, {solver.dual(), Vector::Zero(4), {}}).dual;
    ASSERT_GE(value, last - 1e-12 * std::abs(last)) << solver.iterations();
    last = value;
    ASSERT_LE(solver.dual().cwiseAbs().maxCoeff(), 5.0);
    ASSERT_NEAR(solver.dual().sum(), 0.0, 1e-11);
  }
  EXPECT_GT(solver.iterations(), 50);
  EXPECT_LE(solver.lower_bound(), solver.upper_bound() * (1 + 1e-12));
}

TEST(SmoMklTest, BitsDependOnNeitherSlicesNorCacheNorThreads) {
  const SmoMklCase given = MakeSmoMklCase(23, 700, 1.0);
  const SmoMklOptions options{.p = 1.5, .relative_gap = 1e-3};
  const auto whole = SolveSmoMkl(given.family, given.problem, options);
  SmoMklOptions small = options;
  small.cache_bytes = 1;
  for (const auto& [changed, slice, threads] : std::vector<std::tuple<SmoMklOptions, int64_t, int>>{
           {small, 100'000, 1}, {options, 37, 1}, {options, 100'000, 2}}) {
    RunContext context(CancellationToken(), threads, nullptr);
    SmoMklSolver solver(given.family, changed);
    ASSERT_EQ(solver.Start(given.problem, {}, context), absl::OkStatus());
    while (!solver.done()) {
      ASSERT_EQ(solver.Step(slice, context), absl::OkStatus());
    }
    EXPECT_TRUE(solver.SaveState() == whole->SaveState()) << slice << ", " << threads;
  }
}

TEST(SmoMklTest, RestoredSolverGoesOnWithTheSameBits) {
  for (const double lambda : {0.0, 1.0}) {
    const SmoMklCase given = MakeSmoMklCase(29, 60, 20.0);
    const SmoMklOptions options{.p = 2.0, .weight_penalty = lambda, .relative_gap = 1e-5};
    const auto whole = SolveSmoMkl(given.family, given.problem, options);
    RunContext context;
    auto solver = std::make_unique<SmoMklSolver>(given.family, options);
    ASSERT_EQ(solver->Start(given.problem, {}, context), absl::OkStatus());
    while (!solver->done()) {
      const std::string state = solver->SaveState();
      solver = std::make_unique<SmoMklSolver>(given.family, options);
      ASSERT_EQ(solver->RestoreState(given.problem, state, context), absl::OkStatus());
      ASSERT_TRUE(solver->SaveState() == state);
      ASSERT_EQ(solver->Step(101, context), absl::OkStatus());
    }
    EXPECT_TRUE(solver->SaveState() == whole->SaveState());
  }
}

TEST(SmoMklTest, StartsFromAnyDualAndGoesOnToASmallerGap) {
  const SmoMklCase given = MakeSmoMklCase(31, 50, 2.0);
  const SmoMklOptions options{.p = 2.0, .relative_gap = 1e-3};
  RunContext context;
  SmoMklSolver solver(given.family, options);
  ASSERT_EQ(solver.Start(given.problem, RandomFeatures(4, 50, 1).col(0), context),
            absl::OkStatus());
  ASSERT_EQ(solver.Run(context), absl::OkStatus());
  const double gap = solver.best().certificate.RelativeGap();
  EXPECT_LE(gap, 1e-3);
  solver.set_relative_gap(1e-8);
  ASSERT_EQ(solver.Run(context), absl::OkStatus());
  EXPECT_LE(solver.best().certificate.RelativeGap(), 1e-8);
  const auto cold = SolveSmoMkl(given.family, given.problem, {.p = 2.0, .relative_gap = 1e-8});
  EXPECT_NEAR(solver.best().certificate.dual, cold->best().certificate.dual,
              2e-8 * cold->best().certificate.dual);
}

TEST(SmoMklTest, EndsForPrecisionOrAtTheLimitAndSaysSo) {
  const SmoMklCase given = MakeSmoMklCase(37, 40, 1.0);
  const auto exact = SolveSmoMkl(given.family, given.problem, {.p = 2.0, .relative_gap = 0});
  EXPECT_EQ(exact->stop(), SmoMklStop::kPrecision);
  EXPECT_LE(exact->best().certificate.RelativeGap(), 1e-11);
  const auto cut =
      SolveSmoMkl(given.family, given.problem, {.p = 2.0, .relative_gap = 0, .max_iterations = 10});
  EXPECT_EQ(cut->stop(), SmoMklStop::kIterationLimit);
  EXPECT_EQ(cut->iterations(), 10);
  EXPECT_GT(cut->best().certificate.dual, 0.0);
}

// Every sample twice with both labels: no function is better than 0. A kernel that is 0, one that is constant.
TEST(SmoMklTest, DegenerateKernelsHaveASolution) {
  const SmoMklCase once = MakeSmoMklCase(41, 20, 1.5);
  Matrix twice(40, 40);
  const Matrix& gram = once.family.gram(2);
  twice << gram, gram, gram, gram;
  Vector labels(40);
  labels << once.problem.targets, -once.problem.targets;
  const GramFamily family({twice, Matrix::Zero(40, 40), Matrix::Ones(40, 40)});
  const SvmProblem problem{once.problem.loss, labels, Vector::Constant(40, 1.5)};
  for (const double lambda : {0.0, 1.0}) {
    const auto solver = SolveSmoMkl(family, problem, {.p = 1.5, .weight_penalty = lambda});
    EXPECT_EQ(solver->stop(), SmoMklStop::kRelativeGap);
    EXPECT_NEAR(solver->best().certificate.dual, 40 * 1.5, 0.06);
    EXPECT_TRUE(solver->best().weights.allFinite());
  }
}

TEST(SmoMklTest, SmallAndLargeCostsReachTheGap) {
  for (const double c : {1e-6, 1e-2, 1e2, 1e4}) {
    for (const double p : {1.05, 3.0}) {
      const SmoMklCase given = MakeSmoMklCase(43, 50, c);
      const auto solver = SolveSmoMkl(given.family, given.problem, {.p = p, .relative_gap = 1e-4});
      EXPECT_EQ(solver->stop(), SmoMklStop::kRelativeGap)
          << c << ", " << p << ": " << solver->best().certificate.RelativeGap();
    }
  }
}

TEST(SmoMklTest, CancelledStepGoesOnWithTheSameBits) {
  SmoMklCase given = MakeSmoMklCase(47, 60, 3.0);
  const SmoMklOptions options{.p = 2.0, .relative_gap = 1e-6};
  const auto whole = SolveSmoMkl(given.family, given.problem, options);
  for (const int calls : {1, 5, 40}) {
    const CancellationToken token;
    RunContext cancelled(token, 1, nullptr);
    RunContext context;
    SmoMklSolver solver(given.family, options);
    ASSERT_EQ(solver.Start(given.problem, {}, context), absl::OkStatus());
    int left = calls;
    given.family.set_before_products([&] {
      if (--left == 0) {
        token.Cancel();
      }
    });
    ASSERT_TRUE(absl::IsCancelled(solver.Run(cancelled))) << calls;
    given.family.set_before_products(nullptr);
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    EXPECT_TRUE(solver.SaveState() == whole->SaveState()) << calls;
  }
}

// A round sums the conjugates for its bounds and again to judge the run.
TEST(SmoMklTest, RoundThatIsCancelledBeforeItIsJudgedIsMadeAgain) {
  SmoMklCase given = MakeSmoMklCase(59, 40, 3.0);
  const SmoMklOptions options{.p = 2.0, .relative_gap = 1e-6};
  const Index samples = given.problem.targets.size();
  const auto counted = std::make_shared<CountedHingeLoss>(0, CancellationToken());
  given.problem.loss = counted;
  const auto whole = SolveSmoMkl(given.family, given.problem, options);
  const Index before_last = counted->count() - samples;
  ASSERT_GT(before_last, 2 * samples);
  RunContext context;
  RunContext cancelled;
  const auto loss = std::make_shared<CountedHingeLoss>(before_last, cancelled.cancellation());
  given.problem.loss = loss;
  SmoMklSolver solver(given.family, options);
  ASSERT_EQ(solver.Start(given.problem, {}, cancelled), absl::OkStatus());
  ASSERT_TRUE(absl::IsCancelled(solver.Run(cancelled)));
  EXPECT_EQ(loss->count(), before_last);
  ASSERT_EQ(solver.Run(context), absl::OkStatus());
  EXPECT_TRUE(solver.SaveState() == whole->SaveState());
}

TEST(SmoMklTest, WrongInputIsRefused) {
  const SmoMklCase given = MakeSmoMklCase(53, 20, 1.0);
  RunContext context;
  for (const SmoMklOptions& options :
       {SmoMklOptions{.p = 1.0}, SmoMklOptions{.p = kInfinity},
        SmoMklOptions{.p = std::numeric_limits<double>::quiet_NaN()},
        SmoMklOptions{.weight_penalty = -1.0}, SmoMklOptions{.weight_penalty = kInfinity}}) {
    SmoMklSolver solver(given.family, options);
    EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(given.problem, {}, context))) << options.p;
  }
  SmoMklSolver solver(given.family, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(solver.Step(1, context)));
  SvmProblem other = given.problem;
  other.loss = SharedLoss(LossKind::kLogistic);
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(other, {}, context)));
  other = given.problem;
  other.targets.conservativeResize(19);
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(other, {}, context)));
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(given.problem, Vector::Zero(3), context)));
  std::vector<Matrix> grams = {Matrix::Identity(20, 20), Matrix::Identity(20, 20)};
  grams[1](3, 4) = kInfinity;
  grams[1](4, 3) = kInfinity;
  const GramFamily infinite(std::move(grams));
  SmoMklSolver overflowing(infinite, {});
  ASSERT_EQ(overflowing.Start(given.problem, {}, context), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(overflowing.Run(context)));
}

TEST(SmoMklTest, DamagedStatesAreRefused) {
  const SmoMklCase given = MakeSmoMklCase(59, 20, 1.0);
  const auto solver = SolveSmoMkl(given.family, given.problem, {});
  const std::string state = solver->SaveState();
  RunContext context;
  SmoMklSolver restored(given.family, {});
  for (const size_t length : {size_t{0}, size_t{7}, state.size() / 2, state.size() - 1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        restored.RestoreState(given.problem, state.substr(0, length), context)));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(restored.RestoreState(given.problem, state + "x", context)));
  const SmoMklCase larger = MakeSmoMklCase(59, 21, 1.0);
  SmoMklSolver other(larger.family, {});
  EXPECT_TRUE(absl::IsInvalidArgument(other.RestoreState(larger.problem, state, context)));
  EXPECT_EQ(restored.RestoreState(given.problem, state, context), absl::OkStatus());
}

TEST(SmoMklTest, MemoryIsBoundedByTheCacheAndTables) {
  const SmoMklOptions options{.cache_bytes = size_t{1} << 20};
  EXPECT_LE(SmoMklSolver::Bytes(100, 4, options).value(), size_t{1} << 20);
  const size_t large = SmoMklSolver::Bytes(10'000, 10, options).value();
  EXPECT_LE(large, size_t{10} * 10'000 * 10 * 8 + size_t{40} * 10'000 * 8 + (size_t{1} << 20));
}

}  // namespace
}  // namespace mercer
