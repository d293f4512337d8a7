#include "core/solvers/factor_svm.h"

#include <cmath>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/solvers/smo.h"

namespace mercer {
namespace {

// Features of cosines of normal points, a lower triangular root, and the kernel that they make.
struct FactorInstance {
  FactorRows rows;
  Matrix root;
  std::shared_ptr<const Matrix> gram;
  SvmProblem problem;

  FactoredKernel kernel() const { return {rows, root}; }
};

struct FactorShape {
  Index rows = 150;
  Index rank = 40;
  LossKind kind = LossKind::kHinge;
  double cost = 1.0;
  uint64_t seed = 1;
};

FactorInstance MakeFactorInstance(const FactorShape& shape) {
  RandomStream random(shape.seed, "factor svm test");
  FactorInstance instance{
      FactorRows(shape.rows, shape.rank), Matrix::Zero(shape.rank, shape.rank), {}, {}};
  Matrix frequencies(3, shape.rank);
  for (Index i = 0; i < frequencies.size(); ++i) {
    frequencies.data()[i] = random.Normal();
  }
  Matrix features(shape.rows, shape.rank);
  Vector targets(shape.rows);
  for (Index i = 0; i < shape.rows; ++i) {
    const Vector x = Vector::NullaryExpr(3, [&] { return random.Normal(); });
    for (Index j = 0; j < shape.rank; ++j) {
      const double value = std::cos(frequencies.col(j).dot(x) + static_cast<double>(j));
      instance.rows.row(i)[j] = static_cast<float>(value);
      features(i, j) = instance.rows.row(i)[j];
    }
    const double score = std::sin(2 * x(0)) + 0.3 * x(1) + 0.4 * random.Normal();
    targets(i) = shape.kind == LossKind::kHinge ? (score > 0 ? 1.0 : -1.0) : score;
  }
  for (Index j = 0; j < shape.rank; ++j) {
    // Columns from 1 down to 1e-4: a spectrum that decays.
    const double size =
        std::pow(10.0, -4.0 * static_cast<double>(j) / static_cast<double>(shape.rank));
    for (Index i = j; i < shape.rank; ++i) {
      instance.root(i, j) = size * (i == j ? 1.0 : 0.1 * random.Normal());
    }
  }
  const Matrix x = features * instance.root;
  instance.gram = std::make_shared<Matrix>(x * x.transpose());
  Vector costs = Vector::Constant(shape.rows, shape.cost);
  costs(0) = 0;  // a sample that does not count
  instance.problem = {*MakeLoss(shape.kind, 0.1), targets, costs};
  return instance;
}

class FactorSvmTest : public testing::TestWithParam<std::tuple<LossKind, double>> {};

TEST_P(FactorSvmTest, ReachesTheOptimumOfSmo) {
  const auto [kind, cost] = GetParam();
  const bool slow = cost > 1e3;  // for SMO
  for (uint64_t seed = 0; seed < (slow ? 1 : 3); ++seed) {
    const FactorInstance instance = MakeFactorInstance({.kind = kind, .cost = cost, .seed = seed});
    RunContext context;
    FactorSvmSolver solver(instance.kernel(), 1e-8);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    EXPECT_EQ(static_cast<int>(solver.stop()), static_cast<int>(SvmStop::kRelativeGap))
        << solver.certificate().RelativeGap();
    const DenseKernelOperator dense(instance.gram);
    SmoOptions options;
    options.relative_gap = slow ? 1e-2 : 1e-5;
    SmoSolver smo(dense, options);
    ASSERT_TRUE(smo.Start({instance.problem.loss, instance.problem.targets, instance.problem.costs},
                          {}, context)
                    .ok());
    ASSERT_TRUE(smo.Run(context).ok());
    const double scale = std::abs(smo.certificate().primal);
    EXPECT_LE(solver.certificate().dual, smo.certificate().primal + 1e-9 * scale);
    EXPECT_GE(solver.certificate().primal, smo.certificate().dual - 1e-9 * scale);
    EXPECT_NEAR(solver.dual().sum(), 0.0, 1e-9 * solver.dual().cwiseAbs().sum());
    EXPECT_EQ(solver.dual()(0), 0.0);
    EXPECT_LT((*instance.gram * solver.dual() - solver.scores()).cwiseAbs().maxCoeff(),
              1e-9 * std::max(1.0, solver.dual().lpNorm<1>()));
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, FactorSvmTest,
                         testing::Combine(testing::Values(LossKind::kHinge,
                                                          LossKind::kEpsilonInsensitive),
                                          testing::Values(1e-6, 1e-3, 1.0, 1e3, 1e5)),
                         [](const auto& parameters) {
                           return std::string(std::get<0>(parameters.param) == LossKind::kHinge
                                                  ? "Hinge"
                                                  : "Insensitive") +
                                  std::to_string(parameters.index);
                         });

TEST(FactorSvmShapesTest, FewSamplesManyFeaturesAndOneFeature) {
  for (const FactorShape& shape : {FactorShape{.rows = 12, .rank = 90, .cost = 100.0},
                                   FactorShape{.rows = 300, .rank = 1, .cost = 100.0},
                                   FactorShape{.rows = 2600, .rank = 17, .cost = 10.0}}) {
    const FactorInstance instance = MakeFactorInstance(shape);
    RunContext context;
    FactorSvmSolver solver(instance.kernel(), 1e-7);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    EXPECT_EQ(static_cast<int>(solver.stop()), static_cast<int>(SvmStop::kRelativeGap))
        << shape.rows << " x " << shape.rank;
  }
}

// Products with dual variables of this size have lost what a gap of 1e-8 needs: the run ends by itself, with bounds that hold.
TEST(FactorSvmShapesTest, HugeCostEndsAtTheLimitOfPrecision) {
  const FactorInstance instance = MakeFactorInstance({.cost = 1e8});
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-12);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  EXPECT_LE(solver.certificate().RelativeGap(), 1e-3);
  EXPECT_GE(solver.certificate().RelativeGap(), -1e-9);
}

// The Gram matrix of features that repeat one another is singular, and rounding times a long step is larger than the identity.
TEST(FactorSvmShapesTest, RepeatedFeaturesAtHugeCostsEndWithBoundsThatHold) {
  FactorInstance instance = MakeFactorInstance({.rows = 2600, .rank = 60, .cost = 1e8});
  for (Index i = 0; i < instance.rows.rows(); ++i) {
    for (Index j = 20; j < 60; ++j) {
      instance.rows.row(i)[j] = instance.rows.row(i)[j % 20];
    }
  }
  instance.root.diagonal().array() += 1e3;
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-3);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  const absl::Status status = solver.Step(200, context);
  ASSERT_TRUE(status.ok()) << status;
  if (solver.done()) {
    EXPECT_GE(solver.certificate().RelativeGap(), -1e-9);
  }
}

// Without features the best function is the constant.
TEST(FactorSvmShapesTest, ZeroKernelGivesTheConstant) {
  FactorInstance instance = MakeFactorInstance({.cost = 2.0});
  instance.root.setZero();
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-9);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  const Vector& y = instance.problem.targets;
  const auto positive = static_cast<double>((y.tail(y.size() - 1).array() > 0).count());
  const double minority = std::min(positive, static_cast<double>(y.size() - 1) - positive);
  EXPECT_NEAR(solver.certificate().primal, 2.0 * 2.0 * minority, 1e-6 * minority);
}

TEST(FactorSvmResumeTest, EveryStateLeadsToTheSameBits) {
  const FactorInstance instance = MakeFactorInstance({.rows = 700, .cost = 50.0});
  RunContext context;
  FactorSvmSolver whole(instance.kernel(), 1e-9);
  ASSERT_TRUE(whole.Start(instance.problem, {}, context).ok());
  FactorSvmSolver first(instance.kernel(), 1e-9);
  ASSERT_TRUE(first.Start(instance.problem, {}, context).ok());
  std::string state = first.SaveState();
  while (!whole.done()) {
    ASSERT_TRUE(whole.Step(1, context).ok());
    RunContext two_threads(CancellationToken(), 2, nullptr);
    FactorSvmSolver relay(instance.kernel(), 1e-9);
    ASSERT_TRUE(relay.RestoreState(instance.problem, state).ok());
    ASSERT_TRUE(relay.Step(1, two_threads).ok());
    state = relay.SaveState();
    ASSERT_TRUE(whole.SaveState() == state) << "iteration " << whole.iterations();
  }
  FactorSvmSolver ended(instance.kernel(), 1e-9);
  ASSERT_TRUE(ended.RestoreState(instance.problem, state).ok());
  EXPECT_TRUE(ended.done());
  EXPECT_EQ(ended.certificate().primal, whole.certificate().primal);
}

TEST(FactorSvmResumeTest, DamagedStatesAreRefused) {
  const FactorInstance instance = MakeFactorInstance({.cost = 5.0});
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-9);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Step(3, context).ok());
  const std::string state = solver.SaveState();
  FactorSvmSolver other(instance.kernel(), 1e-9);
  for (size_t length = 0; length < state.size(); length += 97) {
    EXPECT_FALSE(other.RestoreState(instance.problem, state.substr(0, length)).ok());
  }
  EXPECT_FALSE(other.RestoreState(instance.problem, state + "x").ok());
  const FactorInstance larger = MakeFactorInstance({.rows = 151});
  FactorSvmSolver foreign(larger.kernel(), 1e-9);
  EXPECT_FALSE(foreign.RestoreState(larger.problem, state).ok());
}

TEST(FactorSvmResumeTest, StartFromTheSolutionNeedsAtMostTwoSteps) {
  const FactorInstance instance = MakeFactorInstance({.cost = 10.0});
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-8);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  FactorSvmSolver again(instance.kernel(), 1e-8);
  SvmWarmStart start = solver.Successor();
  start.dual = solver.dual();
  ASSERT_TRUE(again.Start(instance.problem, start, context).ok());
  ASSERT_TRUE(again.Run(context).ok());
  EXPECT_LE(again.iterations(), 2);
}

TEST(FactorSvmErrorsTest, BadProblemsAreRefused) {
  const FactorInstance instance = MakeFactorInstance({.rows = 20});
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-3);
  SvmProblem problem = instance.problem;
  problem.targets.setOnes();
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(problem, {}, context)));
  problem = instance.problem;
  problem.targets(3) = 2.0;
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(problem, {}, context)));
  problem = instance.problem;
  problem.costs(3) = -1.0;
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(problem, {}, context)));
  problem.loss = *MakeLoss(LossKind::kSquare);
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(problem, {}, context)));
  problem = instance.problem;
  problem.targets = instance.problem.targets.head(19);
  EXPECT_TRUE(absl::IsInvalidArgument(solver.Start(problem, {}, context)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(solver.Start(instance.problem, {.dual = Vector::Zero(3)}, context)));
}

TEST(FactorSvmErrorsTest, CancelledStepLeavesTheStateOfTheOneBefore) {
  const FactorInstance instance = MakeFactorInstance({.cost = 10.0});
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  FactorSvmSolver solver(instance.kernel(), 1e-9);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Step(3, context).ok());
  const std::string before = solver.SaveState();
  token.Cancel();
  EXPECT_TRUE(absl::IsCancelled(solver.Step(1, context)));
  EXPECT_EQ(solver.SaveState(), before);
}

}  // namespace
}  // namespace mercer
