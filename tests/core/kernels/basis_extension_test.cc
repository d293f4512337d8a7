#include "core/kernels/lowrank/basis_extension.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <Eigen/QR>
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/kernels/lowrank/low_rank_family.h"
#include "core/kernels/lowrank/representative_kernels.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

constexpr Index kManyRows = 9000;
constexpr Index kFewLandmarks = 20;

std::vector<KernelSpec> FineGrid() {
  std::vector<double> widths;
  for (int i = 0; i < 25; ++i) {
    widths.push_back(0.7 * std::pow(1.09, i));
  }
  return GaussiansOfX(widths);
}

Landmarks SpreadLandmarks(const PreparedData& data) {
  std::vector<Index> rows;
  for (Index i = 0; i < kFewLandmarks; ++i) {
    rows.push_back(190 * i);
  }
  return LandmarksFromRows(data, rows);
}

class BasisExtensionTest : public testing::Test {
 protected:
  void SetUp() override {
    data_ = BlockOf(RandomRows(kManyRows, 3, 11));
    landmarks_ = SpreadLandmarks(*data_);
    auto features = NystromFeatures::Make(landmarks_, FineGrid(), {}, context_);
    ASSERT_TRUE(features.ok());
    features_ = *std::move(features);
    kernels_ = *RepresentativeKernels(FineGrid(), *data_, 1e-8, context_);
    ASSERT_LT(kernels_.size(), FineGrid().size() / 2);
    auto selected = features_->Select(kernels_, context_);
    ASSERT_TRUE(selected.ok());
    selected_ = *std::move(selected);
    auto basis = FindJointBasis(*selected_, *data_, {1e-8, 5}, context_);
    ASSERT_TRUE(basis.ok());
    basis_ = *std::move(basis);
  }

  // q at the rows of `data`, one per row.
  Matrix Joint(const PreparedData& data) {
    return AllFeatures(*selected_, data, context_).transpose() * basis_.reduce;
  }

  // Of the rows of the sample: a landmark stands for itself, another row for all that were not drawn.
  Vector RootsOfWeights() const {
    const auto count = static_cast<double>(basis_.sampled.size());
    Vector roots = Vector::Ones(static_cast<Index>(basis_.sampled.size()));
    Index landmarks = 0;
    for (size_t i = 0; i < basis_.sampled.size(); ++i) {
      if (basis_.sampled[i] % 190 == 0 && basis_.sampled[i] < 190 * kFewLandmarks) {
        roots(static_cast<Index>(i)) =
            std::sqrt((count - kFewLandmarks) / (kManyRows - kFewLandmarks));
        ++landmarks;
      }
    }
    EXPECT_EQ(landmarks, kFewLandmarks);
    return roots;
  }

  RunContext context_;
  std::shared_ptr<PreparedData> data_;
  Landmarks landmarks_;
  std::vector<Index> kernels_;
  std::optional<NystromFeatures> features_;
  std::optional<NystromFeatures> selected_;
  JointBasis basis_;
};

TEST_F(BasisExtensionTest, SelectedFeaturesAreThoseOfTheKernels) {
  const Matrix all = AllFeatures(*features_, *data_, context_);
  const Matrix some = AllFeatures(*selected_, *data_, context_);
  for (size_t j = 0; j < kernels_.size(); ++j) {
    ExpectEqualBits(FeaturesOf(*selected_, some, static_cast<Index>(j)),
                    FeaturesOf(*features_, all, kernels_[j]), std::to_string(j));
  }
  const auto evaluated = selected_->EvaluateAll(*data_, context_);
  ASSERT_TRUE(evaluated.ok());
  ExpectEqualBits(*evaluated, some, "all rows at once");
}

TEST_F(BasisExtensionTest, OtherKernelsAreFittedByLeastSquares) {
  const auto extension = ExtendBasis(*features_, kernels_, basis_, *data_, 5, context_);
  ASSERT_TRUE(extension.ok()) << extension.status();
  const PreparedData sampled = SelectRows(*data_, basis_.sampled);
  const Vector roots = RootsOfWeights();
  const Matrix joint = roots.asDiagonal() * Joint(sampled);
  const Matrix values = AllFeatures(*features_, sampled, context_) * roots.asDiagonal();
  const Eigen::HouseholderQR<Matrix> qr(joint);
  double share = 0;
  Index others = 0;
  for (Index k = 0; k < features_->num_kernels(); ++k) {
    const Matrix of_kernel = FeaturesOf(*features_, values, k).transpose();
    const Matrix restore = FeaturesOf(*features_, extension->restore, k);
    const double energy = of_kernel.squaredNorm();
    const double lost = (of_kernel - joint * restore.transpose()).squaredNorm();
    if (std::find(kernels_.begin(), kernels_.end(), k) != kernels_.end()) {
      continue;
    }
    const double least = (of_kernel - joint * qr.solve(of_kernel)).squaredNorm();
    EXPECT_LE(lost, least + 1e-12 * energy) << k;
    share += lost / energy;
    ++others;
  }
  EXPECT_EQ(others, features_->num_kernels() - static_cast<Index>(kernels_.size()));
  share /= static_cast<double>(others);
  EXPECT_NEAR(extension->fitted_share, share, 1e-3 * share + 1e-13);
  EXPECT_LE(extension->fitted_share, 1e-7);
}

// The sum over `rows` of what of each fitted kernel is lost, as shares of the kernels' mean energies
// at the rows of the fit, whose features, times the roots of their shares of all weights, are
// `sampled`; in the mean over these kernels.
double LostShares(const NystromFeatures& fitted, const Matrix& restore, const Matrix& joint,
                  const Matrix& values, const Matrix& sampled) {
  double sum = 0;
  for (Index k = 0; k < fitted.num_kernels(); ++k) {
    const Matrix lost =
        FeaturesOf(fitted, values, k) - FeaturesOf(fitted, restore, k) * joint.transpose();
    sum += lost.squaredNorm() / FeaturesOf(fitted, sampled, k).squaredNorm();
  }
  return sum / static_cast<double>(fitted.num_kernels());
}

// Of many seeds the mean is what is lost, and hardly one is less than a tenth of it: at all rows,
// and at ten that the fit has never seen.
TEST_F(BasisExtensionTest, ProbesTellWhatTheFitLosesAtAnyRows) {
  std::vector<Index> others;
  for (Index k = 0; k < features_->num_kernels(); ++k) {
    if (std::find(kernels_.begin(), kernels_.end(), k) == kernels_.end()) {
      others.push_back(k);
    }
  }
  const auto fitted = features_->Select(others, context_);
  ASSERT_TRUE(fitted.ok());
  const auto extension = ExtendBasis(*features_, kernels_, basis_, *data_, 5, context_);
  ASSERT_TRUE(extension.ok()) << extension.status();
  Matrix restore(fitted->num_features(), basis_.reduce.cols());
  for (size_t j = 0; j < others.size(); ++j) {
    const auto k = static_cast<Index>(j);
    restore.middleRows(fitted->first_feature(k),
                       fitted->first_feature(k + 1) - fitted->first_feature(k)) =
        FeaturesOf(*features_, extension->restore, others[j]);
  }
  const Vector roots = RootsOfWeights();
  const Matrix sampled = AllFeatures(*fitted, SelectRows(*data_, basis_.sampled), context_) *
                         roots.asDiagonal() / roots.norm();
  Vector energies(fitted->num_kernels());
  for (Index k = 0; k < energies.size(); ++k) {
    energies(k) = FeaturesOf(*fitted, sampled, k).squaredNorm();
  }
  constexpr int kSeeds = 60;
  for (const Index count : {Index{10}, Index{500}}) {
    const PreparedData rows = SelectRows(*data_, IndexRange(0, count));
    const Matrix joint = Joint(rows);
    const double exact =
        LostShares(*fitted, restore, joint, AllFeatures(*fitted, rows, context_), sampled);
    double mean = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto probes = FitProbes::Make(*fitted, restore, energies, seed, context_);
      ASSERT_TRUE(probes.ok()) << probes.status();
      const auto bound = probes->Bind(rows, context_);
      ASSERT_TRUE(bound.ok()) << bound.status();
      const double share = probes->LostShares(*bound, 0, count, joint.transpose(), context_);
      EXPECT_GT(share, 0.1 * exact) << seed;
      mean += share / kSeeds;
    }
    EXPECT_NEAR(mean, exact, 0.25 * exact) << count;
  }
}

TEST_F(BasisExtensionTest, KernelsOfTheBasisKeepTheirOwn) {
  const auto extension = ExtendBasis(*features_, kernels_, basis_, *data_, 5, context_);
  ASSERT_TRUE(extension.ok()) << extension.status();
  for (size_t j = 0; j < kernels_.size(); ++j) {
    ExpectEqualBits(FeaturesOf(*features_, extension->restore, kernels_[j]),
                    FeaturesOf(*selected_, basis_.restore, static_cast<Index>(j)),
                    std::to_string(j));
  }
}

TEST_F(BasisExtensionTest, TheSameBitsForEveryNumberOfThreads) {
  RunContext three = ContextOfThreads(3);
  const auto one = ExtendBasis(*features_, kernels_, basis_, *data_, 5, context_);
  const auto other = ExtendBasis(*features_, kernels_, basis_, *data_, 5, three);
  ASSERT_TRUE(one.ok() && other.ok());
  ExpectEqualBits(one->restore, other->restore, "restore");
  EXPECT_EQ(one->fitted_share, other->fitted_share);
}

TEST_F(BasisExtensionTest, Cancelled) {
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(
      absl::IsCancelled(ExtendBasis(*features_, kernels_, basis_, *data_, 5, cancelled).status()));
}

// The family takes this way of itself for many widths and rows: its kernels are those of the definition all the same.
TEST_F(BasisExtensionTest, AFamilyOfManyWidthsHasTheKernelsOfItsLandmarks) {
  LowRankOptions options;
  const auto family = LowRankKernelFamily::Make(*data_, landmarks_, FineGrid(), options, context_);
  ASSERT_TRUE(family.ok()) << family.status();
  EXPECT_EQ((*family)->basis_kernels(), kernels_);
  EXPECT_EQ((*family)->num_kernels(), features_->num_kernels());
  EXPECT_EQ((*family)->num_features(), features_->num_features());
  EXPECT_GT((*family)->dropped_share(), 0.0);
  EXPECT_LE((*family)->dropped_share(), 1e-6);
  const Vector a = UniformMatrix(kManyRows, 1, 3);
  Matrix products(kManyRows, features_->num_kernels());
  ASSERT_TRUE((*family)->Products(a, {}, {}, products, context_).ok());
  Matrix diagonals(kManyRows, features_->num_kernels());
  ASSERT_TRUE((*family)->Diagonals({}, diagonals, context_).ok());
  const Matrix values = AllFeatures(*features_, *data_, context_);
  for (Index k = 0; k < features_->num_kernels(); ++k) {
    const Matrix of_kernel = FeaturesOf(*features_, values, k);
    const Vector expected = of_kernel.transpose() * (of_kernel * a);
    const Vector diagonal = of_kernel.colwise().squaredNorm();
    // What a projection leaves out counts by its square, an error of the fit itself.
    const bool projected = std::find(kernels_.begin(), kernels_.end(), k) != kernels_.end();
    EXPECT_LE((products.col(k) - expected).norm(), (projected ? 1e-4 : 5e-3) * expected.norm())
        << k;
    EXPECT_LE((diagonals.col(k) - diagonal).lpNorm<1>(), (projected ? 1e-5 : 5e-4) * diagonal.sum())
        << k;
  }
}

TEST_F(BasisExtensionTest, AModelNeedsTheLandmarksOfTheKernelsOfTheBasisOnly) {
  const auto family = LowRankKernelFamily::Make(*data_, landmarks_, FineGrid(), {}, context_);
  ASSERT_TRUE(family.ok()) << family.status();
  const Vector weights = Vector::LinSpaced(features_->num_kernels(), 0.1, 1.0);
  const Vector dual = UniformMatrix(kManyRows, 1, 4);
  const auto coefficients = (*family)->LandmarkCoefficients(weights, dual, context_);
  ASSERT_TRUE(coefficients.ok());
  Vector values = Vector::Zero(kManyRows);
  for (Index k = 0; k < features_->num_kernels(); ++k) {
    const bool used = std::find(kernels_.begin(), kernels_.end(), k) != kernels_.end();
    const Vector& of_kernel = (*coefficients)[static_cast<size_t>(k)];
    EXPECT_EQ(of_kernel.size(), used ? landmarks_.data->rows : 0) << k;
    if (used) {
      EXPECT_FALSE(of_kernel.isZero(0)) << k;
      values +=
          NaiveCross(FineGrid()[static_cast<size_t>(k)], *data_, *landmarks_.data, {}) * of_kernel;
    }
  }
  Matrix expected(kManyRows, 1);
  ASSERT_TRUE((*family)->CombinedProduct(weights, dual, expected, context_).ok());
  const auto scale = (*family)->FunctionScale(weights, dual, context_);
  ASSERT_TRUE(scale.ok());
  EXPECT_LE((values - expected.col(0)).cwiseAbs().maxCoeff(), 1e-6 * *scale);
}

TEST(LowRankFamilyBasisTest, FewRowsUseAllKernels) {
  const auto data = BlockOf(RandomRows(3999, 3, 11));
  RunContext context;
  const auto family =
      LowRankKernelFamily::Make(*data, SpreadLandmarks(*data), FineGrid(), {}, context);
  ASSERT_TRUE(family.ok());
  EXPECT_EQ((*family)->basis_kernels().size(), FineGrid().size());
}

// Rows that overflow a kernel among many that stand for others: that kernel is named, whichever step meets them first.
TEST(LowRankFamilyBasisTest, AKernelThatOverflowsIsNamed) {
  RowMatrix rows = RandomRows(4500, 3, 13);
  rows.bottomRows(2000).array() *= 1e200;
  const auto data = BlockOf(rows);
  std::vector<KernelSpec> kernels = FineGrid();
  kernels.insert(kernels.begin() + 7, MakeSpec(KernelType::kLinear, "x"));
  const std::vector<Index> landmarks = IndexRange(0, 20);
  RunContext context;
  const absl::Status status =
      LowRankKernelFamily::Make(*data, LandmarksFromRows(*data, landmarks), kernels, {}, context)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("kernels[7]"), std::string::npos) << status;
}

// A landmark of a few rows among many thousands, which no sample draws: what is lost of them is told,
// since it is summed over all rows.
TEST(LowRankFamilyBasisTest, WhatIsLostOfAFewRowsUnlikeAllOthersIsTold) {
  const std::vector<Index> unlike = {190, 17001, 29995};
  RowMatrix rows = RandomRows(40000, 3, 14);
  for (const Index i : unlike) {
    rows.row(i).array() += 60;
  }
  const auto data = BlockOf(rows);
  const Landmarks landmarks = SpreadLandmarks(*data);
  RunContext context;
  for (const std::vector<KernelSpec>& kernels : {FineGrid(), GaussiansOfX({0.8, 2.0, 5.0})}) {
    const auto family = LowRankKernelFamily::Make(*data, landmarks, kernels, {}, context);
    ASSERT_TRUE(family.ok()) << family.status();
    const auto features = NystromFeatures::Make(landmarks, kernels, {}, context);
    ASSERT_TRUE(features.ok()) << features.status();
    const Matrix values = AllFeatures(*features, *data, context);
    Matrix diagonals(rows.rows(), features->num_kernels());
    ASSERT_TRUE((*family)->Diagonals({}, diagonals, context).ok());
    double lost = 0;
    for (Index k = 0; k < features->num_kernels(); ++k) {
      const Vector energies = FeaturesOf(*features, values, k).colwise().squaredNorm();
      for (const Index i : unlike) {
        lost += (energies(i) - diagonals(i, k)) / energies.sum();
      }
    }
    lost /= static_cast<double>(features->num_kernels());
    EXPECT_GT(lost, 1e-6);  // no sample has drawn them
    EXPECT_GT((*family)->dropped_share(), 0.5 * lost);
  }
}

// Two clusters so far apart that no width reaches from one to the other: widths in
// between still follow from their neighbours, or the family uses all.
TEST(LowRankFamilyBasisTest, ClustersFarApart) {
  RowMatrix rows = RandomRows(9000, 3, 12);
  for (Index i = 0; i < rows.rows(); i += 2) {
    rows.row(i).array() += 1e4;
  }
  const auto data = BlockOf(rows);
  RunContext context;
  const auto family =
      LowRankKernelFamily::Make(*data, SpreadLandmarks(*data), FineGrid(), {}, context);
  ASSERT_TRUE(family.ok());
  EXPECT_LE((*family)->dropped_share(), 1e-5);
}

}  // namespace
}  // namespace mercer
