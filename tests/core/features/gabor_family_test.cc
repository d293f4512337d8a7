#include "core/features/gabor_family.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/features/candidate_scan.h"
#include "tests/core/features/feature_test_data.h"
#include "tests/support/field_violation.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

FeatureFamilySpec Gabor(std::vector<PatchPosition> positions = {}) {
  FeatureFamilySpec spec;
  spec.kind = FeatureFamilyKind::kGabor;
  spec.subtract_patch_mean = false;
  spec.positions = std::move(positions);
  return spec;
}

TEST(GaborFamilyTest, ValuesAreTheReferences) {
  const nlohmann::json fixture =
      ReadFixtureFile("infinite-features/11_features_and_violation.json")["gabor"];
  std::vector<PatchPosition> positions;
  for (const nlohmann::json& position : fixture["positions"]) {
    positions.push_back({position[0].get<int64_t>(), position[1].get<int64_t>()});
  }
  const RowMatrix patches = JsonMatrix(fixture["patches_row_major"]);
  std::vector<FeatureParameters> groups;
  for (const nlohmann::json& theta : fixture["thetas_sigmaz_sigmay_f0_theta"]) {
    groups.push_back(theta.get<std::vector<double>>());
  }
  const Matrix expected = JsonMatrix(fixture["values"]).transpose();
  const auto family = Family(Gabor(positions), patches.cols());
  Matrix values(patches.rows(), expected.cols());
  family->Bind(groups)->Evaluate(patches, values);
  EXPECT_TRUE(values.isApprox(expected, 1e-10)) << values - expected;
  SingleMatrix single(patches.rows(), expected.cols());
  family->Bind(groups)->Evaluate(patches, single);
  EXPECT_TRUE(single.cast<double>().isApprox(expected, 1e-6)) << single;
}

// The definition, pixel by pixel.
double ByDefinition(const RowMatrix& patch, const std::vector<PatchPosition>& positions,
                    const FeatureParameters& theta) {
  double total = 0;
  for (const PatchPosition& position : positions) {
    double answer = 0;
    for (Index row = 0; row < patch.rows(); ++row) {
      for (Index column = 0; column < patch.cols(); ++column) {
        const auto z = static_cast<double>(row - position.row);
        const auto y = static_cast<double>(column - position.column);
        const double z0 = z * std::cos(theta[3]) + y * std::sin(theta[3]);
        const double y0 = -z * std::sin(theta[3]) + y * std::cos(theta[3]);
        answer +=
            patch(row, column) *
            std::exp(-z0 * z0 / (2 * theta[0] * theta[0]) - y0 * y0 / (2 * theta[1] * theta[1])) *
            std::cos(2 * std::numbers::pi * theta[2] * z0);
      }
    }
    total += std::abs(answer);
  }
  return total;
}

TEST(GaborFamilyTest, TheGridAndTheMeanAreAsDescribed) {
  // Cells of 16 / 4 pixels, each represented by the pixel at its middle; five positions are padded to eight.
  FeatureFamilySpec spec = Gabor();
  const GaborFamily grid(spec, 256);
  EXPECT_EQ(grid.patch_size(), 16);
  ASSERT_EQ(grid.positions().size(), 16U);
  EXPECT_EQ(grid.positions()[0], (PatchPosition{2, 2}));
  EXPECT_EQ(grid.positions()[5], (PatchPosition{6, 6}));
  EXPECT_EQ(grid.positions()[15], (PatchPosition{14, 14}));

  const RowMatrix rows = NormalRows(3, 49, 1).array() + 5.0;
  spec.positions = {{0, 0}, {3, 3}, {6, 1}, {2, 5}, {4, 4}};
  for (const bool subtract : {false, true}) {
    spec.subtract_patch_mean = subtract;
    const auto family = Family(spec, 49);
    const auto groups = Drawn(*family, 4, 0);
    Matrix values(3, static_cast<Index>(groups.size()));
    family->Bind(groups)->Evaluate(rows, values);
    for (Index i = 0; i < 3; ++i) {
      RowMatrix patch = Eigen::Map<const RowMatrix>(rows.row(i).data(), 7, 7);
      patch.array() -= subtract ? patch.mean() : 0.0;
      for (size_t g = 0; g < groups.size(); ++g) {
        const double expected = ByDefinition(patch, spec.positions, groups[g]);
        EXPECT_NEAR(values(i, static_cast<Index>(g)), expected, 1e-11 * (1 + expected));
      }
    }
  }
}

TEST(GaborFamilyTest, BrightnessChangesNothingOnceTheMeanIsSubtracted) {
  FeatureFamilySpec spec = Gabor();
  spec.subtract_patch_mean = true;
  const auto family = Family(spec, 64);
  const auto map = family->Bind(Drawn(*family, 1, 0));
  const RowMatrix rows = NormalRows(4, 64, 2);
  Matrix values(4, map->num_columns());
  Matrix brighter(4, map->num_columns());
  map->Evaluate(rows, values);
  map->Evaluate(RowMatrix(rows.array() + 100.0), brighter);
  EXPECT_LE((values - brighter).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_GE(values.minCoeff(), 0.0);
}

TEST(GaborFamilyTest, ValuesDependOnTheRowAndTheGroupAlone) {
  // An odd number of pixels: filters begin at any address.
  FeatureFamilySpec spec = Gabor();
  spec.subtract_patch_mean = true;
  const auto family = Family(spec, 121);
  const auto groups = Drawn(*family, 2, 0);
  const RowMatrix rows = NormalRows(70, 121, 5).array() + 3.0;
  Matrix whole(70, static_cast<Index>(groups.size()));
  SingleMatrix single(70, whole.cols());
  family->Bind(groups)->Evaluate(rows, whole);
  family->Bind(groups)->Evaluate(rows, single);
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto map = family->Bind({groups[g]});
    Matrix alone(5, 1);
    SingleMatrix single_alone(5, 1);
    map->Evaluate(rows.middleRows(33, 5), alone);
    map->Evaluate(rows.middleRows(33, 5), single_alone);
    EXPECT_EQ(alone, whole.block(33, static_cast<Index>(g), 5, 1)) << g;
    EXPECT_EQ(single_alone, single.block(33, static_cast<Index>(g), 5, 1)) << g;
  }
}

TEST(GaborFamilyTest, DrawsLieInTheirRanges) {
  FeatureFamilySpec spec = Gabor();
  spec.candidates = 500;
  const auto family = Family(spec, 256);
  const auto groups = Drawn(*family, 3, 8);
  ASSERT_EQ(groups.size(), 500U);
  std::vector<double> log_scales;
  for (const FeatureParameters& group : groups) {
    ASSERT_TRUE(family->CheckParameters(group).ok());
    for (const double scale : {group[0], group[1]}) {
      EXPECT_GE(scale, 1.0);
      EXPECT_LE(scale, 8.0);
      log_scales.push_back(std::log(scale));
    }
    EXPECT_GE(group[2], 0.02);
    EXPECT_LE(group[2], 0.5);
    EXPECT_GE(group[3], 0.0);
    EXPECT_LT(group[3], std::numbers::pi);
  }
  // Uniform logarithms in [0, log 8]: the mean of 1000, within four standard errors.
  const Eigen::Map<const Vector> logs(log_scales.data(), 1000);
  EXPECT_NEAR(logs.mean(), std::log(8.0) / 2, 4 * std::log(8.0) / std::sqrt(12000.0));
  EXPECT_EQ(Drawn(*family, 3, 8), groups);
  EXPECT_NE(Drawn(*family, 3, 9), groups);
  spec.candidates = 501;
  const auto more = Drawn(*Family(spec, 256), 3, 8);
  EXPECT_EQ(std::vector<FeatureParameters>(more.begin(), more.end() - 1), groups);
}

TEST(GaborFamilyTest, AGridHasEveryCombination) {
  const GaborFamily family(Gabor(), 256);
  const auto grid = family.Grid(3);
  ASSERT_EQ(grid.size(), 81U);
  std::set<double> scales;
  std::set<double> frequencies;
  std::set<double> angles;
  for (const FeatureParameters& group : grid) {
    scales.insert({group[0], group[1]});
    frequencies.insert(group[2]);
    angles.insert(group[3]);
  }
  ASSERT_EQ(scales.size(), 3U);
  EXPECT_NEAR(*std::next(scales.begin()), std::sqrt(8.0), 1e-12);
  EXPECT_NEAR(*scales.rbegin(), 8.0, 1e-12);
  ASSERT_EQ(frequencies.size(), 3U);
  EXPECT_NEAR(*std::next(frequencies.begin()), 0.26, 1e-12);
  ASSERT_EQ(angles.size(), 3U);
  EXPECT_NEAR(*angles.rbegin(), 2 * std::numbers::pi / 3, 1e-12);
  EXPECT_EQ(std::set<FeatureParameters>(grid.begin(), grid.end()).size(), 81U);
  const auto middle = family.Grid(1);
  ASSERT_EQ(middle.size(), 1U);
  EXPECT_NEAR(middle[0][0], std::sqrt(8.0), 1e-12);
}

TEST(GaborFamilyTest, SearchingInSinglePrecisionFindsTheSameSums) {
  const auto family = Family(Gabor(), 64);
  const auto candidates = Drawn(*family, 1, 0);
  const FeatureRows rows = AllRows(NormalRows(5000, 64, 3));
  const Matrix slopes = NormalRows(5000, 2, 4);
  const auto twice =
      ScanCandidates(*family, rows, candidates, slopes, FeaturePrecision::kDouble, RunContext());
  const auto single =
      ScanCandidates(*family, rows, candidates, slopes, FeaturePrecision::kSingle, RunContext());
  ASSERT_TRUE(twice.ok() && single.ok());
  for (size_t c = 0; c < candidates.size(); ++c) {
    const ColumnSums& exact = twice->columns[c];
    EXPECT_NEAR(single->columns[c].squares, exact.squares, 1e-6 * exact.squares);
    const auto row = static_cast<Index>(c);
    EXPECT_LE((single->products.row(row) - twice->products.row(row)).norm(),
              1e-6 * std::sqrt(exact.squares) * slopes.norm());
  }
  Matrix column(5000, 1);
  ASSERT_TRUE(EvaluateColumns(*family, rows, {candidates[7]}, column, RunContext()).ok());
  EXPECT_NEAR(column.squaredNorm(), twice->columns[7].squares, 1e-9 * column.squaredNorm());
}

TEST(GaborFamilyTest, RefusesWhatIsNoPatch) {
  EXPECT_NE(Violation(MakeFeatureFamily(Gabor(), 63).status(), "patch_size"), "");
  FeatureFamilySpec spec = Gabor();
  spec.patch_size = 7;
  EXPECT_NE(Violation(MakeFeatureFamily(spec, 64).status(), "patch_size"), "");
  spec.patch_size = 8;
  EXPECT_TRUE(MakeFeatureFamily(spec, 64).ok());
  spec.patch_size = -1;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "patch_size"), "");
  EXPECT_NE(Violation(MakeFeatureFamily(Gabor({{0, 0}, {8, 3}}), 64).status(), "positions[1]"), "");
  EXPECT_NE(Violation(MakeFeatureFamily(Gabor({{0, -1}}), 64).status(), "positions[0]"), "");
  spec = Gabor();
  spec.positions_per_side = 9;
  EXPECT_NE(Violation(MakeFeatureFamily(spec, 64).status(), "positions_per_side"), "");
  spec.positions_per_side = 0;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "positions_per_side"), "");
}

TEST(GaborFamilyTest, RefusesRangesWithoutFilters) {
  FeatureFamilySpec spec = Gabor();
  spec.min_scale = 0;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "min_scale"), "");
  spec = Gabor();
  spec.max_scale = 0.5;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "max_scale"), "");
  spec.max_scale = 0;
  spec.min_scale = 5;  // of patches of 8 x 8 the largest is 4
  EXPECT_NE(Violation(MakeFeatureFamily(spec, 64).status(), "max_scale"), "");
  spec = Gabor();
  spec.min_frequency = -0.1;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "min_frequency"), "");
  spec.min_frequency = 0.6;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "max_frequency"), "");
  spec = Gabor();
  spec.candidates = 0;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "candidates"), "");
}

TEST(GaborFamilyTest, RefusesParametersOfNoFilter) {
  const auto family = Family(Gabor(), 64);
  EXPECT_TRUE(family->CheckParameters({1.0, 2.0, 0.0, -7.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, 2.0, 0.1}).ok());
  EXPECT_FALSE(family->CheckParameters({0.0, 2.0, 0.1, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, -2.0, 0.1, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, 2.0, -0.1, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, kInfinity, 0.1, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, 2.0, 0.1, std::nan("")}).ok());
}

}  // namespace
}  // namespace mercer
