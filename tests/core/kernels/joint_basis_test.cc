#include "core/kernels/lowrank/joint_basis.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
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
  auto basis = FindJointBasis(*found.features, IndexRange(0, found.features->num_kernels()), data,
                              options, context);
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

// q at all rows: chosen features, scaled.
Matrix Joint(const Found& found) {
  return (ScaleOfFeatures(found).asDiagonal() * found.values)(found.basis.features, Eigen::all);
}

// What of the scaled features the basis leaves out at all rows.
Matrix LeftOut(const Found& found) {
  const Vector scales = ScaleOfFeatures(found);
  return scales.asDiagonal() * (found.values - found.basis.restore * Joint(found));
}

// The same as a share of their squared norms.
double ShareLeftOut(const Found& found) {
  return LeftOut(found).squaredNorm() /
         (ScaleOfFeatures(found).asDiagonal() * found.values).squaredNorm();
}

// The chosen features, ascending, stand for themselves, and no feature needs large multiples of them.
void ExpectStable(const Found& found, const std::string& what) {
  const std::vector<Index>& chosen = found.basis.features;
  EXPECT_TRUE(std::adjacent_find(chosen.begin(), chosen.end(), std::greater_equal<>()) ==
              chosen.end())
      << what;
  const Matrix fit = ScaleOfFeatures(found).asDiagonal() * found.basis.restore;
  ExpectMatrixNear(fit(chosen, Eigen::all), Matrix::Identity(fit.cols(), fit.cols()), 1e-15, what);
  EXPECT_LE(fit.cwiseAbs().maxCoeff(), 10) << what;
}

TEST(JointBasisTest, TheToleranceHoldsOnTheSampledRows) {
  const auto data = BlockOf(RandomRows(1000, 4, 1));
  Index before = 0;
  for (const double tolerance : {1e-2, 1e-4, 1e-6, 1e-8, 1e-10}) {
    const Found found = Find(*data, EveryFifth(*data, 40), ManyWidths(), {tolerance, 3});
    EXPECT_LE(ShareLeftOut(found), tolerance * (1 + 1e-6)) << tolerance;
    ExpectStable(found, "tolerance " + std::to_string(tolerance));
    EXPECT_NEAR(found.basis.left_out, ShareLeftOut(found), 1e-6 * tolerance + 1e-15);
    EXPECT_GE(found.basis.restore.cols(), before) << tolerance;
    before = found.basis.restore.cols();
  }
  EXPECT_GT(before, 32) << "several panels";
}

// What is left out is orthogonal to what is kept, over the rows of the sample: these are all rows.
// Narrow kernels, of which forty landmarks lose most, have more left out of them, and wide ones do not.
TEST(JointBasisTest, OfWhatFeaturesLoseAShareMayBeDroppedBesides) {
  constexpr double kTolerance = 1e-9;
  constexpr double kOfLost = 1e-3;
  const auto data = BlockOf(RandomRows(1000, 4, 1));
  const Landmarks landmarks = EveryFifth(*data, 40);
  const Found equal = Find(*data, landmarks, ManyWidths(), {kTolerance, 3});
  const Found found = Find(*data, landmarks, ManyWidths(),
                           {.tolerance = kTolerance, .seed = 3, .tolerance_of_lost = kOfLost});
  EXPECT_LT(found.basis.features.size(), 0.9 * static_cast<double>(equal.basis.features.size()));
  const Matrix left_out = LeftOut(found);
  const Matrix fit = ScaleOfFeatures(found).asDiagonal() * found.basis.restore;
  double share = 0;  // of what may be dropped, in the mean
  double most = 0;
  for (Index k = 0; k < found.features->num_kernels(); ++k) {
    const Index first = found.features->first_feature(k);
    const Index count = found.features->first_feature(k + 1) - first;
    const double kept = found.values.middleRows(first, count).squaredNorm();
    const double scale = found.basis.scales(k);
    const double dropped = left_out.middleRows(first, count).squaredNorm() / (scale * scale * kept);
    const double lost = 1 - kept / 1000;  // of the values 1 of rows with themselves
    share += dropped / std::max(kTolerance, kOfLost * lost) / 9;
    most = std::max(most, dropped);
    if (k == 8) {
      EXPECT_LT(lost, 1e-6);
      EXPECT_LE(dropped, kTolerance);
      EXPECT_LE(fit.middleRows(first, count).cwiseAbs().maxCoeff(), 10);
    }
  }
  EXPECT_LE(share, 0.2);
  EXPECT_GT(most, 100 * kTolerance);
  ExpectMatrixNear(Find(*data, landmarks, ManyWidths(),
                        {.tolerance = 0, .seed = 3, .tolerance_of_lost = kOfLost})
                       .basis.restore,
                   Find(*data, landmarks, ManyWidths(), {0, 3}).basis.restore, 0, "tolerance 0");
}

TEST(JointBasisTest, OtherFeaturesAreFittedByLeastSquares) {
  const auto data = BlockOf(RandomRows(1000, 4, 1));
  for (const double tolerance : {1e-3, 1e-6}) {
    const Found found = Find(*data, EveryFifth(*data, 40), ManyWidths(), {tolerance, 3});
    const Matrix left = LeftOut(found);
    const Matrix joint = Joint(found);
    EXPECT_GT(left.norm(), 0.1 * std::sqrt(tolerance) * found.values.norm());
    EXPECT_LE((left * joint.transpose()).cwiseAbs().maxCoeff(), 1e-10 * 1000) << tolerance;
  }
}

// Of kernels that are preferred come all features, where those suffice for the others.
TEST(JointBasisTest, FeaturesOfPreferredKernelsAreChosenFirst) {
  const auto data = BlockOf(RandomRows(1000, 3, 1));
  RunContext context;
  const auto features = NystromFeatures::Make(EveryFifth(*data, 30),
                                              GaussiansOfX({2.0, 2.1, 2.2, 2.3, 0.1}), {}, context);
  ASSERT_TRUE(features.ok()) << features.status();
  const auto of = [&](const std::vector<Index>& preferred) {
    const auto basis = FindJointBasis(*features, preferred, *data, {1e-8, 3}, context);
    EXPECT_TRUE(basis.ok()) << basis.status();
    return *basis;
  };
  const JointBasis near = of({0, 3, 4});
  EXPECT_LE(near.left_out, 50e-8);
  for (const Index i : near.features) {
    EXPECT_TRUE(i < features->first_feature(1) || i >= features->first_feature(3)) << i;
  }
  // The narrow kernel does not follow from the others.
  const JointBasis lacking = of({0, 3});
  EXPECT_LE(lacking.left_out, 50e-8);
  EXPECT_GE(lacking.features.back(), features->first_feature(4));
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
    EXPECT_EQ(found.basis.restore.cols(), 1) << seed;
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
  EXPECT_GE(found.basis.restore.cols(), best);
  EXPECT_LE(found.basis.restore.cols(), best + best / 2 + 32);
  EXPECT_LT(found.basis.restore.cols(), found.features->num_features());
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
    ExpectStable(found, "tolerance 0");
  }
}

TEST(JointBasisTest, RepeatedKernelsShareOneBasis) {
  const auto data = BlockOf(RandomRows(300, 6, 4));
  for (const double tolerance : {0.0, 1e-12, 1e-8}) {
    const Found found =
        Find(*data, EveryFifth(*data, 50), GaussiansOfX({1.0, 1.0, 1.0}), {tolerance, 1});
    EXPECT_EQ(found.features->num_features(), 150);
    EXPECT_LE(ShareLeftOut(found), std::max(1e-14, tolerance));
    ExpectStable(found, "repeated kernels");
    EXPECT_LE(found.basis.restore.cols(), 50) << tolerance;
  }
  const Found constant = Find(*data, EveryFifth(*data, 5),
                              std::vector<KernelSpec>(40, GaussiansOfX({1e12})[0]), {0.0, 1});
  EXPECT_EQ(constant.basis.restore.cols(), 1);
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
  const Matrix restored = found.basis.restore * Joint(found);
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
  EXPECT_LE(found.basis.restore.cols(), found.features->num_features());
  ExpectStable(found, "one kernel");
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
  EXPECT_EQ(alone.basis.restore.cols(), 0);
  EXPECT_EQ(alone.basis.restore.rows(), 0);
}

// Rows at which all features of the first sample may be zero: scales of features that no sampled row has must stay finite.
TEST(JointBasisTest, FeaturesThatAreZeroOnTheRowsGiveNoBasis) {
  const auto data = BlockOf(RandomRows(40, 2, 8));
  const auto far = BlockOf(RowMatrix(RandomRows(10, 2, 9).array() + 1e6));
  const Found found =
      Find(*data, LandmarksFromRows(*far, {0, 1, 2}), GaussiansOfX({1.0}), {1e-8, 1});
  EXPECT_EQ(found.values.squaredNorm(), 0.0);
  EXPECT_TRUE(found.basis.restore.allFinite());
}

TEST(JointBasisTest, RowsBeyondTheSampleAreKeptToo) {
  const auto data = BlockOf(RandomRows(7000, 3, 10));
  const Found found = Find(*data, EveryFifth(*data, 40), ManyWidths(), {1e-6, 1});
  EXPECT_LE(ShareLeftOut(found), 100e-6);
  ExpectStable(found, "beyond the sample");
}

// A fit to no more rows than it has columns goes through all of them and says nothing of others.
TEST(JointBasisTest, ASampleHasMoreRowsThanTheBasisColumns) {
  for (const Index columns : {1, 2500, 4000, 1'000'000}) {
    EXPECT_GE(JointSampleRows(columns), columns + columns / 2) << columns;
  }
  EXPECT_GT(JointSampleRows(std::numeric_limits<Index>::max()), 0);
}

// Rows far from all others, a few in every sample: the first sample has too few of them to fit the
// features there, so that fresh ones add theirs.
TEST(JointBasisTest, RowsThatAFreshSampleIsKeptWorseOnAreAdded) {
  RowMatrix rows = RandomRows(20000, 3, 12);
  for (Index i = 3; i < rows.rows(); i += 300) {
    rows.row(i) *= 8.0;
  }
  const auto data = BlockOf(rows);
  const Landmarks landmarks = EveryFifth(*data, 40);
  const Found found = Find(*data, landmarks, ManyWidths(), {1e-8, 1});
  EXPECT_GT(found.basis.sampled.size(), 3000 + landmarks.rows.size());
  EXPECT_LE(found.basis.left_out, 1e-8);
  const Matrix left = LeftOut(found);
  const Vector energies = left.colwise().squaredNorm();
  const double total = (ScaleOfFeatures(found).asDiagonal() * found.values).squaredNorm();
  EXPECT_LE(energies(found.basis.sampled).sum(), 1e-8 * total);  // of all that were added, too
  EXPECT_LE(energies.sum(), 1e-4 * total);
  ExpectStable(found, "with rows of fresh samples");
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
  EXPECT_EQ(three.basis.features, one.basis.features);
  ExpectEqualBits(three.basis.restore, one.basis.restore, "restore");
  const Found other = Find(*data, landmarks, ManyWidths(), {1e-6, 2}, 1);
  EXPECT_NE(other.basis.features, one.basis.features);
}

TEST(JointBasisTest, SearchEndsWithCancellation) {
  const auto data = BlockOf(RandomRows(500, 4, 12));
  RunContext plain;
  const auto features = NystromFeatures::Make(EveryFifth(*data, 40), ManyWidths(), {}, plain);
  ASSERT_TRUE(features.ok()) << features.status();
  const std::vector<Index> all = IndexRange(0, features->num_kernels());
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(FindJointBasis(*features, all, *data, {}, cancelled).status()));
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
  EXPECT_TRUE(absl::IsCancelled(FindJointBasis(*features, all, *data, {}, context).status()));
  EXPECT_EQ(panels, 2);
}

}  // namespace
}  // namespace mercer
