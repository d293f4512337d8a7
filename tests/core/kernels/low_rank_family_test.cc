#include "core/kernels/lowrank/low_rank_family.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

constexpr Index kFamilyRows = 260;
constexpr Index kNewRows = 40;
constexpr Index kLandmarks =
    12;  // of 13 kernels: fewer features than rows, so that the rows span those of new ones
// Values are stored in single precision.
constexpr double kSingle = 1e-6;

LowRankOptions ToleranceOf(double tolerance) {
  LowRankOptions options;
  options.basis.tolerance = tolerance;
  return options;
}

Landmarks EverySeventh(const PreparedData& data, Index count) {
  std::vector<Index> rows;
  for (Index i = 0; i < count; ++i) {
    rows.push_back(7 * i);
  }
  return LandmarksFromRows(data, rows);
}

std::unique_ptr<LowRankKernelFamily> MakeLowRank(const PreparedData& data,
                                                 const Landmarks& landmarks,
                                                 const std::vector<KernelSpec>& kernels,
                                                 double tolerance, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  auto family =
      LowRankKernelFamily::Make(data, landmarks, kernels, ToleranceOf(tolerance), context);
  EXPECT_TRUE(family.ok()) << family.status();
  return family.ok() ? *std::move(family) : nullptr;
}

Matrix SparseMatrix(Index rows, Index columns, uint64_t seed) {
  Matrix values = UniformMatrix(rows, columns, seed);
  return (values.array().abs() < 0.4).select(0.0, values);
}

// The factor of a Gram matrix by the definitions of KernelScaling.
double NaiveScale(const Matrix& gram, KernelScaling scaling) {
  const auto count = static_cast<double>(gram.rows());
  switch (scaling) {
    case KernelScaling::kNone:
      return 1.0;
    case KernelScaling::kTrace:
      return 1.0 / gram.trace();
    case KernelScaling::kMeanDiagonal:
      return count / gram.trace();
    case KernelScaling::kVariance:
      return 1.0 / (gram.trace() / count - gram.sum() / count / count);
    case KernelScaling::kCentredTrace:
      return 1.0 / (gram.trace() - gram.sum() / count);
  }
  return 1.0;
}

// Every kernel type, unit diagonals and every scaling; the rows after the first kFamilyRows are new ones.
class LowRankFamilyTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    all_rows_ = MixedData(kFamilyRows + kNewRows, 21);
    std::vector<Index> training(kFamilyRows);
    for (Index i = 0; i < kFamilyRows; ++i) {
      training[static_cast<size_t>(i)] = i;
    }
    training_ = std::make_shared<PreparedData>(SelectRows(*all_rows_, training, training));
    landmarks_ = EverySeventh(*training_, kLandmarks);
    for (const KernelSpec& spec : MixedKernels()) {
      const Matrix approximated = NaiveNystrom(spec, *all_rows_, landmarks_, {});
      const Matrix inside = approximated.topLeftCorner(kFamilyRows, kFamilyRows);
      factors_.push_back(NaiveScale(inside, spec.normalization.scaling));
      kernels_.push_back(factors_.back() * approximated);
    }
    family_ = MakeLowRank(*training_, landmarks_, MixedKernels(), 0.0);
  }
  static void TearDownTestSuite() {
    all_rows_.reset();
    training_.reset();
    landmarks_ = {};
    factors_.clear();
    kernels_.clear();
    family_.reset();
  }

  void SetUp() override { ASSERT_NE(family_, nullptr); }

  static Index NumKernels() { return static_cast<Index>(kernels_.size()); }
  // K_k among the training rows.
  static Matrix Gram(Index k) {
    return kernels_[static_cast<size_t>(k)].topLeftCorner(kFamilyRows, kFamilyRows);
  }
  static Matrix WeightedGram(const Vector& weights) {
    Matrix sum = Matrix::Zero(kFamilyRows, kFamilyRows);
    for (Index k = 0; k < NumKernels(); ++k) {
      sum += weights(k) * Gram(k);
    }
    return sum;
  }
  static std::string Name(Index k) { return KernelName(MixedKernels()[static_cast<size_t>(k)]); }

  // By definition, without the family. Of all rows.
  static inline std::shared_ptr<PreparedData> all_rows_;
  static inline std::shared_ptr<PreparedData> training_;
  static inline Landmarks landmarks_;
  static inline std::vector<double> factors_;
  static inline std::vector<Matrix> kernels_;
  static inline std::unique_ptr<LowRankKernelFamily> family_;
  RunContext context_;
};

TEST_F(LowRankFamilyTest, SizesAndScalesAreThoseOfTheKernels) {
  EXPECT_EQ(family_->size(), kFamilyRows);
  EXPECT_EQ(family_->num_kernels(), NumKernels());
  EXPECT_GE(family_->num_features(), family_->joint_rank());
  for (Index k = 0; k < NumKernels(); ++k) {
    EXPECT_NEAR(family_->scales()(k), factors_[static_cast<size_t>(k)],
                kSingle * factors_[static_cast<size_t>(k)])
        << Name(k);
  }
}

TEST_F(LowRankFamilyTest, EachKernelEqualsItsDefinition) {
  for (Index k = 0; k < NumKernels(); ++k) {
    Matrix product = Matrix::Constant(kFamilyRows, kFamilyRows, NAN);
    ASSERT_TRUE(family_
                    ->CombinedProduct(Vector::Unit(NumKernels(), k),
                                      Matrix::Identity(kFamilyRows, kFamilyRows), product, context_)
                    .ok());
    ExpectMatrixNear(product, Gram(k), kSingle, Name(k));
  }
}

TEST_F(LowRankFamilyTest, QuadraticFormsEqualDenseOnes) {
  const Matrix a = SparseMatrix(kFamilyRows, 4, 1);
  const std::vector<Index> some = {12, 0, 9};
  Matrix all = Matrix::Constant(NumKernels(), 4, NAN);
  ASSERT_TRUE(family_->QuadraticForms(a, {}, all, context_).ok());
  Matrix chosen = Matrix::Constant(3, 4, NAN);
  ASSERT_TRUE(family_->QuadraticForms(a, some, chosen, context_).ok());
  for (Index k = 0; k < NumKernels(); ++k) {
    for (Index j = 0; j < 4; ++j) {
      const double size = a.col(j).cwiseAbs().dot(Gram(k).cwiseAbs() * a.col(j).cwiseAbs());
      EXPECT_NEAR(all(k, j), a.col(j).dot(Gram(k) * a.col(j)), kSingle * size) << Name(k);
      EXPECT_GE(all(k, j), 0.0);
    }
  }
  for (Index i = 0; i < 3; ++i) {
    ExpectEqualBits(chosen.row(i), all.row(some[static_cast<size_t>(i)]), "a subset");
  }
}

// Of Q'a they are the roots of the quadratic forms.
TEST_F(LowRankFamilyTest, PartNormsAreThoseOfTheFunctionInEachKernel) {
  const Vector a = UniformMatrix(kFamilyRows, 1, 6);
  const auto kernel = family_->Combine(Vector::Ones(NumKernels()), context_);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const Vector reduced = DenseFactor((*kernel)->Factored()->rows).transpose() * a;
  const Vector norms = *family_->PartNorms(reduced, context_);
  for (Index k = 0; k < NumKernels(); ++k) {
    const double form = a.dot(Gram(k) * a);
    EXPECT_NEAR(norms(k) * norms(k), form, 3 * kSingle * Gram(k).cwiseAbs().sum()) << Name(k);
  }
}

TEST_F(LowRankFamilyTest, ProductsEqualDenseOnes) {
  const Vector a = SparseMatrix(kFamilyRows, 1, 2);
  Matrix all = Matrix::Constant(kFamilyRows, NumKernels(), NAN);
  ASSERT_TRUE(family_->Products(a, {}, {}, all, context_).ok());
  for (Index k = 0; k < NumKernels(); ++k) {
    ExpectMatrixNear(all.col(k), Gram(k) * a, 3 * kSingle, Name(k));
  }
  const std::vector<Index> kernels = {3, 11};
  const std::vector<Index> rows = {kFamilyRows - 1, 0, 128, 0};
  Matrix chosen = Matrix::Constant(4, 2, NAN);
  ASSERT_TRUE(family_->Products(a, kernels, rows, chosen, context_).ok());
  for (Index i = 0; i < 4; ++i) {
    for (Index k = 0; k < 2; ++k) {
      EXPECT_EQ(chosen(i, k), all(rows[static_cast<size_t>(i)], kernels[static_cast<size_t>(k)]));
    }
  }
}

TEST_F(LowRankFamilyTest, CombinationsEqualWeightedSums) {
  Vector weights(NumKernels());
  for (Index k = 0; k < NumKernels(); ++k) {
    weights(k) = k % 4 == 1 ? 0.0 : (1.0 + 0.1 * static_cast<double>(k)) / Gram(k).trace();
  }
  const Matrix gram = WeightedGram(weights);
  const Matrix a = SparseMatrix(kFamilyRows, 3, 3);
  Matrix product = Matrix::Constant(kFamilyRows, 3, NAN);
  ASSERT_TRUE(family_->CombinedProduct(weights, a, product, context_).ok());
  ExpectMatrixNear(product, gram * a, kSingle, "CombinedProduct");
  const auto combined = family_->Combine(weights, context_);
  ASSERT_TRUE(combined.ok()) << combined.status();
  Matrix applied = Matrix::Constant(kFamilyRows, 3, NAN);
  ASSERT_TRUE((*combined)->Apply(a, applied, context_).ok());
  ExpectMatrixNear(applied, product, 1e-11, "Combine");
  Vector diagonal(kFamilyRows);
  ASSERT_TRUE((*combined)->Diagonal(diagonal, context_).ok());
  ExpectMatrixNear(diagonal, gram.diagonal(), kSingle, "diagonal");
  const auto factored = (*combined)->Factored();
  ASSERT_TRUE(factored.has_value() && factored->blocks != nullptr);
  // Its blocks are the kernels, with their weights.
  Matrix sum = Matrix::Zero(factored->rows.cols(), factored->rows.cols());
  for (const FactorBlock& block : factored->blocks->blocks) {
    const Matrix rows =
        block.scale * factored->blocks->stacked->middleRows(block.first, block.size);
    sum += rows.transpose() * rows;
  }
  ExpectMatrixNear(factored->root * factored->root.transpose(), sum, 1e-11, "blocks");
  const auto none = family_->Combine(Vector::Zero(NumKernels()), context_);
  ASSERT_TRUE(none.ok()) << none.status();
  ASSERT_TRUE((*none)->Apply(a, applied, context_).ok());
  ExpectEqualBits(applied, Matrix::Zero(kFamilyRows, 3), "weights of zero");
}

TEST_F(LowRankFamilyTest, DiagonalsEqualDenseOnes) {
  const std::vector<Index> some = {10, 4};
  Matrix all = Matrix::Constant(kFamilyRows, NumKernels(), NAN);
  ASSERT_TRUE(family_->Diagonals({}, all, context_).ok());
  Matrix chosen = Matrix::Constant(kFamilyRows, 2, NAN);
  ASSERT_TRUE(family_->Diagonals(some, chosen, context_).ok());
  for (Index k = 0; k < NumKernels(); ++k) {
    ExpectMatrixNear(all.col(k), Gram(k).diagonal(), kSingle, Name(k));
  }
  ExpectEqualBits(chosen.col(0), all.col(10), "a subset");
  ExpectEqualBits(chosen.col(1), all.col(4), "a subset");
}

TEST_F(LowRankFamilyTest, OperationsOfOneFactorAgreeInDoublePrecision) {
  const Vector a = SparseMatrix(kFamilyRows, 1, 4);
  const Vector weights = family_->scales().cwiseInverse();
  Matrix products(kFamilyRows, NumKernels());
  ASSERT_TRUE(family_->Products(a, {}, {}, products, context_).ok());
  Matrix combined(kFamilyRows, 1);
  ASSERT_TRUE(family_->CombinedProduct(weights, a, combined, context_).ok());
  ExpectMatrixNear(combined, products * weights, 1e-12, "CombinedProduct");
  Matrix forms(NumKernels(), 1);
  ASSERT_TRUE(family_->QuadraticForms(a, {}, forms, context_).ok());
  ExpectMatrixNear(forms, products.transpose() * a, 1e-11, "QuadraticForms");
}

TEST_F(LowRankFamilyTest, LandmarkCoefficientsCarryTheFunctionToAllRows) {
  Vector weights(NumKernels());
  for (Index k = 0; k < NumKernels(); ++k) {
    weights(k) = k == 2 ? 0.0 : 1.0 / Gram(k).trace();
  }
  const Vector dual = SparseMatrix(kFamilyRows, 1, 5);
  const auto coefficients = family_->LandmarkCoefficients(weights, dual, context_);
  ASSERT_TRUE(coefficients.ok()) << coefficients.status();
  ASSERT_EQ(static_cast<Index>(coefficients->size()), NumKernels());
  auto basis = std::make_shared<PreparedData>(*landmarks_.data);
  basis->squares.clear();
  const auto cross = CrossKernels::Make(basis, MixedKernels(), landmarks_.rows);
  ASSERT_TRUE(cross.ok()) << cross.status();
  Vector predicted = Vector::Zero(all_rows_->rows);
  Vector expected = Vector::Zero(all_rows_->rows);
  for (Index k = 0; k < NumKernels(); ++k) {
    Matrix values(all_rows_->rows, kLandmarks);
    ASSERT_TRUE(
        CombineKernels(*cross, *all_rows_, Vector::Unit(NumKernels(), k), values, context_).ok());
    predicted += values * (*coefficients)[static_cast<size_t>(k)];
    expected += weights(k) * (kernels_[static_cast<size_t>(k)].leftCols(kFamilyRows) * dual);
  }
  ExpectMatrixNear(predicted.tail(kNewRows), expected.tail(kNewRows), kSingle, "new rows");
  Matrix product(kFamilyRows, 1);
  ASSERT_TRUE(family_->CombinedProduct(weights, dual, product, context_).ok());
  ExpectMatrixNear(predicted.head(kFamilyRows), product, kSingle, "training rows");
  const auto scale = family_->FunctionScale(weights, dual, context_);
  ASSERT_TRUE(scale.ok()) << scale.status();
  EXPECT_GE(*scale * (1 + kSingle), product.cwiseAbs().maxCoeff());
}

// Kernels without scaling: with every kernel scaled to the same trace, what all lose on average.
TEST_F(LowRankFamilyTest, DroppedShareIsTheMeanLossOfTrace) {
  std::vector<KernelSpec> kernels = MixedKernels();
  for (KernelSpec& kernel : kernels) {
    kernel.normalization.scaling = KernelScaling::kNone;
  }
  for (const double tolerance : {1e-2, 1e-4}) {
    const auto family = MakeLowRank(*training_, landmarks_, kernels, tolerance);
    ASSERT_NE(family, nullptr);
    Matrix diagonals(kFamilyRows, NumKernels());
    ASSERT_TRUE(family->Diagonals({}, diagonals, context_).ok());
    double lost = 0;
    for (Index k = 0; k < NumKernels(); ++k) {
      lost += 1 - diagonals.col(k).sum() * factors_[static_cast<size_t>(k)] / Gram(k).trace();
    }
    lost /= static_cast<double>(NumKernels());
    // The diagonals also feel the rounding of the stored values, about 1e-8 of a trace.
    EXPECT_NEAR(family->dropped_share(), lost, 1e-3 * lost + 2e-8) << tolerance;
    EXPECT_LE(family->dropped_share(), tolerance * (1 + 1e-9));
    EXPECT_LT(family->joint_rank(), family_->joint_rank());
  }
  EXPECT_LE(family_->dropped_share(), 1e-14);
}

TEST_F(LowRankFamilyTest, ToleranceBoundsTheErrorOfGaussians) {
  const std::vector<KernelSpec> kernels = GaussiansOfX({0.7, 1.0, 2.0, 4.0});
  constexpr double kTolerance = 1e-6;
  const auto family = MakeLowRank(*training_, landmarks_, kernels, kTolerance);
  ASSERT_NE(family, nullptr);
  for (Index k = 0; k < 4; ++k) {
    Matrix gram(kFamilyRows, kFamilyRows);
    ASSERT_TRUE(family
                    ->CombinedProduct(Vector::Unit(4, k),
                                      Matrix::Identity(kFamilyRows, kFamilyRows), gram, context_)
                    .ok());
    const Matrix expected =
        NaiveNystrom(kernels[static_cast<size_t>(k)], *training_, landmarks_, {});
    // |VV' - V~V~'| <= (|V| + |V~|) |V - V~| in the norm of Frobenius, and |V - V~|^2 <= 4 tolerance trace(VV').
    EXPECT_LE((gram - expected).norm(), 2 * std::sqrt(4 * kTolerance) * expected.trace());
    EXPECT_GT((gram - expected).norm(), 0.0);
  }
}

// Everything that the family computes, one below the other.
Vector LowRankFingerprint(const LowRankKernelFamily& family) {
  RunContext context;
  const Index n = family.size();
  const Index m = family.num_kernels();
  const Vector a = SparseMatrix(n, 1, 6);
  Matrix products(n, m);
  EXPECT_TRUE(family.Products(a, {}, {}, products, context).ok());
  Matrix diagonals(n, m);
  EXPECT_TRUE(family.Diagonals({}, diagonals, context).ok());
  Vector all(2 * n * m + m + 1);
  all << products.reshaped(), diagonals.reshaped(), family.scales(), family.dropped_share();
  return all;
}

TEST_F(LowRankFamilyTest, TheSameBitsForEveryNumberOfThreads) {
  const auto three = MakeLowRank(*training_, landmarks_, MixedKernels(), 0.0, 3);
  ASSERT_NE(three, nullptr);
  EXPECT_EQ(three->joint_rank(), family_->joint_rank());
  ExpectEqualBits(LowRankFingerprint(*three), LowRankFingerprint(*family_), "threads");
}

TEST_F(LowRankFamilyTest, EveryStageEndsWithCancellation) {
  for (const std::string cancelled_stage : {"compression", "factor"}) {
    const CancellationToken token;
    RunContext context(token, 1, nullptr);
    int after = 0;
    context.set_stage_callback([&](std::string_view stage, std::optional<double> fraction) {
      EXPECT_TRUE(fraction >= 0 && fraction <= 1) << stage << " " << fraction.value_or(-1);
      after += token.cancelled() ? 1 : 0;
      if (stage == cancelled_stage) {
        token.Cancel();
      }
    });
    const auto family = LowRankKernelFamily::Make(*training_, landmarks_, MixedKernels(),
                                                  ToleranceOf(0.0), context);
    EXPECT_TRUE(absl::IsCancelled(family.status())) << cancelled_stage << ": " << family.status();
    EXPECT_TRUE(token.cancelled()) << "stage " << cancelled_stage << " was never reported";
    EXPECT_EQ(after, 0) << "stages after cancellation in " << cancelled_stage;
  }
}

TEST_F(LowRankFamilyTest, EveryOperationEndsWithCancellation) {
  RunContext context = CancelledContext();
  const Vector a = Vector::Ones(kFamilyRows);
  const Vector weights = Vector::Ones(NumKernels());
  Matrix forms(NumKernels(), 1);
  Matrix products(kFamilyRows, NumKernels());
  Matrix product(kFamilyRows, 1);
  EXPECT_TRUE(absl::IsCancelled(family_->QuadraticForms(a, {}, forms, context)));
  EXPECT_TRUE(absl::IsCancelled(family_->Products(a, {}, {}, products, context)));
  EXPECT_TRUE(absl::IsCancelled(family_->CombinedProduct(weights, a, product, context)));
  EXPECT_TRUE(absl::IsCancelled(family_->Combine(weights, context).status()));
  EXPECT_TRUE(absl::IsCancelled(family_->Diagonals({}, products, context)));
  EXPECT_TRUE(absl::IsCancelled(family_->LandmarkCoefficients(weights, a, context).status()));
  EXPECT_TRUE(absl::IsCancelled(family_->FunctionScale(weights, a, context).status()));
}

TEST(LowRankFamilyErrorsTest, KernelsThatDoNotFitAreNamed) {
  auto data = MixedData(40, 2);
  data->blocks.push_back(MakeBlock("zero", RowMatrix::Zero(40, 2)));
  const Landmarks landmarks = EverySeventh(*data, 5);
  RunContext context;
  const auto status_of = [&](const KernelSpec& second) {
    return LowRankKernelFamily::Make(*data, landmarks,
                                     {MakeSpec(KernelType::kGaussian, "x"), second}, {}, context)
        .status();
  };
  const absl::Status unknown = status_of(MakeSpec(KernelType::kGaussian, "nowhere"));
  ASSERT_EQ(GetFieldViolations(unknown).size(), 1U) << unknown;
  EXPECT_EQ(GetFieldViolations(unknown)[0].field, "kernels[1].block");
  KernelSpec zero = MakeSpec(KernelType::kLinear, "zero");
  EXPECT_TRUE(status_of(zero).ok()) << "a kernel may be zero";
  zero.normalization.scaling = KernelScaling::kTrace;
  EXPECT_EQ(status_of(zero).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetReason(status_of(zero)), "ZERO_KERNEL") << status_of(zero);
}

TEST(LowRankFamilyErrorsTest, AKernelThatOverflowsAwayFromTheLandmarksIsNamed) {
  auto data = MixedData(40, 2);
  RowMatrix values = data->blocks[0].values.view();
  values(13, 0) = 1e17;
  data->blocks[0].values = SharedMatrix(values);
  KernelSpec polynomial = MakeSpec(KernelType::kPolynomial, "x");
  polynomial.degree = 20;
  const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kGaussian, "x"), polynomial};
  RunContext context;
  const absl::Status exact = MakeExactKernelFamily(data, {}, kernels, context).status();
  const absl::Status status =
      LowRankKernelFamily::Make(*data, EverySeventh(*data, 5), kernels, {}, context).status();
  EXPECT_EQ(GetReason(exact), "NOT_PSD") << exact;
  EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
  EXPECT_NE(status.message().find("kernels[1]"), std::string::npos) << status;
}

TEST(LowRankFamilyErrorsTest, ZeroKernelsAloneAreAFamilyOfRankZero) {
  auto data = BlockOf(RowMatrix::Zero(40, 2));
  const auto family =
      MakeLowRank(*data, EverySeventh(*data, 5), {MakeSpec(KernelType::kLinear, "x")}, 1e-8);
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(family->joint_rank(), 0);
  EXPECT_EQ(family->dropped_share(), 0.0);
  RunContext context;
  Matrix product = Matrix::Ones(40, 1);
  ASSERT_TRUE(family->CombinedProduct(Vector::Ones(1), Matrix::Ones(40, 1), product, context).ok());
  ExpectEqualBits(product, Matrix::Zero(40, 1), "product");
  const auto combined = family->Combine(Vector::Ones(1), context);
  ASSERT_TRUE(combined.ok()) << combined.status();
  ASSERT_TRUE((*combined)->Apply(Matrix::Ones(40, 1), product, context).ok());
  ExpectEqualBits(product, Matrix::Zero(40, 1), "operator");
}

}  // namespace
}  // namespace mercer
