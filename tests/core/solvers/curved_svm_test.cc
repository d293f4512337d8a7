// Newton's method for losses with a curvature, against slow and obvious ways to the same solution.
#include "core/solvers/svm/curved_svm.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/solvers/factor/ridge.h"
#include "tests/core/solvers/svm_test_problems.h"

namespace mercer {
namespace {

struct CurvedShape {
  Index rows = 120;
  Index rank = 20;
  LossKind kind = LossKind::kLogistic;
  double cost = 1.0;
  uint64_t seed = 1;
};

// Explicit features, single precision, and the same kernel as a matrix.
class FeatureKernel final : public KernelOperator {
 public:
  explicit FeatureKernel(const RowMatrix& features)
      : rows_(features.rows(), features.cols()),
        root_(Matrix::Identity(features.cols(), features.cols())),
        gram_(features.rows(), features.rows()) {
    RowMatrix stored = features;
    for (Index i = 0; i < features.rows(); ++i) {
      rows_.SetRow(i, features.row(i).transpose());
      stored.row(i) =
          Eigen::Map<const Eigen::RowVectorXf>(rows_.row(i), features.cols()).cast<double>();
    }
    // A lower triangle that is not diagonal.
    for (Index j = 0; j + 1 < root_.cols(); ++j) {
      root_(j + 1, j) = 0.25;
    }
    values_ = stored * root_;
    gram_ = values_ * values_.transpose();
  }

  Index size() const override { return gram_.rows(); }
  absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext&) const override {
    out = gram_ * x;
    return absl::OkStatus();
  }
  absl::Status Diagonal(VectorRef out, RunContext&) const override {
    out = gram_.diagonal();
    return absl::OkStatus();
  }
  absl::Status Columns(absl::Span<const Index>, MatrixRef, RunContext&) const override {
    return absl::InternalError("the features are to be read");
  }
  absl::Status Block(absl::Span<const Index>, absl::Span<const Index>, MatrixRef,
                     RunContext&) const override {
    return absl::InternalError("the features are to be read");
  }
  std::optional<FactoredKernel> Factored() const override { return FactoredKernel{rows_, root_}; }

  const Matrix& values() const { return values_; }
  const Matrix& gram() const { return gram_; }

 private:
  FactorRows rows_;
  Matrix root_;
  Matrix values_;
  Matrix gram_;
};

using MakeSystem = std::function<std::unique_ptr<CurvedSystem>()>;

struct CurvedInstance {
  FeatureKernel features;
  HiddenKernelOperator hidden;
  DenseKernelOperator dense;
  SvmProblem problem;

  // Of the kernel in each of its forms.
  std::vector<MakeSystem> systems() const {
    return {[this] { return MakeCurvedSystem(features); },
            [this] { return MakeFeatureSystem(features.values()); },
            [this] { return MakeCurvedSystem(hidden); },
            [this] { return MakeCurvedSystem(dense); }};
  }
};

CurvedInstance MakeCurvedInstance(const CurvedShape& shape) {
  const RowMatrix x = RandomFeatures(shape.seed, shape.rows, 3);
  RandomStream random(shape.seed, "curved svm test");
  const Matrix frequencies = Matrix::NullaryExpr(3, shape.rank, [&] { return random.Normal(); });
  RowMatrix features = (x * frequencies).array().sin();
  for (Index j = 0; j < shape.rank; ++j) {
    features.col(j) *= std::pow(0.7, static_cast<double>(j));
  }
  const bool numbers = shape.kind == LossKind::kSquare;
  const Vector targets = numbers ? NoisyTargets(shape.seed, x) : NoisyLabels(shape.seed, x);
  Vector costs = Vector::Constant(shape.rows, shape.cost);
  costs(0) = 0;  // a sample that does not count
  costs(1) *= 3;
  const FeatureKernel kernel(features);
  const Matrix gram = kernel.gram();
  return {kernel,
          HiddenKernelOperator(gram),
          DenseKernelOperator(std::make_shared<const Matrix>(gram)),
          {SharedLoss(shape.kind), targets, costs}};
}

std::string NameOf(LossKind kind) {
  return kind == LossKind::kSquare ? "Square"
                                   : (kind == LossKind::kLogistic ? "Logistic" : "SquaredHinge");
}

const std::vector<LossKind> kCurved = {LossKind::kSquare, LossKind::kSquaredHinge,
                                       LossKind::kLogistic};

class CurvedSvmTest : public testing::TestWithParam<std::tuple<LossKind, double>> {};

// The gap is certified from dual and kernel alone, so that a small one is a proof; here also the conditions of optimality are
// checked as they stand: the dual is minus the slope of the loss, the sum is 0.
TEST_P(CurvedSvmTest, EndsAtAPointThatSatisfiesTheConditionsOfOptimality) {
  const auto [kind, cost] = GetParam();
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const CurvedInstance instance = MakeCurvedInstance({.kind = kind, .cost = cost, .seed = seed});
    for (const MakeSystem& system : instance.systems()) {
      const double goal = cost > 1e6 ? 1e-6 : 1e-10;
      RunContext context;
      CurvedSvmSolver solver(system(), goal);
      ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
      ASSERT_TRUE(solver.Run(context).ok());
      ASSERT_EQ(static_cast<int>(solver.stop()), static_cast<int>(SvmStop::kRelativeGap))
          << solver.certificate().RelativeGap();
      EXPECT_LE(solver.certificate().RelativeGap(), goal);
      EXPECT_GE(solver.certificate().RelativeGap(), -1e-12);
      EXPECT_NEAR(solver.dual().sum(), 0.0, 1e-12 * solver.dual().lpNorm<1>());
      EXPECT_EQ(solver.dual()(0), 0.0);
      // Where weights are kept they are the function, beside that of the dual.
      const Vector scores = solver.weights().size() > 0
                                ? Vector(instance.features.values() * solver.weights())
                                : Vector(instance.features.gram() * solver.dual());
      EXPECT_LE((scores - solver.scores()).lpNorm<Eigen::Infinity>(),
                1e-11 * std::max(1.0, solver.dual().lpNorm<1>()));
      if (cost > 1e3) {
        continue;  // slopes are scores times the cost: rounding
      }
      const double bias = solver.certificate().bias.chosen;
      for (Index i = 0; i < scores.size(); ++i) {
        const SvmProblem& problem = instance.problem;
        const double slope =
            problem.loss->Slope(problem.targets(i), problem.costs(i), scores(i) + bias);
        EXPECT_NEAR(solver.dual()(i), -slope, 3e-4 * std::max(cost, std::sqrt(cost)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, CurvedSvmTest,
                         testing::Combine(testing::ValuesIn(kCurved),
                                          testing::Values(1e-6, 1e-3, 1.0, 1e3, 1e5, 1e8)),
                         [](const auto& parameters) {
                           return NameOf(std::get<0>(parameters.param)) +
                                  std::to_string(parameters.index);
                         });

// No point near the solution has a lower value.
TEST(CurvedSvmOptimumTest, NoRandomChangeLowersThePrimal) {
  for (const LossKind kind : kCurved) {
    const CurvedInstance instance = MakeCurvedInstance({.kind = kind, .cost = 4.0});
    RunContext context;
    CurvedSvmSolver solver(instance.features, 1e-12);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    const Matrix& gram = instance.features.gram();
    const auto primal = [&](const Vector& dual, double bias) {
      const Vector scores = gram * dual;
      return 0.5 * dual.dot(scores) + instance.problem.loss->TotalValue(instance.problem.targets,
                                                                        instance.problem.costs,
                                                                        scores, bias);
    };
    const double bias = solver.certificate().bias.chosen;
    const double optimum = primal(solver.dual(), bias);
    EXPECT_NEAR(optimum, solver.certificate().primal, 1e-10 * optimum);
    RandomStream random(9, "competitors");
    for (int trial = 0; trial < 100; ++trial) {
      const double size = std::pow(10.0, -(trial % 5));
      const Vector change =
          size * Vector::NullaryExpr(gram.rows(), [&] { return random.Normal(); });
      EXPECT_GE(primal(solver.dual() + change, bias + size * random.Normal()),
                optimum * (1 - 1e-12));
    }
  }
}

TEST(CurvedSvmOptimumTest, SquareIsRidgeInOneOrTwoSteps) {
  for (const double cost : {1e-3, 1.0, 1e4}) {
    const CurvedInstance instance = MakeCurvedInstance({.kind = LossKind::kSquare, .cost = cost});
    RunContext context;
    const auto ridge = SolveKernelRidge(instance.dense, instance.problem.targets,
                                        instance.problem.costs, true, context);
    ASSERT_TRUE(ridge.ok()) << ridge.status();
    for (const MakeSystem& system : instance.systems()) {
      CurvedSvmSolver solver(system(), 1e-9);
      ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
      ASSERT_TRUE(solver.Run(context).ok());
      EXPECT_LE(solver.iterations(), 2);
      EXPECT_NEAR(solver.certificate().primal, ridge->certificates[0].primal,
                  1e-8 * ridge->certificates[0].primal);
      EXPECT_LE((solver.dual() - ridge->dual.col(0)).norm(), 1e-3 * ridge->dual.col(0).norm());
    }
  }
}

TEST(CurvedSvmOptimumTest, FewStepsSuffice) {
  for (const double cost : {1.0, 1e3}) {
    const CurvedInstance hinge =
        MakeCurvedInstance({.rows = 600, .kind = LossKind::kSquaredHinge, .cost = cost});
    const CurvedInstance logistic = MakeCurvedInstance({.rows = 600, .cost = cost});
    RunContext context;
    CurvedSvmSolver first(hinge.features, 1e-8);
    ASSERT_TRUE(first.Start(hinge.problem, {}, context).ok() && first.Run(context).ok());
    EXPECT_LE(first.iterations(), 12) << cost;
    CurvedSvmSolver second(logistic.features, 1e-8);
    ASSERT_TRUE(second.Start(logistic.problem, {}, context).ok() && second.Run(context).ok());
    EXPECT_LE(second.iterations(), 20) << cost;
  }
}

// Without a kernel the best function is the constant.
TEST(CurvedSvmOptimumTest, ZeroKernelGivesTheConstant) {
  for (const LossKind kind : kCurved) {
    const CurvedInstance instance = MakeCurvedInstance({.kind = kind});
    const DenseKernelOperator zero(
        std::make_shared<const Matrix>(Matrix::Zero(instance.dense.size(), instance.dense.size())));
    RunContext context;
    CurvedSvmSolver solver(zero, 1e-10);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    const SvmProblem& problem = instance.problem;
    const Vector none = Vector::Zero(zero.size());
    const double bias =
        problem.loss->ExactBias(problem.targets, problem.costs, none, RunContext()).value().chosen;
    EXPECT_NEAR(solver.certificate().primal,
                problem.loss->TotalValue(problem.targets, problem.costs, none, bias),
                1e-9 * solver.certificate().primal);
    EXPECT_LE(solver.certificate().RelativeGap(), 1e-10);
  }
}

// More features than samples, one feature, features that repeat one another and are larger than the identity by all digits.
TEST(CurvedSvmShapesTest, FewSamplesManyFeaturesAndSingularSystems) {
  for (const LossKind kind : kCurved) {
    for (const CurvedShape& shape :
         {CurvedShape{.rows = 12, .rank = 60, .kind = kind, .cost = 100.0},
          CurvedShape{.rows = 200, .rank = 1, .kind = kind, .cost = 100.0},
          CurvedShape{.rows = 1200, .rank = 17, .kind = kind, .cost = 10.0}}) {
      const CurvedInstance instance = MakeCurvedInstance(shape);
      RunContext context;
      CurvedSvmSolver solver(instance.features, 1e-8);
      ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
      ASSERT_TRUE(solver.Run(context).ok());
      EXPECT_LE(solver.certificate().RelativeGap(), 1e-8) << shape.rows << " x " << shape.rank;
    }
    const RowMatrix x = RandomFeatures(3, 80, 2);
    RowMatrix repeated(80, 12);
    for (Index j = 0; j < 12; ++j) {
      repeated.col(j) = 1e5 * x.col(j % 2);
    }
    const FeatureKernel kernel(repeated);
    const SvmProblem problem = {SharedLoss(kind),
                                kind == LossKind::kSquare ? NoisyTargets(3, x) : NoisyLabels(3, x),
                                Vector::Constant(80, 1e8)};
    RunContext context;
    CurvedSvmSolver solver(kernel, 1e-3);
    ASSERT_TRUE(solver.Start(problem, {}, context).ok());
    const absl::Status status = solver.Step(300, context);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(solver.done());
    EXPECT_GE(solver.certificate().RelativeGap(), -1e-9);
  }
}

// Twins with opposite labels cost nearly all of the primal, whose values agree long before the rest is solved.
TEST(CurvedSvmShapesTest, ContradictoryTwinsAtAHugeCost) {
  for (const LossKind kind : kCurved) {
    RowMatrix x = RandomFeatures(5, 60, 3);
    x.row(1) = x.row(0);
    Vector targets = kind == LossKind::kSquare ? NoisyTargets(5, x) : NoisyLabels(5, x);
    targets(1) = -targets(0);
    const DenseKernelOperator kernel(std::make_shared<const Matrix>(GaussianGram(x, 0.3)));
    RunContext context;
    CurvedSvmSolver solver(kernel, 1e-6);
    ASSERT_TRUE(
        solver.Start({SharedLoss(kind), targets, Vector::Constant(60, 1e8)}, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    EXPECT_LE(solver.certificate().RelativeGap(), 1e-6) << NameOf(kind);
    EXPECT_LE(solver.iterations(), 20) << NameOf(kind);
  }
}

TEST(CurvedSvmResumeTest, EveryStateLeadsToTheSameBits) {
  for (const LossKind kind : kCurved) {
    const CurvedInstance instance =
        MakeCurvedInstance({.rows = 700, .rank = 30, .kind = kind, .cost = 50.0});
    for (const MakeSystem& system : instance.systems()) {
      RunContext context;
      CurvedSvmSolver whole(system(), 1e-11);
      ASSERT_TRUE(whole.Start(instance.problem, {}, context).ok());
      std::string state = whole.SaveState();
      while (!whole.done()) {
        ASSERT_TRUE(whole.Step(1, context).ok());
        RunContext two_threads(CancellationToken(), 2, nullptr);
        CurvedSvmSolver relay(system(), 1e-11);
        ASSERT_TRUE(relay.RestoreState(instance.problem, state, context).ok());
        ASSERT_TRUE(relay.Step(1, two_threads).ok());
        state = relay.SaveState();
        ASSERT_TRUE(whole.SaveState() == state) << "iteration " << whole.iterations();
      }
      CurvedSvmSolver ended(system(), 1e-11);
      ASSERT_TRUE(ended.RestoreState(instance.problem, state, context).ok());
      EXPECT_TRUE(ended.done());
      EXPECT_EQ(ended.certificate().primal, whole.certificate().primal);
    }
  }
}

TEST(CurvedSvmResumeTest, DamagedStatesAreRefused) {
  const CurvedInstance instance = MakeCurvedInstance({.cost = 5.0});
  RunContext context;
  CurvedSvmSolver solver(instance.features, 1e-9);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Step(2, context).ok());
  const std::string state = solver.SaveState();
  CurvedSvmSolver other(instance.features, 1e-9);
  for (size_t length = 0; length < state.size(); length += 97) {
    EXPECT_FALSE(other.RestoreState(instance.problem, state.substr(0, length), context).ok());
  }
  EXPECT_FALSE(other.RestoreState(instance.problem, state + "x", context).ok());
  const CurvedInstance larger = MakeCurvedInstance({.rows = 121});
  CurvedSvmSolver foreign(larger.features, 1e-9);
  EXPECT_FALSE(foreign.RestoreState(larger.problem, state, context).ok());
}

TEST(CurvedSvmResumeTest, StartFromTheSolutionIsDone) {
  for (const LossKind kind : kCurved) {
    const CurvedInstance instance = MakeCurvedInstance({.kind = kind, .cost = 10.0});
    RunContext context;
    CurvedSvmSolver solver(instance.features, 1e-8);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok() && solver.Run(context).ok());
    CurvedSvmSolver again(instance.features, 1e-8);
    SvmWarmStart start = solver.Successor();
    start.dual = solver.dual();
    ASSERT_TRUE(again.Start(instance.problem, start, context).ok());
    EXPECT_TRUE(again.done());
    EXPECT_EQ(again.iterations(), 0);
  }
}

TEST(CurvedSvmErrorsTest, BadProblemsAreRefused) {
  const CurvedInstance instance = MakeCurvedInstance({.rows = 20});
  RunContext context;
  CurvedSvmSolver solver(instance.features, 1e-3);
  const auto refused = [&](const std::function<void(SvmProblem&)>& spoil) {
    SvmProblem problem = instance.problem;
    spoil(problem);
    return absl::IsInvalidArgument(solver.Start(problem, {}, context));
  };
  EXPECT_TRUE(refused([](SvmProblem& problem) { problem.targets.setOnes(); }));
  EXPECT_TRUE(refused([](SvmProblem& problem) { problem.targets(3) = 2.0; }));
  EXPECT_TRUE(refused([](SvmProblem& problem) { problem.targets(3) = std::nan(""); }));
  EXPECT_TRUE(refused([](SvmProblem& problem) { problem.costs(3) = -1.0; }));
  EXPECT_TRUE(refused([](SvmProblem& problem) { problem.loss = nullptr; }));
  EXPECT_TRUE(refused([](SvmProblem& problem) { problem.loss = SharedLoss(LossKind::kHinge); }));
  EXPECT_TRUE(
      refused([](SvmProblem& problem) { problem.targets = problem.targets.head(19).eval(); }));
  EXPECT_TRUE(
      absl::IsInvalidArgument(solver.Start(instance.problem, {.dual = Vector::Zero(3)}, context)));
}

TEST(CurvedSvmErrorsTest, CancelledStepLeavesTheStateOfTheOneBefore) {
  const CurvedInstance instance = MakeCurvedInstance({.cost = 10.0});
  for (const MakeSystem& system : instance.systems()) {
    const CancellationToken token;
    RunContext context(token, 1, nullptr);
    CurvedSvmSolver solver(system(), 1e-12);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Step(1, context).ok());
    const std::string before = solver.SaveState();
    token.Cancel();
    EXPECT_TRUE(absl::IsCancelled(solver.Step(1, context)));
    EXPECT_EQ(solver.SaveState(), before);
  }
}

}  // namespace
}  // namespace mercer
