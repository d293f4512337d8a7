#include "core/kernels/spec/normalization.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/status/errors.h"
#include "tests/support/source_folder.h"

namespace mercer {
namespace {

Matrix ReadMatrix(const nlohmann::json& rows) {
  Matrix values(static_cast<Index>(rows.size()), static_cast<Index>(rows.at(0).size()));
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) {
      values(i, j) = rows.at(static_cast<size_t>(i)).at(static_cast<size_t>(j)).get<double>();
    }
  }
  return values;
}

void ExpectClose(const Matrix& actual, const Matrix& expected, const std::string& what) {
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), 1e-12 * expected.cwiseAbs().maxCoeff())
      << what;
}

class NormalizationTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(SourceFolder() / "tests/fixtures/mixed-norm-mkl/normalisations.json");
    ASSERT_TRUE(file.is_open());
    fixture_ = nlohmann::json::parse(file);
    gram_ = ReadMatrix(fixture_["inputs"]["gram"]);
    gram_test_ = ReadMatrix(fixture_["inputs"]["gram_test"]);
    const auto self = fixture_["inputs"]["self_test"].get<std::vector<double>>();
    self_test_ = Eigen::Map<const Vector>(self.data(), static_cast<Index>(self.size()));
  }

  void ExpectMatrices(const std::string& name, double factor = 1.0) {
    const nlohmann::json& expected = fixture_["expected"][name];
    ExpectClose(factor * gram_, ReadMatrix(expected["gram"]), name + " gram");
    ExpectClose(factor * gram_test_, ReadMatrix(expected["gram_test"]), name + " gram_test");
  }

  GramSums Sums() const { return {gram_.rows(), gram_.trace(), gram_.sum()}; }

  nlohmann::json fixture_;
  Matrix gram_;
  Matrix gram_test_;
  Vector self_test_;
};

TEST_F(NormalizationTest, ScalingFactorsEqualTheFixture) {
  const std::vector<std::pair<std::string, KernelScaling>> scalings = {
      {"trace", KernelScaling::kTrace},
      {"mean_diagonal", KernelScaling::kMeanDiagonal},
      {"variance", KernelScaling::kVariance}};
  for (const auto& [name, scaling] : scalings) {
    const absl::StatusOr<double> factor = ScalingFactor(scaling, Sums());
    ASSERT_TRUE(factor.ok()) << factor.status();
    const auto expected = fixture_["expected"][name]["factor"].get<double>();
    EXPECT_NEAR(*factor, expected, 1e-12 * expected) << name;
    ExpectMatrices(name, *factor);
  }
  EXPECT_EQ(*ScalingFactor(KernelScaling::kNone, Sums()), 1.0);
}

TEST_F(NormalizationTest, CentringEqualsTheFixture) {
  const absl::StatusOr<double> factor = ScalingFactor(KernelScaling::kCentredTrace, Sums());
  ASSERT_TRUE(factor.ok()) << factor.status();
  CentreGram(gram_, gram_test_);
  ExpectMatrices("centre");
  const auto expected = fixture_["expected"]["centre_then_trace"]["factor"].get<double>();
  EXPECT_NEAR(*factor, expected, 1e-12 * expected);
  ExpectMatrices("centre_then_trace", *factor);
}

TEST_F(NormalizationTest, UnitDiagonalEqualsTheFixture) {
  ASSERT_TRUE(NormalizeUnitDiagonal(gram_, gram_test_, self_test_).ok());
  ExpectMatrices("unit_diagonal");
  const absl::StatusOr<double> factor = ScalingFactor(KernelScaling::kTrace, Sums());
  ASSERT_TRUE(factor.ok()) << factor.status();
  ExpectMatrices("unit_diagonal_then_trace", *factor);
}

TEST_F(NormalizationTest, UnitDiagonalNamesTheRow) {
  gram_(3, 3) = 0;
  const absl::Status training = NormalizeUnitDiagonal(gram_, gram_test_, self_test_);
  EXPECT_EQ(training.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(training.message().find("training row 4"), std::string::npos) << training;
  gram_(3, 3) = 1;
  self_test_(1) = -1;
  const absl::Status test = NormalizeUnitDiagonal(gram_, gram_test_, self_test_);
  EXPECT_NE(test.message().find("test row 2"), std::string::npos) << test;
}

TEST(ScalingFactorTest, ZeroAndConstantKernelsAreErrors) {
  for (const KernelScaling scaling : {KernelScaling::kTrace, KernelScaling::kMeanDiagonal,
                                      KernelScaling::kVariance, KernelScaling::kCentredTrace}) {
    EXPECT_EQ(GetReason(ScalingFactor(scaling, {5, 0.0, 0.0}).status()), "ZERO_KERNEL");
    EXPECT_EQ(GetReason(ScalingFactor(scaling, {5, std::nan(""), 0.0}).status()), "ZERO_KERNEL");
  }
  EXPECT_FALSE(ScalingFactor(KernelScaling::kVariance, {5, 5.0, 25.0}).ok())
      << "the kernel of ones";
  EXPECT_TRUE(ScalingFactor(KernelScaling::kTrace, {5, 5.0, 25.0}).ok());
}

}  // namespace
}  // namespace mercer
