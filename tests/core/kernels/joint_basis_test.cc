#include "core/kernels/lowrank/joint_basis.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

std::vector<KernelSpec> ManyWidths() {
  return GaussiansOfX({0.5, 0.8, 1.3, 2.0, 3.2, 5.0, 8.0, 20.0, 100.0});
}

// Features on landmarks, their values at all rows and the basis found for them.
struct Found {
  std::optional<NystromFeatures> features;
  Matrix values;  // features x rows
  JointBasis basis;
};

Found Find(const PreparedData& data, const Landmarks& landmarks,
           const std::vector<KernelSpec>& kernels, const JointBasisOptions& options,
           int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  Found found;
  auto features = NystromFeatures::Make(landmarks, kernels, {}, context);
  EXPECT_TRUE(features.ok()) << features.status();
  found.features = *std::move(features);
  found.values = AllFeatures(*found.features, data, context);
  auto basis = FindJointBasis(*found.features, data, options, context);
  EXPECT_TRUE(basis.ok()) << basis.status();
  found.basis = *std::move(basis);
  return found;
}

Landmarks EveryFifth(const PreparedData& data, Index count) {
  std::vector<Index> rows;
  for (Index i = 0; i < count; ++i) {
    rows.push_back(5 * i);
  }
  return LandmarksFromRows(data, rows);
}

// S: one entry for each feature.
Vector ScaleOfFeatures(const Found& found) {
  Vector scales(found.features->num_features());
  for (Index k = 0; k < found.features->num_kernels(); ++k) {
    const Index first = found.features->first_feature(k);
    scales.segment(first, found.features->first_feature(k + 1) - first)
        .setConstant(found.basis.scales(k));
  }
  return scales;
}

// What of the scaled features the basis leaves out, as a share of their squared norms; restored by its own matrices.
double ShareLeftOut(const Found& found) {
  const Vector scales = ScaleOfFeatures(found);
  const Matrix restored = found.basis.restore * (found.basis.reduce.transpose() * found.values);
  return (scales.asDiagonal() * (found.values - restored)).squaredNorm() /
         (scales.asDiagonal() * found.values).squaredNorm();
}

void ExpectOrthonormal(const Found& found, const std::string& what) {
  const Matrix basis = ScaleOfFeatures(found).asDiagonal() * found.basis.restore;
  ExpectMatrixNear(basis.transpose() * basis, Matrix::Identity(basis.cols(), basis.cols()), 1e-12,
                   what);
  ExpectMatrixNear(ScaleOfFeatures(found).asDiagonal() * basis, found.basis.reduce, 1e-14, what);
}

TEST(JointBasisTest, TheToleranceHoldsOnTheSampledRows) {
  const auto data = BlockOf(RandomRows(1000, 4, 1));
  Index before = 0;
  for (const double tolerance : {1e-2, 1e-4, 1e-6, 1e-8, 1e-10}) {
    const Found found = Find(*data, EveryFifth(*data, 40), ManyWidths(), {tolerance, 3});
    EXPECT_LE(ShareLeftOut(found), tolerance * (1 + 1e-6)) << tolerance;
    ExpectOrthonormal(found, "tolerance " + std::to_string(tolerance));
    EXPECT_GE(found.basis.reduce.cols(), before) << tolerance;
    before = found.basis.reduce.cols();
  }
  EXPECT_GT(before, 32) << "several panels";
}

// Of two kernels with one feature each that point the same way one direction in two has a trace.
TEST(JointBasisTest, AFewFeaturesOfOneDirectionAreFoundWithEverySeed) {
  const RowMatrix column = RandomRows(2, 1, 4);
  const auto data = BlockOf(column);
  std::vector<KernelSpec> kernels = GaussiansOfX({1.0, 1.0});
  for (KernelSpec& kernel : kernels) {
    kernel.type = KernelType::kLinear;
  }
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Found found = Find(*data, LandmarksFromRows(*data, {0, 1}), kernels, {1e-8, seed});
    EXPECT_EQ(found.basis.reduce.cols(), 1) << seed;
    EXPECT_LE(ShareLeftOut(found), 1e-12) << seed;
  }
}

// The best basis of as many columns is that of the largest singular values.
TEST(JointBasisTest, AFewColumnsMoreThanTheBestBasisSuffice) {
  const auto data = BlockOf(RandomRows(1000, 4, 1));
  const Found found = Find(*data, EveryFifth(*data, 40), ManyWidths(), {1e-6, 3});
  const Matrix scaled = ScaleOfFeatures(found).asDiagonal() * found.values;
  const Matrix moments = scaled * scaled.transpose();
  const Vector energies =
      Eigen::SelfAdjointEigenSolver<Matrix>(moments, Eigen::EigenvaluesOnly).eigenvalues();
  Index best = 0;
  double left = energies.sum();
  while (left > 1e-6 * energies.sum()) {
    left -= energies(energies.size() - 1 - best);
    ++best;
  }
  EXPECT_GE(found.basis.reduce.cols(), best);
  EXPECT_LE(found.basis.reduce.cols(), best + best / 2 + 32);
  EXPECT_LT(found.basis.reduce.cols(), found.features->num_features());
}

TEST(JointBasisTest, EveryKernelGetsTheSameMeanSquaredNorm) {
  const auto data = MixedData(300, 2);
  const Found found =
      Find(*data, EveryFifth(*data, 25),
           {MakeSpec(KernelType::kGaussian, "x"), MakeSpec(KernelType::kLinear, "wide"),
            MakeSpec(KernelType::kPolynomial, "x"), MakeSpec(KernelType::kPrecomputed, "K")},
           {1e-8, 1});
  for (Index k = 0; k < 4; ++k) {
    const Matrix scaled = found.basis.scales(k) * FeaturesOf(*found.features, found.values, k);
    EXPECT_NEAR(scaled.squaredNorm(), 300, 1e-9) << "kernel " << k;
  }
}

TEST(JointBasisTest, ToleranceZeroKeepsAllThatCanBeToldApart) {
  const auto data = MixedData(300, 3);
  for (const std::vector<KernelSpec>& kernels : {ManyWidths(), MixedKernels()}) {
    const Found found = Find(*data, EveryFifth(*data, 30), kernels, {0.0, 1});
    EXPECT_LE(ShareLeftOut(found), 1e-14);
    ExpectOrthonormal(found, "tolerance 0");
  }
}

TEST(JointBasisTest, RepeatedKernelsShareOneBasis) {
  const auto data = BlockOf(RandomRows(300, 6, 4));
  for (const double tolerance : {0.0, 1e-12, 1e-8}) {
    const Found found =
        Find(*data, EveryFifth(*data, 50), GaussiansOfX({1.0, 1.0, 1.0}), {tolerance, 1});
    EXPECT_EQ(found.features->num_features(), 150);
    EXPECT_LE(ShareLeftOut(found), std::max(1e-14, tolerance));
    ExpectOrthonormal(found, "repeated kernels");
    EXPECT_LE(found.basis.reduce.cols(), 50) << tolerance;
  }
  const Found constant = Find(*data, EveryFifth(*data, 5),
                              std::vector<KernelSpec>(40, GaussiansOfX({1e12})[0]), {0.0, 1});
  EXPECT_EQ(constant.basis.reduce.cols(), 1);
  EXPECT_LE(ShareLeftOut(constant), 1e-14);
}

TEST(JointBasisTest, AKernelOfSmallValuesIsKeptBesideALargeOne) {
  RowMatrix values = RandomRows(500, 4, 5);
  auto data = BlockOf(values);
  values *= 1000;
  data->blocks.push_back(MakeBlock("large", values));
  constexpr double kTolerance = 1e-5;
  const Found found =
      Find(*data, EveryFifth(*data, 40),
           {MakeSpec(KernelType::kLinear, "large"), MakeSpec(KernelType::kGaussian, "x", 1.5)},
           {kTolerance, 1});
  const Matrix restored = found.basis.restore * (found.basis.reduce.transpose() * found.values);
  for (Index k = 0; k < 2; ++k) {
    const Matrix of_kernel = FeaturesOf(*found.features, found.values, k);
    const Matrix error = FeaturesOf(*found.features, restored, k) - of_kernel;
    EXPECT_LE(error.squaredNorm(), 2 * kTolerance * of_kernel.squaredNorm()) << "kernel " << k;
  }
}

TEST(JointBasisTest, OneKernelIsReducedToWhatItsRowsNeed) {
  const auto data = BlockOf(RandomRows(400, 3, 6));
  const Found found = Find(*data, EveryFifth(*data, 50), GaussiansOfX({2.0}), {1e-8, 1});
  EXPECT_LE(ShareLeftOut(found), 1e-8);
  EXPECT_LE(found.basis.reduce.cols(), found.features->num_features());
  ExpectOrthonormal(found, "one kernel");
}

TEST(JointBasisTest, KernelsOfNoFeaturesAreLeftOut) {
  const auto data = BlockOf(RandomRows(60, 3, 7));
  data->blocks.push_back(MakeBlock("zero", RowMatrix::Zero(60, 2)));
  const KernelSpec zero = MakeSpec(KernelType::kLinear, "zero");
  const Found beside =
      Find(*data, EveryFifth(*data, 10), {zero, MakeSpec(KernelType::kGaussian, "x")}, {1e-8, 1});
  EXPECT_EQ(beside.basis.scales(0), 0.0);
  EXPECT_LE(ShareLeftOut(beside), 1e-8);
  const Found alone = Find(*data, EveryFifth(*data, 10), {zero, zero}, {1e-8, 1});
  EXPECT_EQ(alone.basis.reduce.cols(), 0);
  EXPECT_EQ(alone.basis.restore.rows(), 0);
}

// Rows at which all features of the first sample may be zero: scales of features that no sampled row has must stay finite.
TEST(JointBasisTest, FeaturesThatAreZeroOnTheRowsGiveNoBasis) {
  const auto data = BlockOf(RandomRows(40, 2, 8));
  const auto far = BlockOf(RowMatrix(RandomRows(10, 2, 9).array() + 1e6));
  const Found found =
      Find(*data, LandmarksFromRows(*far, {0, 1, 2}), GaussiansOfX({1.0}), {1e-8, 1});
  EXPECT_EQ(found.values.squaredNorm(), 0.0);
  EXPECT_TRUE(found.basis.reduce.allFinite() && found.basis.restore.allFinite());
}

TEST(JointBasisTest, RowsBeyondTheSampleAreKeptToo) {
  const auto data = BlockOf(RandomRows(7000, 3, 10));
  const Found found = Find(*data, EveryFifth(*data, 40), ManyWidths(), {1e-6, 1});
  EXPECT_LE(ShareLeftOut(found), 100e-6);
  ExpectOrthonormal(found, "beyond the sample");
}

// A kernel so narrow that each landmark is its own only neighbour: what it has is at the landmarks,
// few of which are among 3000 rows of 60,000.
TEST(JointBasisTest, LandmarksThatAreNotDrawnAreKept) {
  const auto data = BlockOf(RandomRows(60000, 6, 10));
  const Found found = Find(*data, EveryFifth(*data, 40), GaussiansOfX({0.02, 1.0, 3.0}), {1e-6, 1});
  EXPECT_LE(ShareLeftOut(found), 10e-6);
  // The scales are those of the mean squared norms of all rows.
  for (Index k = 0; k < 3; ++k) {
    const double mean = FeaturesOf(*found.features, found.values, k).squaredNorm() / 60000;
    EXPECT_NEAR(found.basis.scales(k) * std::sqrt(mean), 1, 0.05) << k;
  }
  const Vector weights = SampleWeights({0, 2, 3, 7}, {2}, 31);
  EXPECT_EQ(weights, (Vector{{1, 0.1, 1, 1}}));
}

TEST(JointBasisTest, TheSameBitsForEveryNumberOfThreadsAndOtherSeedsOthers) {
  const auto data = BlockOf(RandomRows(3300, 4, 11));
  const Landmarks landmarks = EveryFifth(*data, 40);
  const Found one = Find(*data, landmarks, ManyWidths(), {1e-6, 1}, 1);
  const Found three = Find(*data, landmarks, ManyWidths(), {1e-6, 1}, 3);
  ExpectEqualBits(three.basis.reduce, one.basis.reduce, "reduce");
  ExpectEqualBits(three.basis.restore, one.basis.restore, "restore");
  const Found other = Find(*data, landmarks, ManyWidths(), {1e-6, 2}, 1);
  EXPECT_GT((other.basis.reduce.col(0) - one.basis.reduce.col(0)).norm(), 1e-6);
}

TEST(JointBasisTest, SearchEndsWithCancellation) {
  const auto data = BlockOf(RandomRows(500, 4, 12));
  RunContext plain;
  const auto features = NystromFeatures::Make(EveryFifth(*data, 40), ManyWidths(), {}, plain);
  ASSERT_TRUE(features.ok()) << features.status();
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(FindJointBasis(*features, *data, {}, cancelled).status()));
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  int panels = 0;
  context.set_stage_callback([&](std::string_view stage, std::optional<double> fraction) {
    EXPECT_EQ(stage, "compression");
    EXPECT_TRUE(fraction >= 0 && fraction <= 1) << fraction.value_or(-1);
    if (++panels == 2) {
      token.Cancel();
    }
  });
  EXPECT_TRUE(absl::IsCancelled(FindJointBasis(*features, *data, {}, context).status()));
  EXPECT_EQ(panels, 2);
}

}  // namespace
}  // namespace mercer
