#include "core/kernels/gram/kernel_family.h"

#include <algorithm>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "tests/core/kernels/kernel_test_data.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

// More than two row blocks, the last one ragged.
constexpr Index kRows = 531;

std::unique_ptr<KernelFamily> MakeFamily(const std::shared_ptr<PreparedData>& data,
                                         const std::vector<Index>& rows, RunContext& context) {
  auto family = MakeExactKernelFamily(data, rows, MixedKernels(), context);
  EXPECT_TRUE(family.ok()) << family.status();
  return family.ok() ? *std::move(family) : nullptr;
}

Vector UnitWeight(Index size, Index k) { return Vector::Unit(size, k); }

Matrix SparseColumns(Index rows, Index columns, uint64_t seed) {
  RandomStream stream(seed, "sparse-columns");
  Matrix a = Matrix::Zero(rows, columns);
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) {
      a(i, j) = stream.Uniform() < 0.3 ? stream.Normal() : 0.0;
    }
  }
  return a;
}

// `actual` equals `expected` up to `tolerance` of the largest |expected|.
void ExpectClose(const Matrix& actual, const Matrix& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.rows(), expected.rows()) << what;
  ASSERT_EQ(actual.cols(), expected.cols()) << what;
  const double error = (actual - expected).cwiseAbs().maxCoeff();
  EXPECT_LE(error, tolerance * expected.cwiseAbs().maxCoeff())
      << what << ": largest difference " << error;
}

void ExpectSameBits(const Matrix& actual, const Matrix& expected, const std::string& what) {
  ASSERT_EQ(actual.rows(), expected.rows()) << what;
  ASSERT_EQ(actual.cols(), expected.cols()) << what;
  EXPECT_TRUE((actual.array() == expected.array()).all())
      << what << ": largest difference " << (actual - expected).cwiseAbs().maxCoeff();
}

class KernelFamilyTest : public testing::Test {
 protected:
  void SetUp() override {
    data_ = MixedData(kRows, 7);
    family_ = MakeFamily(data_, {}, context_);
    ASSERT_NE(family_, nullptr);
  }

  static void SetUpTestSuite() {
    const std::shared_ptr<PreparedData> data = MixedData(kRows, 7);
    for (const KernelSpec& spec : MixedKernels()) {
      grams_.push_back(NaiveGram(spec, *data, AllRowsOf(*data)));
    }
  }
  static void TearDownTestSuite() { grams_.clear(); }

  Index NumKernels() const { return family_->num_kernels(); }

  RunContext context_;
  std::shared_ptr<PreparedData> data_;
  std::unique_ptr<KernelFamily> family_;
  static inline std::vector<Matrix> grams_;  // by the definitions
};

TEST_F(KernelFamilyTest, CombinedSingleKernelsEqualTheirDefinitions) {
  for (Index k = 0; k < NumKernels(); ++k) {
    const auto combined = family_->Combine(UnitWeight(NumKernels(), k), context_);
    ASSERT_TRUE(combined.ok()) << combined.status();
    ExpectClose(*(*combined)->Dense(), grams_[static_cast<size_t>(k)], 2e-13,
                KernelName(MixedKernels()[static_cast<size_t>(k)]));
  }
}

TEST_F(KernelFamilyTest, CombinationIsSymmetricAndPositiveSemidefinite) {
  const Vector weights = Vector::LinSpaced(NumKernels(), 0.5, 1.5);
  const auto combined = family_->Combine(weights, context_);
  ASSERT_TRUE(combined.ok()) << combined.status();
  const Matrix& gram = *(*combined)->Dense();
  ExpectSameBits(gram, gram.transpose(), "transpose");
  const double smallest =
      Eigen::SelfAdjointEigenSolver<Matrix>(gram, Eigen::EigenvaluesOnly).eigenvalues().minCoeff();
  EXPECT_GE(smallest, -1e-12 * gram.trace());
}

TEST_F(KernelFamilyTest, OperatorViewsAgreeBitwise) {
  const auto combined = family_->Combine(Vector::Ones(NumKernels()), context_);
  ASSERT_TRUE(combined.ok()) << combined.status();
  const KernelOperator& kernel = **combined;
  const Matrix& gram = *kernel.Dense();
  Vector diagonal(kRows);
  ASSERT_TRUE(kernel.Diagonal(diagonal, context_).ok());
  ExpectSameBits(diagonal, gram.diagonal(), "diagonal");
  const std::vector<Index> columns = {530, 0, 256, 255, 0};
  const std::vector<Index> rows = {3, 400, 399};
  Matrix some(kRows, 5);
  ASSERT_TRUE(kernel.Columns(columns, some, context_).ok());
  Matrix block(3, 5);
  ASSERT_TRUE(kernel.Block(rows, columns, block, context_).ok());
  for (Index j = 0; j < 5; ++j) {
    ExpectSameBits(some.col(j), gram.col(columns[static_cast<size_t>(j)]), "column");
    for (Index i = 0; i < 3; ++i) {
      EXPECT_EQ(block(i, j), gram(rows[static_cast<size_t>(i)], columns[static_cast<size_t>(j)]));
    }
  }
  const Matrix x = SparseColumns(kRows, 6, 3);
  Matrix product(kRows, 6);
  ASSERT_TRUE(kernel.Apply(x, product, context_).ok());
  ExpectClose(product, gram * x, 1e-13, "product");
  Matrix single(kRows, 1);
  ASSERT_TRUE(kernel.Apply(x.col(4), single, context_).ok());
  ExpectSameBits(single, product.col(4), "one column alone");
}

TEST_F(KernelFamilyTest, QuadraticFormsEqualNaiveSums) {
  const Matrix a = SparseColumns(kRows, 6, 11);
  Matrix forms(NumKernels(), 6);
  ASSERT_TRUE(family_->QuadraticForms(a, {}, forms, context_).ok());
  for (Index k = 0; k < NumKernels(); ++k) {
    for (Index j = 0; j < 6; ++j) {
      const Matrix& gram = grams_[static_cast<size_t>(k)];
      const double expected = a.col(j).dot(gram * a.col(j));
      const double size = a.col(j).cwiseAbs().dot(gram.cwiseAbs() * a.col(j).cwiseAbs());
      EXPECT_NEAR(forms(k, j), expected, 1e-13 * size) << "kernel " << k << ", column " << j;
    }
  }
}

TEST_F(KernelFamilyTest, ProductsEqualNaiveProducts) {
  const Vector a = SparseColumns(kRows, 1, 12).col(0);
  Matrix products(kRows, NumKernels());
  ASSERT_TRUE(family_->Products(a, {}, {}, products, context_).ok());
  for (Index k = 0; k < NumKernels(); ++k) {
    ExpectClose(products.col(k), grams_[static_cast<size_t>(k)] * a, 1e-12,
                "kernel " + std::to_string(k));
  }
}

// The products of one entry are a row of every kernel; which of it are asked for changes no bits.
TEST_F(KernelFamilyTest, ProductsOfOneEntryAreRowsOfTheMatrices) {
  const std::vector<Index> kernels = {NumKernels() - 1, 0, 1};
  const std::vector<Index> rows = {500, 2, 256, 2, 255};
  for (const Index sample : {Index{0}, Index{255}, Index{256}, kRows - 1}) {
    const Vector a = 1.7 * Vector::Unit(kRows, sample);
    Matrix products(kRows, NumKernels());
    Matrix some(5, 3);
    ASSERT_TRUE(family_->Products(a, {}, {}, products, context_).ok());
    ASSERT_TRUE(family_->Products(a, kernels, rows, some, context_).ok());
    for (Index k = 0; k < NumKernels(); ++k) {
      ExpectClose(products.col(k), 1.7 * grams_[static_cast<size_t>(k)].col(sample), 1e-13,
                  "kernel " + std::to_string(k) + ", row " + std::to_string(sample));
    }
    for (Index p = 0; p < 3; ++p) {
      for (Index r = 0; r < 5; ++r) {
        EXPECT_EQ(some(r, p),
                  products(rows[static_cast<size_t>(r)], kernels[static_cast<size_t>(p)]));
      }
    }
  }
}

TEST_F(KernelFamilyTest, CombinedProductEqualsCombinedMatrix) {
  Vector weights = Vector::LinSpaced(NumKernels(), 0.1, 2.0);
  weights(3) = 0;
  const Matrix a = SparseColumns(kRows, 3, 13);
  Matrix product(kRows, 3);
  ASSERT_TRUE(family_->CombinedProduct(weights, a, product, context_).ok());
  Matrix gram = Matrix::Zero(kRows, kRows);
  for (Index k = 0; k < NumKernels(); ++k) {
    gram += weights(k) * grams_[static_cast<size_t>(k)];
  }
  ExpectClose(product, gram * a, 1e-12, "product");
  const auto combined = family_->Combine(weights, context_);
  ASSERT_TRUE(combined.ok()) << combined.status();
  ExpectClose(*(*combined)->Dense(), gram, 1e-12, "matrix");
}

// A certificate may read the entries that training has formed: nothing of it changes.
TEST_F(KernelFamilyTest, ProductOfTheFormedMatrixHasTheBitsOfTheProductFromTheData) {
  const Vector weights = Vector::LinSpaced(NumKernels(), 0.1, 2.0);
  const auto combined = family_->Combine(weights, context_);
  ASSERT_TRUE(combined.ok()) << combined.status();
  for (const Index columns : {1, 2}) {
    Matrix a = SparseColumns(kRows, columns, 17);
    a.middleRows(100, 300).setZero();
    Matrix expected(kRows, columns);
    ASSERT_TRUE(family_->CombinedProduct(weights, a, expected, context_).ok());
    Matrix product = Matrix::Constant(kRows, columns, kInfinity);
    ASSERT_TRUE(GramProduct(*(*combined)->Dense(), a, product, context_).ok());
    ExpectSameBits(product, expected, "product");
    RunContext threads(CancellationToken(), 3, nullptr);
    ASSERT_TRUE(GramProduct(*(*combined)->Dense(), a, product, threads).ok());
    ExpectSameBits(product, expected, "product by three threads");
  }
}

TEST_F(KernelFamilyTest, DiagonalsEqualTheMatrices) {
  Matrix diagonals(kRows, NumKernels());
  ASSERT_TRUE(family_->Diagonals({}, diagonals, context_).ok());
  for (Index k = 0; k < NumKernels(); ++k) {
    const auto combined = family_->Combine(UnitWeight(NumKernels(), k), context_);
    ASSERT_TRUE(combined.ok()) << combined.status();
    ExpectClose(diagonals.col(k), (*combined)->Dense()->diagonal(), 1e-14,
                "kernel " + std::to_string(k));
  }
}

TEST_F(KernelFamilyTest, SubsetsHaveTheBitsOfFullQueries) {
  const Matrix a = SparseColumns(kRows, 5, 14);
  const std::vector<Index> kernels = {9, 1, 5, 1};
  const std::vector<Index> rows = {500, 2, 256, 2, 255};
  Matrix all_forms(NumKernels(), 5);
  Matrix some_forms(4, 5);
  Matrix one_column(NumKernels(), 1);
  ASSERT_TRUE(family_->QuadraticForms(a, {}, all_forms, context_).ok());
  ASSERT_TRUE(family_->QuadraticForms(a, kernels, some_forms, context_).ok());
  Matrix all_products(kRows, NumKernels());
  Matrix some_products(5, 4);
  ASSERT_TRUE(family_->Products(a.col(0), {}, {}, all_products, context_).ok());
  ASSERT_TRUE(family_->Products(a.col(0), kernels, rows, some_products, context_).ok());
  for (Index p = 0; p < 4; ++p) {
    const Index k = kernels[static_cast<size_t>(p)];
    ExpectSameBits(some_forms.row(p), all_forms.row(k), "forms");
    for (Index r = 0; r < 5; ++r) {
      EXPECT_EQ(some_products(r, p), all_products(rows[static_cast<size_t>(r)], k))
          << "row " << r << ", kernel " << k;
    }
  }
}

TEST_F(KernelFamilyTest, RowSubsetIsAFamilyOfItsOwn) {
  std::vector<Index> rows;
  for (Index i = 0; i < kRows; i += 2) {
    rows.push_back(kRows - 1 - i);
  }
  const std::unique_ptr<KernelFamily> family = MakeFamily(data_, rows, context_);
  ASSERT_NE(family, nullptr);
  for (Index k = 0; k < NumKernels(); ++k) {
    const auto combined = family->Combine(UnitWeight(NumKernels(), k), context_);
    ASSERT_TRUE(combined.ok()) << combined.status();
    ExpectClose(*(*combined)->Dense(),
                NaiveGram(MixedKernels()[static_cast<size_t>(k)], *data_, rows), 2e-13, "kernel");
  }
}

TEST_F(KernelFamilyTest, PermutedRowsPermuteTheMatrix) {
  std::vector<Index> rows = AllRowsOf(*data_);
  RandomStream(5, "permutation").Shuffle(rows);
  const std::unique_ptr<KernelFamily> family = MakeFamily(data_, rows, context_);
  ASSERT_NE(family, nullptr);
  const auto plain = family_->Combine(Vector::Ones(NumKernels()), context_);
  const auto permuted = family->Combine(Vector::Ones(NumKernels()), context_);
  ASSERT_TRUE(plain.ok() && permuted.ok());
  ExpectClose(*(*permuted)->Dense(), Matrix((*plain)->Dense()->operator()(rows, rows)), 1e-13,
              "permuted");
}

// Everything that a family computes, in one matrix.
Matrix Fingerprint(const KernelFamily& family, RunContext& context) {
  const Index n = family.size();
  const Index m = family.num_kernels();
  const Matrix a = SparseColumns(n, 2, 21);
  Matrix products(n, m);
  EXPECT_TRUE(family.Products(a.col(0), {}, {}, products, context).ok());
  Matrix combined(n, 2);
  EXPECT_TRUE(family.CombinedProduct(Vector::Ones(m), a, combined, context).ok());
  Matrix forms(m, 2);
  EXPECT_TRUE(family.QuadraticForms(a, {}, forms, context).ok());
  const auto kernel = family.Combine(Vector::Ones(m), context);
  EXPECT_TRUE(kernel.ok());
  Matrix searched(m, 2);
  EXPECT_TRUE(family.QuadraticFormsForSearch(a, {}, searched, context).ok());
  const auto searched_kernel = family.CombineForSearch(Vector::Ones(m), context);
  EXPECT_TRUE(searched_kernel.ok());
  Matrix all(n, m + 2 + 2 * n);
  all << products, combined, *(*kernel)->Dense(), *(*searched_kernel)->Dense();
  Matrix rest = Matrix::Zero(n, 4);
  rest.topRows(m) << forms, searched;
  Matrix result(n, all.cols() + 4);
  result << all, rest;
  return result;
}

TEST_F(KernelFamilyTest, BitsDoNotDependOnThreadsOrCache) {
  data_->cache_key = "mixed data 7";
  const auto cache = std::make_shared<SharedCache>(size_t{64} << 20);
  RunContext two_threads(CancellationToken(), 2, cache);
  const std::unique_ptr<KernelFamily> cold = MakeFamily(data_, {}, two_threads);
  const size_t filled = cache->size_bytes();
  EXPECT_GT(filled, 0U);
  const std::unique_ptr<KernelFamily> warm = MakeFamily(data_, {}, two_threads);
  EXPECT_EQ(cache->size_bytes(), filled) << "the second family computed its distances anew";
  ASSERT_TRUE(cold != nullptr && warm != nullptr);
  const Matrix expected = Fingerprint(*family_, context_);
  ExpectSameBits(Fingerprint(*cold, two_threads), expected, "two threads, cold cache");
  ExpectSameBits(Fingerprint(*warm, two_threads), expected, "two threads, warm cache");
}

TEST_F(KernelFamilyTest, PassesChangeNoBit) {
  const auto one = MakeExactKernelFamily(data_, {}, MixedKernels(), context_, KernelPasses::kOne);
  ASSERT_TRUE(one.ok()) << one.status();
  ExpectSameBits(Fingerprint(**one, context_), Fingerprint(*family_, context_), "one pass");
}

// Where one pass over the pairs is all, large distances are stored for others alone.
TEST(KernelFamilyMemoryTest, OnePassStoresWhatTheCacheKeeps) {
  constexpr Index kMany = 4300;
  constexpr int64_t kStored = int64_t{4} * kMany * kMany;
  const auto data = std::make_shared<PreparedData>();
  data->rows = kMany;
  data->blocks.push_back(MakeBlock("x", RandomRows(kMany, 3, 5)));
  data->cache_key = "many rows";
  KernelSpec spec;
  spec.type = KernelType::kGaussian;
  spec.block = "x";
  spec.bandwidth = 1.5;
  Vector products[2] = {Vector(kMany), Vector(kMany)};
  for (const KernelPasses passes : {KernelPasses::kMany, KernelPasses::kOne}) {
    for (const size_t capacity : {size_t{0}, size_t{2} * kStored}) {
      RunContext context(CancellationToken(), 1, std::make_shared<SharedCache>(capacity));
      const int64_t grown =
          PeakGrowth([&] { return MakeExactKernelFamily(data, {}, {spec}, context, passes).ok(); });
      ASSERT_GE(grown, 0);
      const bool stored = passes == KernelPasses::kMany || capacity > 0;
      if (kGrowthIsMemoryHeld) {
        EXPECT_EQ(grown > kStored / 2, stored) << grown << " bytes, a cache of " << capacity;
      }
    }
    RunContext context;
    const auto family = MakeExactKernelFamily(data, {}, {spec}, context, passes);
    ASSERT_TRUE(family.ok()) << family.status();
    ASSERT_TRUE((*family)
                    ->CombinedProduct(Vector::Ones(1), Vector::Ones(kMany),
                                      products[passes == KernelPasses::kOne ? 1 : 0], context)
                    .ok());
  }
  EXPECT_EQ(products[0], products[1]);
}

TEST_F(KernelFamilyTest, CancelledOperationsSaySo) {
  RunContext cancelled;
  cancelled.cancellation().Cancel();
  Matrix forms(NumKernels(), 1);
  const Matrix a = Matrix::Ones(kRows, 1);
  EXPECT_EQ(family_->QuadraticForms(a, {}, forms, cancelled).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(family_->Combine(Vector::Ones(NumKernels()), cancelled).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(MakeExactKernelFamily(data_, {}, MixedKernels(), cancelled).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(KernelFamilyTest, UnitDiagonalsAreOne) {
  Matrix diagonals(kRows, NumKernels());
  ASSERT_TRUE(family_->Diagonals({}, diagonals, context_).ok());
  for (const Index k : {8, 11}) {
    const double error = (diagonals.col(k).array() / family_->scales()(k) - 1.0).abs().maxCoeff();
    EXPECT_LE(error, 1e-15) << "kernel " << k;
  }
}

TEST_F(KernelFamilyTest, EstimateOfBytesBoundsTheStoredDistances) {
  EXPECT_GE(ExactKernelFamilyBytes({.rows = kRows, .kernels = NumKernels(), .stored_sources = 8}),
            static_cast<size_t>(8 * kRows * kRows / 2 * 8));
  EXPECT_GE(ExactKernelFamilyBytes(
                {.rows = kRows, .kernels = 1, .stored_sources = 1, .columns = 100'000}),
            static_cast<size_t>(kRows * kRows / 2 * 8 + kRows * 100'000 * 8));
  const Index absurd = std::numeric_limits<int32_t>::max();
  EXPECT_GE(
      ExactKernelFamilyBytes({.rows = absurd, .kernels = 1, .stored_sources = 1, .columns = 1}),
      size_t{1} << 58)
      << "no overflow";
}

// A few sources may fill the memory of a machine that has such data; many keep within a part of it.
TEST_F(KernelFamilyTest, DistancesOfManySourcesAreBounded) {
  const auto bytes = [](Index rows, Index sources) {
    return ExactKernelSourceBytes({.rows = rows, .stored_sources = sources});
  };
  EXPECT_LT(bytes(1000, 10'000), size_t{3} << 29);
  EXPECT_GT(bytes(1000, 200), 200 * size_t{1000 * 1000 / 2 * 8});
  EXPECT_GT(bytes(5000, 30), 30 * size_t{5000} * 5000 / 2 * 8);
  EXPECT_LT(bytes(20'000, 30), size_t{5} << 30);
}

TEST(KernelFamilyAccuracyTest, RepeatedAndNearRowsKeepTheirDistances) {
  auto data = std::make_shared<PreparedData>();
  data->rows = 3;
  RowMatrix values = RowMatrix::Constant(3, 30, 1000.0);
  values.row(1) = values.row(0);
  values.row(2) = values.row(0);
  values(2, 4) += 1e-3;
  data->blocks.push_back(MakeBlock("x", values));
  RunContext context;
  auto family =
      MakeExactKernelFamily(data, {}, {MakeSpec(KernelType::kGaussian, "x", 1e-3)}, context);
  ASSERT_TRUE(family.ok()) << family.status();
  const auto kernel = (*family)->Combine(Vector::Ones(1), context);
  ASSERT_TRUE(kernel.ok());
  const Matrix& gram = *(*kernel)->Dense();
  EXPECT_EQ(gram(1, 0), 1.0);
  EXPECT_NEAR(gram(2, 0), std::exp(-0.5), 1e-9);
}

// Its values of rows and themselves are their sums, which no distance has.
TEST(KernelFamilyAccuracyTest, IntersectionMayHaveAUnitDiagonal) {
  const auto data = MixedData(40, 1);
  const RowMatrix histograms = data->blocks[1].values.view().array() + 0.1;
  data->blocks[1].values = SharedMatrix(histograms);
  KernelSpec spec = MakeSpec(KernelType::kIntersection, "h");
  spec.normalization = {true, KernelScaling::kTrace};
  RunContext context;
  const auto family = MakeExactKernelFamily(data, {}, {spec}, context);
  ASSERT_TRUE(family.ok()) << family.status();
  const auto kernel = (*family)->Combine(Vector::Ones(1), context);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectClose(*(*kernel)->Dense(), NaiveGram(spec, *data, AllRowsOf(*data)), 1e-14, "intersection");
}

TEST(KernelFamilyAccuracyTest, SmallestFamilyHasOneRow) {
  const auto data = MixedData(1, 3);
  RunContext context;
  auto family =
      MakeExactKernelFamily(data, {}, {MakeSpec(KernelType::kGaussian, "x", 1.0)}, context);
  ASSERT_TRUE(family.ok()) << family.status();
  Matrix forms(1, 1);
  ASSERT_TRUE((*family)->QuadraticForms(Matrix::Constant(1, 1, 3.0), {}, forms, context).ok());
  EXPECT_EQ(forms(0, 0), 9.0);
}

}  // namespace
}  // namespace mercer
