// Kernels of many widths on one joint basis: some stand for the others.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/kernels/lowrank/fit_probes.h"
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

class ManyWidthsTest : public testing::Test {
 protected:
  void SetUp() override {
    data_ = BlockOf(RandomRows(kManyRows, 3, 11));
    landmarks_ = SpreadLandmarks(*data_);
    auto features = NystromFeatures::Make(landmarks_, FineGrid(), {}, context_);
    ASSERT_TRUE(features.ok());
    features_ = *std::move(features);
    kernels_ = *RepresentativeKernels(FineGrid(), *data_, 1e-8, context_);
    ASSERT_LT(kernels_.size(), FineGrid().size() / 2);
    auto basis = FindJointBasis(*features_, kernels_, *data_, {1e-8, 5}, context_);
    ASSERT_TRUE(basis.ok());
    basis_ = *std::move(basis);
    selected_ = features_->Select(basis_.features, basis_.scales);
  }

  RunContext context_;
  std::shared_ptr<PreparedData> data_;
  Landmarks landmarks_;
  std::vector<Index> kernels_;
  std::optional<NystromFeatures> features_;
  std::optional<NystromFeatures> selected_;
  JointBasis basis_;
};

TEST_F(ManyWidthsTest, SelectedFeaturesAreThoseOfTheKernelsScaled) {
  const Matrix all = AllFeatures(*features_, *data_, context_);
  const Matrix some = AllFeatures(*selected_, *data_, context_);
  ASSERT_EQ(selected_->num_kernels(), features_->num_kernels());
  Index next = 0;
  for (Index k = 0; k < features_->num_kernels(); ++k) {
    EXPECT_EQ(selected_->first_feature(k), next) << k;
    for (Index i = features_->first_feature(k); i < features_->first_feature(k + 1); ++i) {
      if (std::binary_search(basis_.features.begin(), basis_.features.end(), i)) {
        // Entries of the maps, and so the rounding of products with them, go up to 1e5.
        ExpectMatrixNear(some.row(next++), basis_.scales(k) * all.row(i), 1e-10, std::to_string(i));
      }
    }
  }
  const auto evaluated = selected_->EvaluateAll(*data_, context_);
  ASSERT_TRUE(evaluated.ok());
  ExpectEqualBits(*evaluated, some, "all rows at once");
}

// Of many seeds the mean is what is lost, and hardly one is less than a tenth of it: at all rows,
// and at ten that the fit has never seen.
TEST_F(ManyWidthsTest, ProbesTellWhatTheFitLosesAtAnyRows) {
  constexpr int kSeeds = 60;
  for (const Index count : {Index{10}, Index{500}}) {
    const PreparedData rows = SelectRows(*data_, IndexRange(0, count));
    const Matrix joint = AllFeatures(*selected_, rows, context_);
    const Matrix left = AllFeatures(*features_, rows, context_) - basis_.restore * joint;
    double exact = 0;
    for (Index k = 0; k < features_->num_kernels(); ++k) {
      exact += (basis_.scales(k) * FeaturesOf(*features_, left, k)).squaredNorm() /
               static_cast<double>(features_->num_kernels());
    }
    double mean = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto probes =
          FitProbes::Make(*features_, basis_.restore, basis_.scales, seed, context_);
      ASSERT_TRUE(probes.ok()) << probes.status();
      Matrix sums = FitProbes::Start(count);
      for (Index k = 0; k < features_->num_kernels(); ++k) {
        const Matrix values =
            NaiveCross(FineGrid()[static_cast<size_t>(k)], rows, *landmarks_.data, {}).transpose();
        probes->AddKernel(
            k,
            CrossValues(values.data(), kFewLandmarks, count, Eigen::OuterStride<>(kFewLandmarks)),
            sums, context_);
      }
      const double lost = probes->LostEnergy(joint, sums, context_);
      EXPECT_GT(lost, 0.1 * exact) << seed;
      mean += lost / kSeeds;
    }
    EXPECT_NEAR(mean, exact, 0.25 * exact) << count;
  }
}

// Its kernels are those of the definition, though few have features of their own in the basis.
TEST_F(ManyWidthsTest, AFamilyOfManyWidthsHasTheKernelsOfItsLandmarks) {
  LowRankOptions options;
  const auto family = LowRankKernelFamily::Make(*data_, landmarks_, FineGrid(), options, context_);
  ASSERT_TRUE(family.ok()) << family.status();
  const std::vector<Index> used = (*family)->basis_kernels();
  EXPECT_TRUE(std::includes(kernels_.begin(), kernels_.end(), used.begin(), used.end()));
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
    // Features are fitted and not projected, so that values differ by the root of what is lost: of
    // the kernels whose features are chosen first, a tenth of 1e-8, and fifty times that of others.
    const bool preferred = std::find(kernels_.begin(), kernels_.end(), k) != kernels_.end();
    EXPECT_LE((products.col(k) - expected).norm(), (preferred ? 2e-4 : 5e-3) * expected.norm())
        << k;
    EXPECT_LE((diagonals.col(k) - diagonal).lpNorm<1>(), (preferred ? 4e-5 : 5e-4) * diagonal.sum())
        << k;
  }
}

TEST_F(ManyWidthsTest, AModelNeedsTheLandmarksOfTheKernelsOfTheBasisOnly) {
  const auto family = LowRankKernelFamily::Make(*data_, landmarks_, FineGrid(), {}, context_);
  ASSERT_TRUE(family.ok()) << family.status();
  const Vector weights = Vector::LinSpaced(features_->num_kernels(), 0.1, 1.0);
  const Vector dual = UniformMatrix(kManyRows, 1, 4);
  const auto coefficients = (*family)->LandmarkCoefficients(weights, dual, context_);
  ASSERT_TRUE(coefficients.ok());
  Vector values = Vector::Zero(kManyRows);
  for (Index k = 0; k < features_->num_kernels(); ++k) {
    const bool preferred = std::find(kernels_.begin(), kernels_.end(), k) != kernels_.end();
    const Vector& of_kernel = (*coefficients)[static_cast<size_t>(k)];
    EXPECT_TRUE(preferred || of_kernel.size() == 0) << k;
    if (of_kernel.size() > 0) {
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

// Two clusters so far apart that no width reaches from one to the other.
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
