#include "core/kernels/lowrank/kernel_landmarks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/kernels/lowrank/nystrom.h"
#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

// Kernels of feature columns of each kind of value of pairs, one brought to unit diagonal.
std::vector<KernelSpec> KindsOfKernels() {
  KernelSpec unit = MakeSpec(KernelType::kPolynomial, "x");
  unit.normalization.unit_diagonal = true;
  return {MakeSpec(KernelType::kGaussian, "x", 0.8), MakeSpec(KernelType::kLaplacian, "x", 2.0),
          MakeSpec(KernelType::kLinear, "wide"),     MakeSpec(KernelType::kPolynomial, "x"),
          MakeSpec(KernelType::kChiSquare, "h"),     unit};
}

// The kernels' mean, each divided by its mean diagonal.
Matrix NaiveMean(const std::vector<KernelSpec>& kernels, const PreparedData& data) {
  Matrix mean = Matrix::Zero(data.rows, data.rows);
  for (const KernelSpec& spec : kernels) {
    const Matrix gram = NaiveCross(spec, data, data, {});
    mean += gram / gram.diagonal().mean();
  }
  return mean / static_cast<double>(kernels.size());
}

// In their order.
std::vector<Index> NaivePivots(Matrix rest, Index count, double tolerance) {
  std::vector<Index> pivots;
  const double largest = rest.diagonal().maxCoeff();
  while (static_cast<Index>(pivots.size()) < count) {
    Index pivot = 0;
    for (Index i = 1; i < rest.rows(); ++i) {
      pivot = rest(i, i) > rest(pivot, pivot) ? i : pivot;
    }
    const double value = rest(pivot, pivot);
    if (value <= tolerance * largest) {
      break;
    }
    pivots.push_back(pivot);
    rest -= rest.col(pivot) * rest.row(pivot) / value;
  }
  return pivots;
}

std::vector<Index> Sorted(std::vector<Index> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Index> Pivots(const PreparedData& data, const std::vector<KernelSpec>& kernels,
                          Index count, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  const auto rows = PickPivots(data, kernels, count, context);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.ok() ? *rows : std::vector<Index>();
}

std::vector<Index> Leverage(const PreparedData& data, const std::vector<KernelSpec>& kernels,
                            Index count, uint64_t seed, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  const auto rows = DrawByLeverage(data, kernels, count, seed, context);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.ok() ? *rows : std::vector<Index>();
}

Vector Scores(const PreparedData& data, const std::vector<KernelSpec>& kernels,
              const LeverageSketch& sketch, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  const auto kernel = MeanKernel::Make(data, kernels, context);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const auto scores = LeverageScores(*kernel, sketch, context);
  EXPECT_TRUE(scores.ok()) << scores.status();
  return scores.ok() ? *scores : Vector();
}

PivotedFactor Factor(const PreparedData& data, const std::vector<KernelSpec>& kernels, size_t k,
                     Index count, double threshold, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  auto factor = FactorByPivots(data, kernels, k, count, threshold, context);
  EXPECT_TRUE(factor.ok()) << factor.status();
  return factor.ok() ? *std::move(factor) : PivotedFactor();
}

// A tight cloud at 0, and `far` rows of a cloud around (9, 9) at the end.
std::shared_ptr<PreparedData> CloudAndFewFarRows(Index rows, Index far) {
  RowMatrix values = 0.05 * RandomRows(rows, 2, 7);
  values.bottomRows(far).array() += 9;
  return BlockOf(values);
}

TEST(MeanKernelTest, ValuesAreThoseOfTheDefinition) {
  const auto data = MixedData(90, 4);
  const Matrix expected = NaiveMean(KindsOfKernels(), *data);
  for (const int threads : {1, 3}) {
    RunContext context = ContextOfThreads(threads);
    const auto kernel = MeanKernel::Make(*data, KindsOfKernels(), context);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ExpectMatrixNear(kernel->diagonal(), expected.diagonal(), 1e-13, "diagonal");
    const std::vector<Index> columns = {7, 80, 3, 3, 41};
    Matrix values(90, 5);
    ASSERT_TRUE(kernel->Columns(columns, values, context).ok());
    ExpectMatrixNear(values, expected(Eigen::all, columns), 1e-13, "columns");
    Matrix some(20, 5);
    ASSERT_TRUE(kernel->Values(columns, 31, 51, some, context).ok());
    ExpectEqualBits(some, values.middleRows(31, 20), "some rows");
    Matrix square(5, 5);
    ASSERT_TRUE(kernel->Square(columns, square, context).ok());
    ExpectMatrixNear(square, expected(columns, columns), 1e-13, "square");
  }
}

// More columns and rows than one strip has.
TEST(MeanKernelTest, ManyRowsAndColumnsAreStreamed) {
  const auto data = BlockOf(RandomRows(5000, 3, 2));
  RunContext context;
  const auto kernel = MeanKernel::Make(*data, GaussiansOfX({0.7, 2.0}), context);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<Index> columns;
  for (Index j = 0; j < 150; ++j) {
    columns.push_back((j * 37) % 5000);
  }
  Matrix values(5000, 150);
  ASSERT_TRUE(kernel->Columns(columns, values, context).ok());
  const auto rows = data->blocks[0].values.view();
  for (const Index i : {0, 511, 512, 4095, 4096, 4999}) {
    for (const Index j : {0, 63, 64, 149}) {
      const double distance =
          (rows.row(i) - rows.row(columns[static_cast<size_t>(j)])).squaredNorm();
      EXPECT_NEAR(values(i, j), 0.5 * (std::exp(-distance / 0.98) + std::exp(-distance / 8)),
                  1e-14);
    }
  }
}

TEST(MeanKernelTest, KernelsThatDoNotFitAreNamedAndZeroOnesCountNothing) {
  auto data = MixedData(40, 2);
  data->blocks.push_back(MakeBlock("zero", RowMatrix::Zero(40, 2)));
  RunContext context;
  const KernelSpec gaussian = MakeSpec(KernelType::kGaussian, "x", 0.8);
  const auto with_zero =
      MeanKernel::Make(*data, {gaussian, MakeSpec(KernelType::kLinear, "zero")}, context);
  ASSERT_TRUE(with_zero.ok()) << with_zero.status();
  EXPECT_EQ(with_zero->weights()(1), 0);
  EXPECT_EQ(with_zero->weights()(0), 0.5);
  for (const KernelSpec& wrong :
       {MakeSpec(KernelType::kGaussian, "no such block"), MakeSpec(KernelType::kPrecomputed, "K"),
        MakeSpec(KernelType::kGaussian, "x", -1.0)}) {
    const absl::Status status = MeanKernel::Make(*data, {gaussian, wrong}, context).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("kernels[1]"), std::string::npos) << status;
  }
  KernelSpec unit = MakeSpec(KernelType::kLinear, "zero");
  unit.normalization.unit_diagonal = true;
  EXPECT_EQ(GetReason(MeanKernel::Make(*data, {unit}, context).status()), "ZERO_DIAGONAL");
}

TEST(KernelLandmarksTest, PivotsAreThoseOfTheCholeskyFactorOfTheMean) {
  const auto data = MixedData(90, 4);
  std::vector<std::vector<KernelSpec>> sets = {KindsOfKernels()};
  for (const KernelSpec& kernel : KindsOfKernels()) {
    sets.push_back({kernel});
  }
  for (const std::vector<KernelSpec>& kernels : sets) {
    EXPECT_EQ(Pivots(*data, kernels, 12),
              Sorted(NaivePivots(NaiveMean(kernels, *data), 12, 1e-12)));
  }
}

TEST(KernelLandmarksTest, PivotsEndWithTheRankOfTheKernel) {
  RowMatrix rows = RandomRows(200, 3, 5);
  EXPECT_EQ(Pivots(*BlockOf(rows), {MakeSpec(KernelType::kLinear, "x")}, 50).size(), 3u);
  for (Index i = 0; i < rows.rows(); ++i) {
    rows.row(i) = rows.row(i % 7).eval();
  }
  EXPECT_EQ(Pivots(*BlockOf(rows), GaussiansOfX({0.5}), 50).size(), 7u);
  // All rows equal, and a kernel that is zero: one landmark.
  rows.rowwise() = rows.row(0).eval();
  EXPECT_EQ(Pivots(*BlockOf(rows), GaussiansOfX({0.5}), 50).size(), 1u);
  EXPECT_EQ(
      Pivots(*BlockOf(RowMatrix::Zero(20, 3)), {MakeSpec(KernelType::kLinear, "x")}, 5).size(), 1u);
}

// K - G G' and what is left of the trace, from the dense matrix; every pivot is where most is left.
TEST(KernelLandmarksTest, APivotedFactorIsTheIncompleteCholeskyFactorOfItsKernel) {
  const auto data = MixedData(90, 4);
  const std::vector<KernelSpec> kernels = KindsOfKernels();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const Matrix gram = NaiveCross(kernels[k], *data, *data, {});
    const PivotedFactor factor = Factor(*data, kernels, k, 15, 1e-10);
    EXPECT_EQ(factor.pivots, NaivePivots(gram, 15, 1e-10)) << k;
    const Matrix columns = gram(Eigen::all, factor.pivots) * factor.map;
    Matrix rest = gram;
    for (size_t j = 0; j < factor.pivots.size(); ++j) {
      const Index pivot = factor.pivots[j];
      EXPECT_GE(rest(pivot, pivot), rest.diagonal().maxCoeff() * (1 - 1e-9)) << k << ", " << j;
      const Vector column = columns.col(static_cast<Index>(j));
      ExpectMatrixNear(column, rest.col(pivot) / std::sqrt(rest(pivot, pivot)), 1e-7, "column");
      rest -= rest.col(pivot) * rest.row(pivot) / rest(pivot, pivot);
    }
    EXPECT_NEAR((gram - columns * columns.transpose()).trace(), rest.trace(), 1e-9 * gram.trace());
  }
}

TEST(KernelLandmarksTest, APivotedFactorEndsAtItsThreshold) {
  const auto data = BlockOf(RandomRows(150, 3, 5));
  const Matrix gram = NaiveCross(GaussiansOfX({3.0})[0], *data, *data, {});
  size_t before = 0;
  for (const double threshold : {1e-2, 1e-5, 1e-9}) {
    const PivotedFactor factor = Factor(*data, GaussiansOfX({3.0}), 0, 150, threshold);
    const Matrix columns = gram(Eigen::all, factor.pivots) * factor.map;
    const Vector rest = (gram - columns * columns.transpose()).diagonal();
    EXPECT_LE(rest.maxCoeff(), threshold * (1 + 1e-3));
    EXPECT_GT(factor.pivots.size(), before);
    before = factor.pivots.size();
  }
  const PivotedFactor zero =
      Factor(*BlockOf(RowMatrix::Zero(20, 3)), {MakeSpec(KernelType::kLinear, "x")}, 0, 5, 1e-10);
  EXPECT_EQ(zero.pivots, std::vector<Index>{0});
  EXPECT_EQ(zero.map.rows(), 1);
  EXPECT_EQ(zero.map.cols(), 0);
}

TEST(KernelLandmarksTest, AKernelWithoutAFactorIsNamed) {
  RowMatrix values = RandomRows(30, 2, 8);
  values(8, 0) = 1e17;
  KernelSpec polynomial = MakeSpec(KernelType::kPolynomial, "x");
  polynomial.degree = 20;
  RunContext context;
  const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kGaussian, "x"), polynomial};
  const absl::Status status =
      PivotedLandmarks(*BlockOf(values), kernels, 5, 1e-10, context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(GetReason(status), "NOT_PSD");
  EXPECT_NE(status.message().find("kernels[1]"), std::string::npos) << status;
}

// (K (K + n lambda I)^-1)_ii is the score; of a sketch, K is its approximation where it is not diagonal.
TEST(KernelLandmarksTest, ScoresAreThoseOfTheDenseMatrix) {
  const auto data = MixedData(90, 4);
  const Matrix mean = NaiveMean(KindsOfKernels(), *data);
  const double ridge = 90 * 1e-3;
  const Matrix shifted = mean + ridge * Matrix::Identity(90, 90);
  const Vector exact = ridge * (mean * shifted.inverse()).diagonal();
  const Vector all = Scores(*data, KindsOfKernels(), {AllRowsOf(*data), Vector::Ones(90)});
  ExpectMatrixNear(all, exact, 1e-10, "all rows");

  const std::vector<Index> rows = {2, 3, 30, 31, 62, 77, 88};
  const Vector probabilities = Vector::LinSpaced(7, 0.05, 1.0);
  const Matrix columns = mean(Eigen::all, rows);
  Matrix system = mean(rows, rows);
  system.diagonal() += ridge * probabilities;
  const Vector expected =
      mean.diagonal() - (columns * system.inverse() * columns.transpose()).diagonal();
  const Vector scores = Scores(*data, KindsOfKernels(), {rows, probabilities});
  ExpectMatrixNear(scores, expected, 1e-11, "a sketch");
  // What a sketch does not see is counted in full: no score is below the exact one when every row
  // of it counts at least as often as it is.
  const Vector of_once = Scores(*data, KindsOfKernels(), {rows, Vector::Ones(7)});
  EXPECT_GE((of_once - exact).minCoeff(), -1e-12);
}

// Rows are scored in blocks, which are shorter the more rows the sketch has.
TEST(KernelLandmarksTest, ScoresOfManyRowsAreStreamed) {
  const auto data = BlockOf(RandomRows(6000, 2, 6));
  const std::vector<Index> rows = DrawRows(6000, 500, 1, "test");
  const LeverageSketch sketch{rows, Vector::Constant(500, 1.0 / 12)};
  const Vector scores = Scores(*data, GaussiansOfX({0.3}), sketch);
  ExpectEqualBits(Scores(*data, GaussiansOfX({0.3}), sketch, 3), scores, "threads");
  const PreparedData landmarks = SelectRows(*data, rows);
  Matrix system = NaiveCross(GaussiansOfX({0.3})[0], landmarks, landmarks, {});
  system.diagonal().array() += 6000 * 1e-3 / 12;
  const Eigen::LDLT<Matrix> solver(system);
  for (const Index row : {0, 4193, 4194, 5999}) {
    const Vector values =
        NaiveCross(GaussiansOfX({0.3})[0], SelectRows(*data, {row}), landmarks, {}).transpose();
    EXPECT_NEAR(scores(row), 1 - values.dot(solver.solve(values)), 1e-10) << row;
  }
}

// A sample of 5000 rows would miss all of them as often as not.
TEST(KernelLandmarksTest, AFewFarRowsOfManyAreFound) {
  constexpr Index kManyFarRows = 20'000;
  const auto data = CloudAndFewFarRows(kManyFarRows, 3);
  const std::vector<Index> pivots = Pivots(*data, GaussiansOfX({0.5}), 2);
  ASSERT_EQ(pivots.size(), 2u);
  EXPECT_GE(pivots[1], kManyFarRows - 3);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const std::vector<Index> drawn = Leverage(*data, GaussiansOfX({0.5}), 200, seed);
    ASSERT_EQ(drawn.size(), 200u);
    EXPECT_GE(drawn.back(), kManyFarRows - 3) << "seed " << seed;
    EXPECT_EQ(std::set<Index>(drawn.begin(), drawn.end()).size(), 200u);
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  }
}

// A hundredth of the rows is a cloud of its own that the pilot misses in some of the draws; it does not take most landmarks.
TEST(KernelLandmarksTest, ACloudThatThePilotMissedTakesItsShareOnly) {
  const auto data = CloudAndFewFarRows(3000, 30);
  int far = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const Index row : Leverage(*data, GaussiansOfX({2.0}), 20, seed)) {
      far += row >= 2970 ? 1 : 0;
    }
  }
  EXPECT_GE(far, 40);
  EXPECT_LE(far, 40 * 10);
}

// Ten rows far from the 990 others, and from one another, span most of a narrow kernel's remaining directions.
TEST(KernelLandmarksTest, RowsUnlikeAllOthersAreDrawnMoreOften) {
  RowMatrix values = 0.05 * RandomRows(1000, 2, 7);
  for (Index i = 0; i < 10; ++i) {
    values.row(100 * i).setConstant(5.0 * static_cast<double>(i + 1));
  }
  const auto data = BlockOf(values);
  int by_leverage = 0;
  int uniform = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const Index row : Leverage(*data, GaussiansOfX({0.5}), 50, seed)) {
      by_leverage += row % 100 == 0 ? 1 : 0;
    }
    for (const Index row : DrawRows(1000, 50, seed, "landmarks")) {
      uniform += row % 100 == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(by_leverage, 2 * uniform) << uniform;
}

TEST(KernelLandmarksTest, TheSameForEveryNumberOfThreads) {
  const auto data = BlockOf(RandomRows(5000, 4, 8));
  const std::vector<KernelSpec> kernels = GaussiansOfX({0.5, 2.0});
  EXPECT_EQ(Pivots(*data, kernels, 30, 1), Pivots(*data, kernels, 30, 3));
  EXPECT_EQ(Leverage(*data, kernels, 30, 4, 1), Leverage(*data, kernels, 30, 4, 3));
  EXPECT_NE(Leverage(*data, kernels, 30, 4), Leverage(*data, kernels, 30, 5));
  const PivotedFactor one = Factor(*data, kernels, 1, 30, 1e-10, 1);
  const PivotedFactor three = Factor(*data, kernels, 1, 30, 1e-10, 3);
  EXPECT_EQ(one.pivots, three.pivots);
  ExpectEqualBits(one.map, three.map, "map");
}

TEST(KernelLandmarksTest, IdentityAndConstantKernels) {
  const auto data = BlockOf(RandomRows(300, 4, 9));
  for (const double width : {1e-9, 1e9, std::numeric_limits<double>::min()}) {
    EXPECT_EQ(Leverage(*data, GaussiansOfX({width}), 30, 1).size(), 30u) << width;
    EXPECT_LE(Pivots(*data, GaussiansOfX({width}), 30).size(), 30u) << width;
  }
  EXPECT_EQ(
      Leverage(*BlockOf(RowMatrix::Zero(50, 2)), {MakeSpec(KernelType::kLinear, "x")}, 5, 1).size(),
      5u);
}

TEST(KernelLandmarksTest, LandmarksOfEachKernelAreThoseOfItAlone) {
  const auto data = MixedData(90, 4);
  const std::vector<KernelSpec> kernels = KindsOfKernels();
  RunContext context;
  for (const LandmarkSelection selection :
       {LandmarkSelection::kLeverage, LandmarkSelection::kPivotedCholesky}) {
    const auto own = SelectOwnLandmarks(*data, kernels, selection, 6, 3, context);
    ASSERT_TRUE(own.ok()) << own.status();
    ASSERT_EQ(own->of_kernel.size(), kernels.size());
    std::set<Index> all;
    for (size_t k = 0; k < kernels.size(); ++k) {
      const auto alone = SelectLandmarks(*data, {kernels[k]}, selection, 6, 3, context);
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(own->Of(k).rows, alone->rows) << k;
      ExpectEqualBits(own->Of(k).data->blocks[0].values.view(),
                      alone->data->blocks[0].values.view(), "rows");
      EXPECT_EQ(own->of_kernel[k].map, nullptr);
      all.insert(alone->rows.begin(), alone->rows.end());
    }
    EXPECT_EQ(own->rows, std::vector<Index>(all.begin(), all.end()));
    EXPECT_TRUE(SelectOwnLandmarks(*data, kernels, selection, 90, 3, context)->shared());
  }
}

// The factor of its pivots is Nystrom's on them, but for what thresholds leave out.
TEST(KernelLandmarksTest, FeaturesOfPivotedLandmarksAreTheFactor) {
  const auto data = MixedData(90, 4);
  const std::vector<KernelSpec> kernels = KindsOfKernels();
  RunContext context;
  const auto landmarks = PivotedLandmarks(*data, kernels, 10, 1e-8, context);
  ASSERT_TRUE(landmarks.ok()) << landmarks.status();
  const auto features = NystromFeatures::Make(*landmarks, kernels, {}, context);
  ASSERT_TRUE(features.ok()) << features.status();
  const Matrix all = AllFeatures(*features, *data, context);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const PivotedFactor factor = Factor(*data, kernels, k, 10, 1e-8);
    EXPECT_EQ(landmarks->Of(k).rows, factor.pivots);
    const Matrix gram = NaiveCross(kernels[k], *data, *data, {});
    const Matrix of_kernel = FeaturesOf(*features, all, static_cast<Index>(k)).transpose();
    ExpectMatrixNear(of_kernel, gram(Eigen::all, factor.pivots) * factor.map, 1e-9, "columns");
    const Matrix triangle = of_kernel(factor.pivots, Eigen::all);
    ExpectMatrixNear(triangle * triangle.transpose(), gram(factor.pivots, factor.pivots), 1e-9,
                     "at the pivots");
    EXPECT_LE(Matrix(triangle.triangularView<Eigen::StrictlyUpper>()).cwiseAbs().maxCoeff(),
              1e-7 * triangle.cwiseAbs().maxCoeff());
    ExpectMatrixNear(of_kernel * of_kernel.transpose(),
                     NaiveNystrom(kernels[k], *data, landmarks->Of(k), {0, 1e-15}), 1e-6,
                     "Nystrom's");
  }
}

TEST(KernelLandmarksTest, Cancelled) {
  const auto data = BlockOf(RandomRows(300, 4, 9));
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(PickPivots(*data, GaussiansOfX({1.0}), 5, cancelled).status()));
  EXPECT_TRUE(
      absl::IsCancelled(DrawByLeverage(*data, GaussiansOfX({1.0}), 5, 1, cancelled).status()));
  EXPECT_TRUE(absl::IsCancelled(
      PivotedLandmarks(*data, GaussiansOfX({1.0}), 5, 1e-10, cancelled).status()));
}

TEST(KernelLandmarksTest, ChoosingAmongManyRowsEndsWithinAQuarterSecond) {
  const auto data = BlockOf(UniformMatrix(kSanitized ? 3000 : 60'000, 5, 4));
  const std::vector<KernelSpec> kernels = GaussiansOfX({0.5, 1.0});
  const std::vector<std::function<absl::Status(RunContext&)>> works = {
      [&](RunContext& context) { return DrawByLeverage(*data, kernels, 300, 1, context).status(); },
      [&](RunContext& context) { return PickPivots(*data, kernels, 100, context).status(); }};
  for (const auto& work : works) {
    const double whole = WholeWork(work);
    for (const double part : {0.3, 0.7}) {
      EXPECT_LE(WorkAfterCancel(part * whole, work), kMostWorkAfterCancel)
          << part << " of " << whole;
    }
  }
}

}  // namespace
}  // namespace mercer
