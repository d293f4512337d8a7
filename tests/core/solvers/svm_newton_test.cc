// Exact kernels of full rank; what every solver owes is in svm_solver_conformance_test.cc.
#include "core/solvers/svm/svm_newton.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/solvers/svm/smo.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/counted_loss.h"

namespace mercer {
namespace {

struct Instance {
  std::shared_ptr<const Matrix> gram;
  SvmProblem problem;
};

// A Gaussian Gram of width 1 on normal points in three dimensions, with noisy labels or a noisy
// smooth target.
Instance MakeInstance(Index rows, LossKind kind, double cost, uint64_t seed) {
  RandomStream random(seed, "svm newton test");
  Matrix x(rows, 3);
  Vector targets(rows);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < 3; ++j) {
      x(i, j) = random.Normal();
    }
    const double score = std::sin(2 * x(i, 0)) + 0.3 * x(i, 1) + 0.4 * random.Normal();
    targets(i) = kind == LossKind::kHinge ? (score > 0 ? 1.0 : -1.0) : score;
  }
  auto gram = std::make_shared<Matrix>(rows, rows);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < rows; ++j) {
      (*gram)(i, j) = std::exp(-0.5 * (x.row(i) - x.row(j)).squaredNorm());
    }
  }
  std::shared_ptr<const Loss> loss = *MakeLoss(kind, 0.1);
  Vector costs = Vector::Constant(rows, cost);
  costs(0) = 0;  // a sample that does not count
  return {gram, {loss, targets, costs}};
}

class SvmNewtonTest : public testing::TestWithParam<std::tuple<LossKind, double>> {};

TEST_P(SvmNewtonTest, ReachesTheOptimumOfSmo) {
  const auto [kind, cost] = GetParam();
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Instance instance = MakeInstance(120, kind, cost, seed);
    const DenseKernelOperator kernel(instance.gram);
    RunContext context;
    SvmNewtonSolver newton(kernel, 1e-8);
    ASSERT_TRUE(newton.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(newton.Run(context).ok());
    EXPECT_EQ(static_cast<int>(newton.stop()), static_cast<int>(SvmStop::kRelativeGap))
        << newton.certificate().RelativeGap();
    SmoOptions options;
    options.relative_gap = 1e-6;
    SmoSolver smo(kernel, options);
    const SvmProblem problem{instance.problem.loss, instance.problem.targets,
                             instance.problem.costs};
    ASSERT_TRUE(smo.Start(problem, {}, context).ok());
    ASSERT_TRUE(smo.Run(context).ok());
    const double scale = std::abs(smo.certificate().primal);
    EXPECT_LE(newton.certificate().dual, smo.certificate().primal + 1e-9 * scale);
    EXPECT_GE(newton.certificate().primal, smo.certificate().dual - 1e-9 * scale);
    EXPECT_NEAR(newton.dual().sum(), 0.0, 1e-9 * newton.dual().cwiseAbs().sum());
    EXPECT_EQ(newton.dual()(0), 0.0);
    EXPECT_LT((*instance.gram * newton.dual() - newton.scores()).cwiseAbs().maxCoeff(),
              1e-8 * std::max(1.0, cost));
  }
}

// The coefficients of a start say nothing of the solution's when they are a small multiple of it.
TEST_P(SvmNewtonTest, ATinyStartTakesFewMoreStepsThanNone) {
  const auto [kind, cost] = GetParam();
  const Instance instance = MakeInstance(100, kind, cost, 1);
  const DenseKernelOperator kernel(instance.gram);
  RunContext context;
  const auto run = [&](SvmNewtonSolver& solver, const Vector& start) {
    EXPECT_TRUE(solver.Start(instance.problem, {.dual = start}, context).ok());
    EXPECT_TRUE(solver.Run(context).ok());
    EXPECT_EQ(static_cast<int>(solver.stop()), static_cast<int>(SvmStop::kRelativeGap))
        << solver.certificate().RelativeGap();
    return solver.iterations();
  };
  SvmNewtonSolver cold(kernel, 1e-6);
  const int64_t without = run(cold, {});
  for (const double size : {1e-6, 1e-9, 1e-30, 1e-200}) {
    SvmNewtonSolver warm(kernel, 1e-6);
    EXPECT_LE(run(warm, size * cold.dual()), without + 3) << size;
  }
  // A start that points away from the solution is no better than 0.
  SvmNewtonSolver away(kernel, 1e-6);
  EXPECT_LE(run(away, -1e-9 * cold.dual()), without + 3);
}

INSTANTIATE_TEST_SUITE_P(Losses, SvmNewtonTest,
                         testing::Combine(testing::Values(LossKind::kHinge,
                                                          LossKind::kEpsilonInsensitive),
                                          testing::Values(1e-3, 1.0, 1e3)),
                         [](const auto& parameters) {
                           return std::string(std::get<0>(parameters.param) == LossKind::kHinge
                                                  ? "Hinge"
                                                  : "Insensitive") +
                                  std::to_string(parameters.index);
                         });

// A gap below 0 cannot be reached: the run ends with the certificate of its best dual.
TEST(SvmNewtonTest, CancelledCertificateLeavesTheStateOfTheOneBefore) {
  const Instance instance = MakeInstance(60, LossKind::kHinge, 1.0, 1);
  const DenseKernelOperator kernel(instance.gram);
  SvmProblem problem = instance.problem;
  RunContext context;
  const auto counted = std::make_shared<CountedHingeLoss>(0, CancellationToken());
  problem.loss = counted;
  SvmNewtonSolver whole(kernel, -1.0);
  ASSERT_EQ(whole.Start(problem, {}, context), absl::OkStatus());
  const Index first = counted->count() + 1;
  ASSERT_EQ(whole.Run(context), absl::OkStatus());
  ASSERT_EQ(whole.stop(), SvmStop::kPrecision);
  const Index last = counted->count();
  for (const Index at : {first, (first + last) / 2, last - 60, last}) {
    RunContext cancelled;
    problem.loss = std::make_shared<CountedHingeLoss>(at, cancelled.cancellation());
    SvmNewtonSolver solver(kernel, -1.0);
    ASSERT_EQ(solver.Start(problem, {}, context), absl::OkStatus());
    std::string before;
    absl::Status status;
    while (status.ok() && !solver.done()) {
      before = solver.SaveState();
      status = solver.Step(1, cancelled);
      ASSERT_EQ(status.ok(), !cancelled.cancelled()) << at;
    }
    ASSERT_TRUE(absl::IsCancelled(status)) << at << ": " << status;
    EXPECT_TRUE(solver.SaveState() == before) << at;
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    EXPECT_TRUE(solver.SaveState() == whole.SaveState()) << at;
    EXPECT_EQ(solver.certificate().primal, whole.certificate().primal) << at;
  }
}

TEST(SvmNewtonTest, GatherOfManyRowsEndsWithinAQuarterSecond) {
  constexpr Index kRows = kSanitized ? 300 : 7000;
  const DenseKernelOperator kernel(std::make_shared<const Matrix>(Matrix::Ones(kRows, kRows)));
  std::vector<Index> rows(kRows);
  for (Index i = 0; i < kRows; ++i) {
    rows[static_cast<size_t>(i)] = i * 17 % kRows;  // all of them, far from each other
  }
  const auto gather = [&](RunContext& context) {
    Matrix gathered;
    return GatherKernel(kernel, rows, gathered, context);
  };
  const double whole = WholeWork(gather);
  for (const double part : {0.1, 0.4, 0.7}) {
    EXPECT_LE(WorkAfterCancel(part * whole, gather), kMostWorkAfterCancel)
        << part << " of " << whole;
  }
}

}  // namespace
}  // namespace mercer
