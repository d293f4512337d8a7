#include "core/solvers/svm/smo.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/solvers/svm_test_problems.h"

namespace mercer {
namespace {

double Objective(const Matrix& gram, const SvmProblem& problem, const Vector& dual) {
  return 0.5 * dual.dot(gram * dual) - problem.targets.dot(dual) +
         problem.loss->epsilon() * dual.lpNorm<1>();
}

// max up - min down over all samples, from the definition.
double KktViolation(const Matrix& gram, const SvmProblem& problem, const Vector& dual) {
  const Vector h = gram * dual - problem.targets;
  const double epsilon = problem.loss->epsilon();
  double up = -kInfinity;
  double down = kInfinity;
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = problem.loss->DualBox(problem.targets(i), problem.costs(i));
    if (dual(i) < box.high) {
      up = std::max(up, -h(i) - (dual(i) >= 0 ? epsilon : -epsilon));
    }
    if (dual(i) > box.low) {
      down = std::min(down, -h(i) - (dual(i) <= 0 ? -epsilon : epsilon));
    }
  }
  return up - down;
}

void ExpectFeasible(const SvmProblem& problem, const Vector& dual) {
  EXPECT_LE(std::abs(dual.sum()), 1e-10 * dual.lpNorm<1>());
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = problem.loss->DualBox(problem.targets(i), problem.costs(i));
    EXPECT_GE(dual(i), box.low) << i;
    EXPECT_LE(dual(i), box.high) << i;
  }
}

TEST(SmoSolverTest, SolvesTwoSamplesInClosedForm) {
  const auto gram = std::make_shared<const Matrix>(Matrix{{2.0, 0.5}, {0.5, 1.0}});
  const DenseKernelOperator kernel(gram);
  for (const double c : {0.1, 10.0}) {
    const SvmProblem problem{SharedLoss(LossKind::kHinge), Vector{{1, -1}}, Vector{{c, 2 * c}}};
    const auto solver = SolveSmo(kernel, problem, {.relative_gap = 1e-12});
    const double expected = std::min({c, 2 * c, 2.0 / (2.0 + 1.0 - 1.0)});
    EXPECT_DOUBLE_EQ(solver->dual()(0), expected);
    EXPECT_DOUBLE_EQ(solver->dual()(1), -expected);
    EXPECT_LE(solver->certificate().RelativeGap(), 1e-12);
  }
}

TEST(SmoSolverTest, ReachesTheOptimumOfAnExhaustivePairSolver) {
  for (const double c : {0.05, 1.0, 50.0}) {
    SmoCase task = MakeSmoCase(3, 30, c);
    const Vector reference = SolveByPairSweeps(*task.gram, task.problem);
    const auto solver = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-11});
    ExpectFeasible(task.problem, solver->dual());
    const double optimum = Objective(*task.gram, task.problem, reference);
    EXPECT_NEAR(Objective(*task.gram, task.problem, solver->dual()), optimum,
                1e-10 * std::abs(optimum))
        << "C " << c;
    EXPECT_EQ(solver->stop(), SvmStop::kRelativeGap);
  }
}

TEST(SmoSolverTest, RegressionReachesTheOptimumOfAnExhaustivePairSolver) {
  for (const double c : {0.05, 1.0, 50.0}) {
    SmoCase task = MakeSmoCase(4, 24, c, LossKind::kEpsilonInsensitive);
    const Vector reference = SolveByPairSweeps(*task.gram, task.problem);
    const auto solver = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-10});
    ExpectFeasible(task.problem, solver->dual());
    const double optimum = Objective(*task.gram, task.problem, reference);
    EXPECT_NEAR(Objective(*task.gram, task.problem, solver->dual()), optimum,
                1e-9 * std::abs(optimum))
        << "C " << c;
    EXPECT_LE((*task.gram * (solver->dual() - reference)).lpNorm<Eigen::Infinity>(), 1e-3);
    EXPECT_EQ(solver->stop(), SvmStop::kRelativeGap);
  }
}

TEST(SmoSolverTest, StopsByKktViolationAndBiasLiesBetweenTheEnds) {
  SmoCase task = MakeSmoCase(5, 120, 2.0);
  const double tolerance = 1e-6;
  const auto solver =
      SolveSmo(task.kernel, task.problem, {.relative_gap = 0, .kkt_tolerance = tolerance});
  EXPECT_EQ(solver->stop(), SvmStop::kKktTolerance);
  EXPECT_LE(KktViolation(*task.gram, task.problem, solver->dual()), tolerance * (1 + 1e-6));
  // -b lies in [max of h over down, min of h over up] up to the tolerance.
  const Vector h = *task.gram * solver->dual() - task.problem.targets;
  for (Index i = 0; i < h.size(); ++i) {
    const Interval box = task.problem.loss->DualBox(task.problem.targets(i), task.problem.costs(i));
    const double bias = solver->certificate().bias.chosen;
    if (solver->dual()(i) < box.high) {
      EXPECT_LE(-h(i), bias + tolerance) << i;
    }
    if (solver->dual()(i) > box.low) {
      EXPECT_GE(-h(i), bias - tolerance) << i;
    }
  }
}

TEST(SmoSolverTest, LargeProblemOnFloatColumnsReachesDoublePrecisionGaps) {
  SmoCase task = MakeSmoCase(6, 1200, 20.0);
  const auto solver = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-10});
  EXPECT_EQ(solver->stop(), SvmStop::kRelativeGap);
  ExpectFeasible(task.problem, solver->dual());
  const Vector scores = *task.gram * solver->dual();
  EXPECT_LE((scores - solver->scores()).lpNorm<Eigen::Infinity>(),
            1e-11 * scores.lpNorm<Eigen::Infinity>());
  const auto certificate = CertifySvm(*task.problem.loss, task.problem.targets, task.problem.costs,
                                      solver->dual(), scores);
  ASSERT_TRUE(certificate.ok());
  EXPECT_LE(certificate->RelativeGap(), 1.1e-10);
}

TEST(SmoSolverTest, ResultDoesNotDependOnShrinkingWithinTheGap) {
  SmoCase task = MakeSmoCase(7, 700, 5.0);
  const auto with = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-9});
  const auto without =
      SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-9, .shrinking = false});
  const double value = Objective(*task.gram, task.problem, with->dual());
  EXPECT_NEAR(value, Objective(*task.gram, task.problem, without->dual()), 2e-9 * std::abs(value));
}

TEST(SmoSolverTest, CacheSizeChangesNoBit) {
  const RowMatrix x = RandomFeatures(8, 1100, 3);
  const Matrix gram = GaussianGram(x, 0.5);
  const HiddenKernelOperator kernel(gram);
  const SvmProblem problem{SharedLoss(LossKind::kHinge), NoisyLabels(8, x),
                           Vector::Constant(1100, 3.0)};
  const auto large = SolveSmo(kernel, problem, {.relative_gap = 1e-7});
  const auto tiny = SolveSmo(kernel, problem, {.relative_gap = 1e-7, .cache_bytes = 1});
  EXPECT_EQ(large->iterations(), tiny->iterations());
  EXPECT_TRUE(large->dual() == tiny->dual());
}

TEST(SmoSolverTest, OperatorWithoutFormedMatrixAgreesWithTheDenseOne) {
  for (const Index n : {80, 1100}) {
    SmoCase task = MakeSmoCase(9, n, 4.0);
    const HiddenKernelOperator hidden(*task.gram);
    const auto dense = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-9});
    const auto other = SolveSmo(hidden, task.problem, {.relative_gap = 1e-9});
    const double value = Objective(*task.gram, task.problem, dense->dual());
    EXPECT_NEAR(value, Objective(*task.gram, task.problem, other->dual()), 2e-9 * std::abs(value))
        << n;
  }
}

TEST(SmoSolverTest, WarmStartFromTheSolutionStopsAtOnce) {
  SmoCase task = MakeSmoCase(10, 200, 1.0);
  const auto cold = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-8});
  const auto warm =
      SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-8}, {.dual = cold->dual()});
  EXPECT_EQ(warm->iterations(), 0);
  const auto known = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-8},
                              {.dual = cold->dual(), .scores = cold->scores()});
  EXPECT_EQ(known->iterations(), 0);
  EXPECT_TRUE(known->dual() == cold->dual());
}

// An operator that counts the products and columns asked of it.
class CountingOperator final : public KernelOperator {
 public:
  explicit CountingOperator(const KernelOperator& inner) : inner_(inner) {}
  Index size() const override { return inner_.size(); }
  absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const override {
    ++products_;
    return inner_.Apply(x, out, context);
  }
  absl::Status Diagonal(VectorRef out, RunContext& context) const override {
    return inner_.Diagonal(out, context);
  }
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override {
    ++products_;
    if (cancel_at_ == products_) {
      context.cancellation().Cancel();
    }
    return inner_.Columns(columns, out, context);
  }
  absl::Status Block(absl::Span<const Index> rows, absl::Span<const Index> columns, MatrixRef out,
                     RunContext& context) const override {
    return inner_.Block(rows, columns, out, context);
  }
  int products() const { return products_; }
  void set_cancel_at(int product) { cancel_at_ = product; }

 private:
  const KernelOperator& inner_;
  mutable int products_ = 0;
  int cancel_at_ = -1;
};

TEST(SmoSolverTest, WarmStartWithKnownScoresAsksForNoProduct) {
  SmoCase task = MakeSmoCase(11, 150, 1.0);
  const auto cold = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-8});
  const CountingOperator counting(task.kernel);
  SvmProblem larger = task.problem;
  larger.costs *= 1.01;
  SmoSolver solver(counting, {.relative_gap = 0.5});
  RunContext context;
  ASSERT_EQ(solver.Start(larger, {.dual = cold->dual(), .scores = cold->scores(), .rescale = true},
                         context),
            absl::OkStatus());
  EXPECT_EQ(counting.products(), 0);
  EXPECT_TRUE(solver.done());
}

TEST(SmoSolverTest, WarmStartFromAnythingReachesTheSameOptimum) {
  SmoCase task = MakeSmoCase(12, 100, 1.0);
  const auto cold = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-10});
  Vector wild = 5.0 * RandomFeatures(1, 100, 1).col(0);
  const Vector wild_scores = *task.gram * wild;
  for (const bool rescale : {false, true}) {
    const auto warm = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-10},
                               {.dual = wild, .scores = wild_scores, .rescale = rescale});
    const double value = Objective(*task.gram, task.problem, cold->dual());
    EXPECT_NEAR(value, Objective(*task.gram, task.problem, warm->dual()), 2e-10 * std::abs(value));
  }
}

// Of a problem before: whole columns, and columns of the samples that were under work at its end.
TEST(SmoSolverTest, ColumnsOfAnotherSolverChangeNoBit) {
  for (const Index n : {300, 1100}) {
    SmoCase task = MakeSmoCase(15, n, 1.0);
    const SmoOptions options{.relative_gap = 1e-7};
    const auto before = SolveSmo(task.kernel, task.problem, options);
    SvmProblem larger = task.problem;
    larger.costs *= 3.0;
    const SvmWarmStart first{.dual = before->dual(), .scores = before->scores(), .rescale = true};
    const auto with_new = SolveSmo(task.kernel, larger, options, first);
    SmoSolver with_old(task.kernel, options, before->TakeColumns());
    RunContext context;
    ASSERT_EQ(with_old.Start(larger, first, context), absl::OkStatus());
    ASSERT_EQ(with_old.Run(context), absl::OkStatus());
    EXPECT_GT(with_old.iterations(), 0);
    EXPECT_EQ(with_old.SaveState(), with_new->SaveState()) << n;
  }
}

// What is at its bound does not leave it by rounding, where it would count as free.
TEST(SmoSolverTest, ARescaledStartKeepsWhatIsAtItsBoundThere) {
  SmoCase task = MakeSmoCase(16, 300, 0.1);
  const auto before = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-6});
  const Index at_bound = (before->dual().array().abs() == 0.1).count();
  ASSERT_GT(at_bound, 100);
  RunContext context;
  for (const double factor : {0.3, 1.1, std::pow(1000.0, 1.0 / 9)}) {
    SvmProblem other = task.problem;
    other.costs *= factor;
    SmoSolver solver(task.kernel, {.relative_gap = 0.9});  // the start will do
    ASSERT_EQ(
        solver.Start(other, {.dual = before->dual(), .scores = before->scores(), .rescale = true},
                     context),
        absl::OkStatus());
    EXPECT_EQ(solver.iterations(), 0);
    EXPECT_EQ((solver.dual().array().abs() == other.costs(0)).count(), at_bound) << factor;
    const Vector scores = *task.gram * solver.dual();
    EXPECT_LE((scores - solver.scores()).lpNorm<Eigen::Infinity>(),
              1e-14 * scores.lpNorm<Eigen::Infinity>());
    ExpectFeasible(other, solver.dual());
  }
}

TEST(SmoSolverTest, SlicedSavedAndRestoredRunHasTheSameBits) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    for (const Index n : {300, 1100}) {
      SmoCase task = MakeSmoCase(13, n, 10.0, kind);
      const SmoOptions options{.relative_gap = 1e-9};
      const auto whole = SolveSmo(task.kernel, task.problem, options);
      RunContext context;
      auto solver = std::make_unique<SmoSolver>(task.kernel, options);
      ASSERT_EQ(solver->Start(task.problem, {}, context), absl::OkStatus());
      for (int64_t slice = 1; !solver->done(); slice = slice * 2 % 1021) {
        ASSERT_EQ(solver->Step(slice, context), absl::OkStatus());
        const std::string state = solver->SaveState();
        solver = std::make_unique<SmoSolver>(task.kernel, options);
        ASSERT_EQ(solver->RestoreState(task.problem, state, context), absl::OkStatus());
        ASSERT_EQ(solver->SaveState(), state);
      }
      EXPECT_EQ(whole->iterations(), solver->iterations());
      EXPECT_EQ(whole->SaveState(), solver->SaveState()) << n;
    }
  }
}

TEST(SmoSolverTest, CancelledRunContinuesWithTheSameBits) {
  SmoCase task = MakeSmoCase(14, 1100, 10.0);
  const HiddenKernelOperator hidden(*task.gram);
  const auto whole = SolveSmo(hidden, task.problem, {.relative_gap = 1e-9});
  CountingOperator counting(hidden);
  SmoSolver solver(counting, {.relative_gap = 1e-9});
  RunContext first;
  ASSERT_EQ(solver.Start(task.problem, {}, first), absl::OkStatus());
  for (int product = 50; !solver.done(); product += 137) {
    counting.set_cancel_at(product);
    RunContext context;
    const absl::Status status = solver.Run(context);
    ASSERT_TRUE(status.ok() || status.code() == absl::StatusCode::kCancelled) << status;
    if (counting.products() < product && !solver.done()) {
      FAIL() << "stopped without having been cancelled";
    }
  }
  EXPECT_TRUE(whole->dual() == solver.dual());
  EXPECT_EQ(whole->iterations(), solver.iterations());
}

TEST(SmoSolverTest, RefusesDamagedStates) {
  SmoCase task = MakeSmoCase(15, 40, 1.0);
  const auto solver = SolveSmo(task.kernel, task.problem, {});
  const std::string state = solver->SaveState();
  SmoSolver other(task.kernel, {});
  RunContext context;
  for (const size_t size : {size_t{0}, size_t{7}, state.size() / 2, state.size() - 1}) {
    EXPECT_EQ(other.RestoreState(task.problem, state.substr(0, size), context).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(SmoSolverTest, IndefiniteKernelTerminatesAndIsFlagged) {
  for (const Index n : {60, 1100}) {
    const RowMatrix x = RandomFeatures(16, n, 3);
    Matrix gram(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        gram(i, j) = std::tanh(x.row(i).dot(x.row(j)) - 1.0);
      }
    }
    const DenseKernelOperator kernel(std::make_shared<const Matrix>(gram));
    const SvmProblem problem{SharedLoss(LossKind::kHinge), NoisyLabels(16, x),
                             Vector::Constant(n, 1.0)};
    const auto solver = SolveSmo(kernel, problem, {.relative_gap = 1e-6, .kkt_tolerance = 1e-6});
    EXPECT_TRUE(solver->not_psd());
    ExpectFeasible(problem, solver->dual());
    EXPECT_LE(KktViolation(gram, problem, solver->dual()), 2e-6);
  }
}

TEST(SmoSolverTest, RepeatedRowsWithOppositeLabelsTerminate) {
  RowMatrix x = RandomFeatures(17, 40, 2);
  x.bottomRows(20) = x.topRows(20);
  Vector labels = NoisyLabels(17, x);
  labels.tail(20) = -labels.head(20);
  const Matrix gram = GaussianGram(x, 0.5);
  const DenseKernelOperator kernel(std::make_shared<const Matrix>(gram));
  const SvmProblem problem{SharedLoss(LossKind::kHinge), labels, Vector::Constant(40, 2.0)};
  const auto solver = SolveSmo(kernel, problem, {.relative_gap = 1e-9});
  EXPECT_LE(solver->certificate().RelativeGap(), 1e-9);
  EXPECT_NEAR(solver->certificate().primal, 80.0, 1e-6);  // no function does better than f = 0
}

TEST(SmoSolverTest, OneClassAndZeroKernelEndAtOnce) {
  SmoCase task = MakeSmoCase(18, 20, 1.0);
  SvmProblem one_class = task.problem;
  one_class.targets.setOnes();
  const auto solver = SolveSmo(task.kernel, one_class, {});
  EXPECT_EQ(solver->iterations(), 0);
  EXPECT_EQ(solver->certificate().Gap(), 0);
  const DenseKernelOperator zero(std::make_shared<const Matrix>(Matrix::Zero(20, 20)));
  const auto on_zero = SolveSmo(zero, task.problem, {.relative_gap = 1e-9});
  EXPECT_LE(on_zero->certificate().RelativeGap(), 1e-9);
}

TEST(SmoSolverTest, IterationLimitIsReported) {
  SmoCase task = MakeSmoCase(19, 200, 100.0);
  const auto solver =
      SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-9, .max_iterations = 37});
  EXPECT_EQ(solver->stop(), SvmStop::kIterationLimit);
  EXPECT_EQ(solver->iterations(), 37);
  EXPECT_GT(solver->certificate().RelativeGap(), 1e-9);
}

TEST(SmoSolverTest, RefusesInputThatCannotBeTrainedOn) {
  SmoCase task = MakeSmoCase(20, 10, 1.0);
  RunContext context;
  SmoSolver solver(task.kernel, {});
  SvmProblem bad = task.problem;
  bad.targets(3) = 0.5;
  EXPECT_EQ(solver.Start(bad, {}, context).code(), absl::StatusCode::kInvalidArgument);
  bad = task.problem;
  bad.costs(2) = -1;
  EXPECT_EQ(solver.Start(bad, {}, context).code(), absl::StatusCode::kInvalidArgument);
  bad = task.problem;
  bad.loss = SharedLoss(LossKind::kSquare);
  EXPECT_EQ(solver.Start(bad, {}, context).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(solver.Start(task.problem, {.dual = Vector::Zero(3)}, context).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mercer
