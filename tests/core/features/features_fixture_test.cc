// The reference values of tests/fixtures/infinite-features: columns, scales, products with the slopes and violation ratios of
// Fourier pairs, made by explicit loops of another program.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/features/candidate_scan.h"
#include "core/features/normalization.h"
#include "tests/core/features/feature_test_data.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

constexpr double kTolerance = 1e-10;

nlohmann::json Fixture() {
  return ReadFixtureFile("infinite-features/11_features_and_violation.json");
}

// The bandwidth of the fixture's directions is not said and decides nothing.
std::vector<FeatureParameters> Directions(const nlohmann::json& fixture) {
  std::vector<FeatureParameters> groups;
  for (const nlohmann::json& theta : fixture["thetas"]) {
    FeatureParameters group = {1.0};
    for (const double entry : theta.get<std::vector<double>>()) {
      group.push_back(entry);
    }
    groups.push_back(group);
  }
  return groups;
}

FeatureNormalization Normalization(const std::string& mode) {
  if (mode == "group") {
    return FeatureNormalization::kGroup;
  }
  return mode == "column" ? FeatureNormalization::kColumn : FeatureNormalization::kNone;
}

void ExpectNear(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, kTolerance * std::max(1.0, std::abs(expected))) << what;
}

TEST(FeaturesFixtureTest, FourierScalesProductsAndRatiosAreTheReferences) {
  const nlohmann::json fixture = Fixture();
  const FeatureRows rows = AllRows(JsonMatrix(fixture["X"]));
  const std::vector<FeatureParameters> groups = Directions(fixture);
  const Matrix slopes = JsonMatrix(fixture["alpha"]).transpose();
  const auto sums = ScanCandidates(*Fourier(rows.num_inputs()), rows, groups, slopes,
                                   FeaturePrecision::kDouble, RunContext());
  ASSERT_TRUE(sums.ok()) << sums.status();
  int compared = 0;
  for (const nlohmann::json& expected : fixture["fourier"]) {
    const auto g = expected["index"].get<Index>();
    const std::string what = expected["mode"].get<std::string>() + " " + std::to_string(g);
    const auto columns = absl::MakeConstSpan(sums->columns).subspan(static_cast<size_t>(2 * g), 2);
    const auto scales = GroupScales(Normalization(expected["mode"]), ScaleScope::kPerTask,
                                    {{columns, rows.size()}});
    ++compared;
    if (expected["rejected"].get<bool>()) {
      EXPECT_FALSE(scales.has_value()) << what;
      continue;
    }
    ASSERT_TRUE(scales.has_value()) << what;
    const Matrix expected_products = JsonMatrix(expected["H"]);
    const Vector expected_scales = JsonVector(expected["scale"]);
    Matrix products = sums->products.middleRows(2 * g, 2);
    for (Index c = 0; c < 2; ++c) {
      ExpectNear((*scales)(c, 0), expected_scales(c), what + " scale");
      products.row(c) /= (*scales)(c, 0);
      for (Index t = 0; t < products.cols(); ++t) {
        ExpectNear(products(c, t), expected_products(c, t), what + " product");
      }
    }
    // Nested with q = 2: the Frobenius norm of the block; the shared part: the norm of its row sums.
    ExpectNear(products.norm() / fixture["lambda_p"].get<double>(), expected["ratio_p"],
               what + " ratio of the tasks' parts");
    ExpectNear(products.rowwise().sum().norm() / fixture["lambda_s"].get<double>(),
               expected["ratio_s"], what + " ratio of the shared part");
  }
  EXPECT_EQ(compared, 18);
}

}  // namespace
}  // namespace mercer
