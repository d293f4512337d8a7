#include "core/data/preprocess/square_repair.h"

#include <cmath>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/preprocess/preprocessing.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

constexpr SquareRepairRule kRepairs[] = {SquareRepairRule::kShift, SquareRepairRule::kClip,
                                         SquareRepairRule::kFlip};

RowMatrix NormalNumbers(Index rows, Index columns, uint64_t seed) {
  RandomStream random(seed, "square-repair-test");
  RowMatrix values(rows, columns);
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = random.Normal();
  }
  return values;
}

// G G' - c I for G of so many columns: n - columns eigenvalues are -c.
RowMatrix Shifted(Index size, Index columns, double c) {
  const RowMatrix g = NormalNumbers(size, columns, 1);
  RowMatrix k = g * g.transpose();
  k.diagonal().array() -= c;
  return k;
}

SquareBlock Kernel(RowMatrix values) {
  return {"gram", SquareKind::kKernel, SharedMatrix(std::move(values))};
}

absl::StatusOr<std::optional<SquareRepair>> Fit(const SquareBlock& square, SquareRepairRule rule) {
  return FitSquareRepair(square, IndexRange(0, square.values.rows()), rule, RunContext());
}

// The repaired matrix of all rows.
RowMatrix Repaired(const SquareBlock& square, SquareRepairRule rule, int threads = 1) {
  const auto repair = Fit(square, rule);
  EXPECT_TRUE(repair.ok() && repair->has_value()) << repair.status();
  RunContext context(CancellationToken(), threads, nullptr);
  const auto values = RepairAllRows(square, **repair, rule, context);
  EXPECT_TRUE(values.ok()) << values.status();
  return values->view();
}

TEST(SquareRepairTest, TwoRows) {
  const SquareBlock square = Kernel(RowMatrix{{1, 2}, {2, 1}});  // eigenvalues 3 and -1
  EXPECT_TRUE(Repaired(square, SquareRepairRule::kShift).isApprox(RowMatrix{{2, 2}, {2, 2}}));
  EXPECT_TRUE(
      Repaired(square, SquareRepairRule::kClip).isApprox(RowMatrix{{1.5, 1.5}, {1.5, 1.5}}));
  EXPECT_TRUE(Repaired(square, SquareRepairRule::kFlip).isApprox(RowMatrix{{2, 1}, {1, 2}}));
}

TEST(SquareRepairTest, AKernelLessAMultipleOfTheIdentity) {
  constexpr double kBelow = 0.25;
  for (const Index size : {40, 150}) {
    const SquareBlock square = Kernel(Shifted(size, 6, kBelow));
    const auto repair = Fit(square, SquareRepairRule::kShift);
    ASSERT_TRUE(repair.ok() && repair->has_value()) << repair.status();
    EXPECT_EQ((*repair)->eigenvalues.size(), size - 6);
    EXPECT_LT(((*repair)->eigenvalues.array() + kBelow).abs().maxCoeff(), 1e-11);
    const RowMatrix g = NormalNumbers(size, 6, 1);
    const double positive = g.squaredNorm() - 6 * kBelow;
    const double negative = static_cast<double>(size - 6) * kBelow;
    EXPECT_NEAR((*repair)->share, negative / (negative + positive), 1e-12);
    EXPECT_LT((Repaired(square, SquareRepairRule::kShift) - g * g.transpose()).norm(), 1e-10);
  }
}

// The matrix X nearest to K among the semidefinite ones is the one with X and X - K semidefinite
// and <X, X - K> = 0.
TEST(SquareRepairTest, ClippingGivesTheNearestSemidefiniteMatrix) {
  for (const Index size : {20, 100}) {
    RowMatrix k = NormalNumbers(size, size, 2);
    k = (k + k.transpose()).eval();
    const RowMatrix x = Repaired(Kernel(k), SquareRepairRule::kClip);
    const Eigen::SelfAdjointEigenSolver<Matrix> of_k{Matrix(k)};
    const Eigen::SelfAdjointEigenSolver<Matrix> of_x{Matrix(x)};
    const Eigen::SelfAdjointEigenSolver<Matrix> of_rest{Matrix(x - k)};
    const double rounding = 1e-12 * of_k.eigenvalues().cwiseAbs().maxCoeff();
    EXPECT_GT(of_x.eigenvalues()(0), -rounding);
    EXPECT_GT(of_rest.eigenvalues()(0), -rounding);
    EXPECT_LT(std::abs(x.cwiseProduct(x - k).sum()), rounding * k.norm());
    EXPECT_NEAR((x - k).norm(), of_k.eigenvalues().cwiseMin(0).norm(), 1e-11 * k.norm());
    const RowMatrix flipped = Repaired(Kernel(k), SquareRepairRule::kFlip);
    EXPECT_LT((flipped * flipped - k * k).norm(), 1e-11 * k.squaredNorm());
    EXPECT_LT((flipped - 2 * x + k).norm(), 1e-11 * k.norm());
  }
}

TEST(SquareRepairTest, SemidefiniteKernelsAreLeftAlone) {
  const RowMatrix g = NormalNumbers(90, 3, 3);
  for (const SquareRepairRule rule : {SquareRepairRule::kCheck, SquareRepairRule::kClip}) {
    const auto repair = Fit(Kernel(g * g.transpose()), rule);
    ASSERT_TRUE(repair.ok()) << repair.status();
    EXPECT_FALSE(repair->has_value());
  }
  EXPECT_FALSE(Fit(Kernel(RowMatrix::Zero(5, 5)), SquareRepairRule::kClip)->has_value());
  // Kernels refuse these.
  EXPECT_FALSE(Fit(Kernel(RowMatrix{{1, 2}, {-2, 1}}), SquareRepairRule::kClip)->has_value());
  EXPECT_FALSE(Fit(Kernel(RowMatrix::Ones(2, 3)), SquareRepairRule::kClip)->has_value());
}

TEST(SquareRepairTest, TheCheckSaysHowLargeTheViolationIs) {
  const absl::Status status =
      Fit(Kernel(RowMatrix{{1, 2}, {2, 1}}), SquareRepairRule::kCheck).status();
  EXPECT_EQ(GetReason(status), "NOT_PSD");
  EXPECT_EQ(std::string(status.message()),
            "block 'gram' is not positive semidefinite: 1 of the 2 eigenvalues of its training "
            "rows is negative, 25 % of the sum of all magnitudes; the smallest is -1 (-0.333333 of "
            "the largest); the square repairs 'shift', 'clip' and 'flip' make it so");
}

// Rows 0, 2, 4, ... are trained on.
TEST(SquareRepairTest, OtherRowsAreMultipliedByTheSameMatrix) {
  constexpr Index kSize = 50;
  RowMatrix k = NormalNumbers(kSize, kSize, 4);
  k = (k + k.transpose()).eval();
  std::vector<Index> rows;
  std::vector<Index> others;
  for (Index row = 0; row < kSize; ++row) {
    (row % 2 == 0 ? rows : others).push_back(row);
  }
  const Matrix training = k(rows, rows);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(training);
  for (const SquareRepairRule rule : kRepairs) {
    const auto repair = FitSquareRepair(Kernel(k), rows, rule, RunContext());
    ASSERT_TRUE(repair.ok() && repair->has_value()) << repair.status();
    Vector values = eigen.eigenvalues();
    Vector factors = Vector::Ones(values.size());
    if (rule == SquareRepairRule::kShift) {
      values.array() -= eigen.eigenvalues()(0);
    } else {
      factors = (values.array() < 0).select(rule == SquareRepairRule::kClip ? 0.0 : -1.0, factors);
      values = values.cwiseProduct(factors);
    }
    const Matrix& u = eigen.eigenvectors();
    const Matrix own = u * values.asDiagonal() * u.transpose();
    const Matrix p = u * factors.asDiagonal() * u.transpose();
    RunContext context;
    const RowMatrix all = RepairAllRows(Kernel(k), **repair, rule, context)->view();
    EXPECT_LT((all(rows, rows) - own).norm(), 1e-11);
    EXPECT_LT((all(others, rows) - k(others, rows) * p).norm(), 1e-11);
    EXPECT_EQ(RowMatrix(all(Eigen::all, others)), RowMatrix(k(Eigen::all, others)));
    const RowMatrix fresh = RepairNewRows(Kernel(k), **repair, rule, RunContext())->view();
    EXPECT_EQ(RowMatrix(fresh(others, rows)), RowMatrix(all(others, rows)));
    if (rule != SquareRepairRule::kShift) {
      EXPECT_LT((fresh(rows, rows) - own).norm(), 1e-11);
    }
    const auto narrow = RepairNewRows(Kernel(k.leftCols(40)), **repair, rule, RunContext());
    EXPECT_EQ(GetReason(narrow.status()), "COLUMN_MISMATCH") << narrow.status();
  }
}

TEST(SquareRepairTest, RowsDependOnNothingBesideThem) {
  const SquareBlock square = Kernel(Shifted(77, 20, 3));
  for (const SquareRepairRule rule : kRepairs) {
    EXPECT_EQ(Repaired(square, rule, 1), Repaired(square, rule, 4));
    const auto repair = Fit(square, rule);
    const RowMatrix rows = NormalNumbers(33, 77, 5);
    const RowMatrix together = RepairNewRows(Kernel(rows), **repair, rule, RunContext())->view();
    for (Index row = 0; row < rows.rows(); ++row) {
      const auto alone = RepairNewRows(Kernel(rows.row(row)), **repair, rule, RunContext());
      EXPECT_EQ(RowMatrix(alone->view()), RowMatrix(together.row(row))) << row;
    }
  }
}

TEST(SquareRepairTest, LargeAndSmallNumbers) {
  for (const double scale : {1e300, 1e-300}) {
    const SquareBlock square = Kernel(scale * RowMatrix{{1, 2}, {2, 1}});
    const RowMatrix clipped = Repaired(square, SquareRepairRule::kClip);
    EXPECT_LT((clipped / scale - RowMatrix::Constant(2, 2, 1.5)).norm(), 1e-14);
  }
}

TEST(SquareRepairTest, EndsSoonAfterCancellation) {
  const Index size = kSanitized ? 200 : 1200;
  const SquareBlock square = Kernel(Shifted(size, size / 2, 100));
  ExpectEndsSoon([&](RunContext& context) -> absl::Status {
    constexpr SquareRepairRule kRule = SquareRepairRule::kClip;
    MERCER_ASSIGN_OR_RETURN(const auto repair,
                            FitSquareRepair(square, IndexRange(0, size), kRule, context));
    MERCER_RETURN_IF_ERROR(RepairAllRows(square, *repair, kRule, context).status());
    return RepairNewRows(square, *repair, kRule, context).status();
  });
}

TEST(SquareRepairTest, APreprocessingRepairsTheNamedKernels) {
  Dataset data;
  data.rows = 2;
  const RowMatrix values{{1, 2}, {2, 1}};
  for (const char* name : {"first", "second"}) {
    data.squares.push_back({name, SquareKind::kKernel, SharedMatrix(values)});
  }
  data.squares.push_back({"third", SquareKind::kDistance, SharedMatrix(values)});
  PreprocessingOptions options;
  options.square_repair = SquareRepairRule::kFlip;
  auto fitted = Preprocessing::Fit(data, {1, 0}, options, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  ASSERT_TRUE(fitted->FitRepairs(data, {1, 0}, {"second", "third"}, RunContext()).ok());
  ASSERT_EQ(fitted->repairs().size(), 1u);
  EXPECT_EQ(fitted->repairs()[0].block, "second");
  EXPECT_EQ(fitted->options().square_repair, SquareRepairRule::kFlip);
  RunContext context;
  const auto prepared = fitted->ApplyToFitted(data, context);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->FindSquare("first")->values.view(), values);
  EXPECT_TRUE(prepared->FindSquare("second")->values.view().isApprox(RowMatrix{{2, 1}, {1, 2}}));
  EXPECT_EQ(prepared->FindSquare("third")->values.view(), values);

  auto without = Preprocessing::Fit(data, {0, 1}, options, RunContext());
  ASSERT_TRUE(without.ok() && without->FitRepairs(data, {0, 1}, {}, RunContext()).ok());
  EXPECT_EQ(without->options().square_repair, SquareRepairRule::kNone);
}

}  // namespace
}  // namespace mercer
