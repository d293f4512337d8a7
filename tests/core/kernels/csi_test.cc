#include "core/kernels/lowrank/csi.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/QR>
#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

Matrix GaussianGram(const Matrix& x, double bandwidth) {
  Matrix gram(x.rows(), x.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.rows(); ++j) {
      gram(i, j) = std::exp((x.row(i) - x.row(j)).squaredNorm() / (-2 * bandwidth * bandwidth));
    }
  }
  return gram;
}

Matrix Signs(const Matrix& x) {
  return (x.col(0).array() * x.col(1).array() > 0).select(Vector::Ones(x.rows()), -1.0);
}

// J of the pivots by the Nystrom formula and least squares, neither of which knows of columns or of their order.
double BruteForceObjective(const Matrix& gram, const Matrix& targets, double kappa,
                           const std::vector<Index>& pivots) {
  const Matrix centred = targets.rowwise() - targets.colwise().mean();
  Matrix rest = gram;
  Matrix columns = Matrix::Ones(gram.rows(), 1);
  if (!pivots.empty()) {
    const Matrix cross = gram(Eigen::all, pivots);
    const Matrix of_pivots = gram(pivots, pivots);
    rest -= cross * of_pivots.colPivHouseholderQr().solve(cross.transpose());
    columns.resize(gram.rows(), cross.cols() + 1);
    columns << Matrix::Ones(gram.rows(), 1), cross;
  }
  const Matrix fitted = columns * columns.colPivHouseholderQr().solve(targets);
  return (1 - kappa) * rest.trace() / gram.trace() +
         kappa * (targets - fitted).squaredNorm() / centred.squaredNorm();
}

// The pivots that are best one by one.
std::vector<Index> BruteForcePivots(const Matrix& gram, const Matrix& targets, double kappa,
                                    Index count) {
  std::vector<Index> pivots;
  while (static_cast<Index>(pivots.size()) < count) {
    double best = kInfinity;
    Index winner = -1;
    for (Index i = 0; i < gram.rows(); ++i) {
      if (std::find(pivots.begin(), pivots.end(), i) != pivots.end()) {
        continue;
      }
      std::vector<Index> with = pivots;
      with.push_back(i);
      const double value = BruteForceObjective(gram, targets, kappa, with);
      if (value < best) {
        best = value;
        winner = i;
      }
    }
    pivots.push_back(winner);
  }
  return pivots;
}

CsiFactor RunCsi(const KernelColumns& kernel, const Matrix& targets, const CsiOptions& options,
                 int threads = 1) {
  absl::StatusOr<CsiFactor> factor = CsiFactor::Make(kernel, targets, options);
  EXPECT_TRUE(factor.ok()) << factor.status();
  RunContext context = ContextOfThreads(threads);
  while (!factor->done()) {
    const absl::Status advanced = factor->Advance(context);
    EXPECT_TRUE(advanced.ok()) << advanced;
    if (!advanced.ok()) {
      break;
    }
  }
  return *std::move(factor);
}

void ExpectNeverRises(const std::vector<double>& objective) {
  EXPECT_NEAR(objective.front(), 1, 1e-14);
  for (size_t k = 1; k < objective.size(); ++k) {
    EXPECT_LE(objective[k], objective[k - 1]) << "pivot " << k;
  }
}

TEST(CsiTest, ReproducesTheReference) {
  const nlohmann::json fixture = ReadFixtureFile("infinite-features/14_csi.json");
  const DenseKernelColumns kernel(JsonMatrix(fixture["K"]));
  const CsiFactor factor = RunCsi(
      kernel, JsonMatrix(fixture["Y"]),
      {.max_columns = fixture["columns"].get<Index>(), .kappa = fixture["kappa"].get<double>()});
  const nlohmann::json& expected = fixture["expected"];
  ASSERT_EQ(factor.cholesky().pivots(), expected["pivots"].get<std::vector<Index>>());
  const Vector objective = JsonVector(expected["J"]);
  ASSERT_EQ(static_cast<Index>(factor.objective().size()), objective.size());
  for (Index k = 0; k < objective.size(); ++k) {
    EXPECT_NEAR(factor.objective()[static_cast<size_t>(k)], objective(k),
                fixture["tolerance"]["J_absolute"].get<double>());
  }
  const Matrix expected_factor = JsonMatrix(expected["G"]);
  const Matrix computed = factor.cholesky().factor();
  EXPECT_LE((computed * computed.transpose() - expected_factor * expected_factor.transpose())
                .cwiseAbs()
                .maxCoeff(),
            fixture["tolerance"]["GGt_absolute"].get<double>());
  EXPECT_LE((computed - expected_factor).cwiseAbs().maxCoeff(), 1e-9);
  // New points: G_I g(x) = K(I, x).
  const Matrix of_pivots = computed(factor.cholesky().pivots(), Eigen::all);
  const Matrix test = of_pivots.triangularView<Eigen::Lower>()
                          .solve(JsonMatrix(fixture["K_test_pivots"]).transpose())
                          .transpose();
  EXPECT_LE((test - JsonMatrix(expected["G_test"])).cwiseAbs().maxCoeff(),
            fixture["tolerance"]["G_test_absolute"].get<double>());
}

TEST(CsiTest, ChoosesLikeBruteForceForEveryShareOfTheTargets) {
  const Matrix x = UniformMatrix(26, 2, 3);
  const Matrix gram = GaussianGram(x, 0.6);
  Matrix targets(26, 2);
  targets << Signs(x), x.col(0).array().sin();
  const DenseKernelColumns kernel(gram);
  for (const double kappa : {0.0, 0.5, 0.99, 1.0}) {
    SCOPED_TRACE(kappa);
    const CsiFactor factor = RunCsi(kernel, targets, {.max_columns = 7, .kappa = kappa});
    EXPECT_EQ(factor.cholesky().pivots(), BruteForcePivots(gram, targets, kappa, 7));
    const std::vector<Index>& pivots = factor.cholesky().pivots();
    for (size_t k = 0; k <= pivots.size(); ++k) {
      const std::vector<Index> first(pivots.begin(), pivots.begin() + static_cast<Index>(k));
      EXPECT_NEAR(factor.objective()[k], BruteForceObjective(gram, targets, kappa, first), 1e-10);
    }
    ExpectNeverRises(factor.objective());
  }
}

// The row with the largest diagonal is alone; one among many alike explains more of the kernel.
TEST(CsiTest, WithoutTargetsTakesTheLargestReductionOfTheTraceAndNotTheLargestDiagonal) {
  Matrix gram = Matrix::Constant(6, 6, 0.9);
  gram.diagonal().setOnes();
  gram.row(0).setZero();
  gram.col(0).setZero();
  gram(0, 0) = 1.5;
  const DenseKernelColumns kernel(gram);
  const CsiFactor factor =
      RunCsi(kernel, Vector::LinSpaced(6, -1, 1), {.max_columns = 2, .kappa = 0});
  // |c|^2 = (1 + 4 * 0.81) / 1 = 4.24 for any of the five, against 1.5; then 1.5 against what is left of the others.
  ASSERT_EQ(factor.cholesky().rank(), 2);
  EXPECT_NE(factor.cholesky().pivots()[0], 0);
  EXPECT_EQ(factor.cholesky().pivots()[1], 0);
  EXPECT_NEAR(factor.objective()[1], (6.5 - 4.24) / 6.5, 1e-14);
}

TEST(CsiTest, AsManyPivotsAsTheRankGiveTheKernel) {
  const Matrix features = UniformMatrix(40, 7, 5);
  const Matrix gram = features * features.transpose();
  const DenseKernelColumns kernel(gram);
  for (const Index most : {Index{7}, Index{500}}) {
    const CsiFactor factor =
        RunCsi(kernel, features.col(0).array().square().matrix(), {.max_columns = most});
    EXPECT_EQ(factor.cholesky().rank(), 7);
    const Matrix product = factor.cholesky().factor() * factor.cholesky().factor().transpose();
    EXPECT_LE((product - gram).cwiseAbs().maxCoeff(), 1e-12 * gram.maxCoeff());
  }
}

// Where the look-ahead does not see everything, J falls nearly as far as with all columns of the kernel at hand.
TEST(CsiTest, LookAheadComesCloseToExactGains) {
  const Matrix x = UniformMatrix(300, 4, 11);
  const DenseKernelColumns kernel(GaussianGram(x, 0.8));
  const auto last = [&](Index look_ahead) {
    const CsiFactor factor =
        RunCsi(kernel, Signs(x), {.max_columns = 20, .look_ahead = look_ahead});
    ExpectNeverRises(factor.objective());
    EXPECT_EQ(factor.cholesky().rank(), 20);
    return factor.objective().back();
  };
  const double exact = last(300);
  EXPECT_LE(last(40), 1.05 * exact);
  EXPECT_GT(last(1), 1.2 * exact) << "a problem on which looking ahead does not matter";
}

TEST(CsiTest, ToleranceEndsTheChoice) {
  const Matrix x = UniformMatrix(60, 2, 4);
  const DenseKernelColumns kernel(GaussianGram(x, 0.5));
  const CsiFactor all = RunCsi(kernel, Signs(x), {.max_columns = 30, .look_ahead = 60});
  const CsiFactor some =
      RunCsi(kernel, Signs(x), {.max_columns = 30, .look_ahead = 60, .tolerance = 0.02});
  size_t expected = 0;
  while (expected < 30 && all.objective()[expected] - all.objective()[expected + 1] >= 0.02) {
    ++expected;
  }
  ASSERT_LT(expected, 30U);
  EXPECT_EQ(some.cholesky().pivots().size(), expected);
}

TEST(CsiTest, ConstantTargetsLeaveTheKernelAlone) {
  const Matrix x = UniformMatrix(50, 2, 8);
  const DenseKernelColumns kernel(GaussianGram(x, 0.5));
  const CsiFactor constant =
      RunCsi(kernel, Vector::Constant(50, 0.1), {.max_columns = 10, .kappa = 1.0});
  const CsiFactor without = RunCsi(kernel, Signs(x), {.max_columns = 10, .kappa = 0.0});
  EXPECT_EQ(constant.cholesky().pivots(), without.cholesky().pivots());
  EXPECT_EQ(constant.objective(), without.objective());
}

TEST(CsiTest, ThreadsDoNotChangeTheBits) {
  const Matrix x = UniformMatrix(5000, 3, 6);
  const auto data = std::make_shared<PreparedData>();
  data->rows = x.rows();
  data->blocks.push_back(MakeBlock("x", x));
  RunContext context;
  std::vector<Index> rows(static_cast<size_t>(x.rows()));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<Index>(i);
  }
  KernelSpec spec;
  spec.bandwidth = 0.7;
  const auto kernel = KernelSumColumns::Make(data, rows, {spec}, context);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const CsiFactor one = RunCsi(**kernel, Signs(x), {.max_columns = 12});
  const CsiFactor two = RunCsi(**kernel, Signs(x), {.max_columns = 12}, 2);
  EXPECT_EQ(one.cholesky().pivots(), two.cholesky().pivots());
  EXPECT_EQ(one.objective(), two.objective());
  EXPECT_EQ(Matrix(one.cholesky().factor()), Matrix(two.cholesky().factor()));
}

TEST(CsiTest, RestoredFactorGoesOnWithTheSameBits) {
  const Matrix x = UniformMatrix(150, 3, 9);
  const DenseKernelColumns kernel(GaussianGram(x, 0.4));
  const CsiOptions options{.max_columns = 9, .look_ahead = 12};
  const CsiFactor straight = RunCsi(kernel, Signs(x), options);
  RunContext context;
  for (int steps = 0; steps < 40; ++steps) {
    absl::StatusOr<CsiFactor> begun = CsiFactor::Make(kernel, Signs(x), options);
    for (int step = 0; step < steps && !begun->done(); ++step) {
      ASSERT_TRUE(begun->Advance(context).ok());
    }
    absl::StatusOr<CsiFactor> restored = CsiFactor::Make(kernel, Signs(x), options);
    ASSERT_TRUE(restored->Restore(begun->progress(), context).ok());
    EXPECT_EQ(restored->progress().pivots, begun->progress().pivots);
    while (!restored->done()) {
      ASSERT_TRUE(restored->Advance(context).ok());
    }
    EXPECT_EQ(restored->cholesky().pivots(), straight.cholesky().pivots());
    EXPECT_EQ(restored->objective(), straight.objective());
    EXPECT_EQ(Matrix(restored->cholesky().factor()), Matrix(straight.cholesky().factor()));
  }
  absl::StatusOr<CsiFactor> other = CsiFactor::Make(kernel, Signs(x), options);
  EXPECT_TRUE(absl::IsInvalidArgument(other->Restore({{3, 3}, 0, false}, context)));
  other = CsiFactor::Make(kernel, Signs(x), options);
  EXPECT_TRUE(absl::IsInvalidArgument(other->Restore({{}, 1000, false}, context)));
}

TEST(CsiTest, RefusesWhatItCannotFactor) {
  const Matrix x = UniformMatrix(10, 2, 1);
  const DenseKernelColumns kernel(GaussianGram(x, 0.5));
  const auto code = [](const KernelColumns& columns, const Matrix& targets,
                       const CsiOptions& options) {
    return CsiFactor::Make(columns, targets, options).status().code();
  };
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  Matrix with_nan = Signs(x);
  with_nan(4, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code(kernel, Signs(x), {}), absl::StatusCode::kOk);
  EXPECT_EQ(code(DenseKernelColumns(Matrix::Zero(10, 10)), Signs(x), {}), kBad);
  EXPECT_EQ(code(kernel, with_nan, {}), kBad);
  EXPECT_EQ(code(kernel, Vector::Ones(9), {}), kBad);
  EXPECT_EQ(code(DenseKernelColumns(Matrix(0, 0)), Matrix(0, 1), {}), kBad);
  EXPECT_EQ(code(kernel, Signs(x), {.max_columns = 0}), kBad);
  EXPECT_EQ(code(kernel, Signs(x), {.kappa = 1.5}), kBad);
  EXPECT_EQ(code(kernel, Signs(x), {.kappa = std::nan("")}), kBad);
  EXPECT_EQ(code(kernel, Signs(x), {.look_ahead = 0}), kBad);
  EXPECT_EQ(code(kernel, Signs(x), {.tolerance = -1}), kBad);
}

TEST(CsiTest, IndefiniteKernelIsRefused) {
  Matrix gram = Matrix::Identity(4, 4);
  gram(0, 1) = gram(1, 0) = 3;
  const DenseKernelColumns kernel(gram);
  absl::StatusOr<CsiFactor> factor =
      CsiFactor::Make(kernel, Vector::LinSpaced(4, 0, 1), {.look_ahead = 1});
  RunContext context;
  absl::Status status;
  while (status.ok() && !factor->done()) {
    status = factor->Advance(context);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(CsiTest, CancelledWorkSaysSo) {
  const Matrix x = UniformMatrix(30, 2, 1);
  const DenseKernelColumns kernel(GaussianGram(x, 0.5));
  absl::StatusOr<CsiFactor> factor = CsiFactor::Make(kernel, Signs(x), {});
  RunContext context = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(factor->Advance(context)));
}

TEST(CsiTest, ChoiceWithALongLookAheadEndsSoonAfterCancellation) {
  const Matrix x = UniformMatrix(kSanitized ? 600 : 2500, 6, 1);
  const DenseKernelColumns kernel(GaussianGram(x, 0.5));
  const CsiOptions options{.max_columns = 5, .look_ahead = kSanitized ? 250 : 1000};
  absl::StatusOr<CsiFactor> begun = CsiFactor::Make(kernel, Signs(x), options);
  ASSERT_TRUE(begun.ok()) << begun.status();
  RunContext context;
  while (begun->progress().look_ahead < options.look_ahead) {
    ASSERT_TRUE(begun->Advance(context).ok());
  }
  CsiFactor factor = *begun;
  const auto choose = [&](RunContext& chosen) {
    factor = *begun;  // of no use after a cancellation
    absl::Status status;
    while (status.ok() && !factor.done()) {
      status = factor.Advance(chosen);
    }
    return status;
  };
  const double whole = WholeWork(choose);
  for (const double part : {0.03, 0.2, 0.35, 0.5}) {
    EXPECT_LE(WorkAfterCancel(part * whole, choose), kMostWorkAfterCancel)
        << part << " of the choice";
  }
}

}  // namespace
}  // namespace mercer
