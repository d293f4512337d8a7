#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_family.h"
#include "tests/core/kernels/kernel_test_data.h"

namespace mercer {
namespace {

std::string Metadata(const absl::Status& status, const std::string& name) {
  for (const auto& [key, value] : GetErrorMetadata(status)) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

absl::Status MakeStatus(const std::shared_ptr<PreparedData>& data,
                        std::vector<KernelSpec> kernels) {
  RunContext context;
  return MakeExactKernelFamily(data, {}, std::move(kernels), context).status();
}

void SetSquare(PreparedData& data, const RowMatrix& values) {
  data.squares[0].values = SharedMatrix(values);
}

TEST(KernelFamilyErrorsTest, AsymmetricGramNamesKernelAndRows) {
  const auto data = MixedData(300, 1);
  RowMatrix gram = data->squares[0].values.view();
  gram(280, 7) += 1e-3;
  SetSquare(*data, gram);
  const absl::Status status = MakeStatus(
      data, {MakeSpec(KernelType::kGaussian, "x"), MakeSpec(KernelType::kPrecomputed, "K")});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetReason(status), "NOT_SYMMETRIC");
  EXPECT_EQ(Metadata(status, "kernel"), "kernels[1]");
  EXPECT_EQ(Metadata(status, "row"), "8") << status;
  EXPECT_EQ(Metadata(status, "column"), "281") << status;
}

TEST(KernelFamilyErrorsTest, TinyAsymmetryIsAveraged) {
  const auto data = MixedData(20, 1);
  RowMatrix gram = data->squares[0].values.view();
  gram(12, 7) += 1e-10;
  SetSquare(*data, gram);
  RunContext context;
  auto family = MakeExactKernelFamily(data, {}, {MakeSpec(KernelType::kPrecomputed, "K")}, context);
  ASSERT_TRUE(family.ok()) << family.status();
  const auto kernel = (*family)->Combine(Vector::Ones(1), context);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*(*kernel)->Dense())(12, 7), 0.5 * (gram(12, 7) + gram(7, 12)));
  EXPECT_EQ((*(*kernel)->Dense())(7, 12), 0.5 * (gram(12, 7) + gram(7, 12)));
}

TEST(KernelFamilyErrorsTest, NegativeDiagonalIsNotPositiveSemidefinite) {
  const auto data = MixedData(20, 1);
  RowMatrix gram = data->squares[0].values.view();
  gram(13, 13) = -0.5;
  SetSquare(*data, gram);
  const absl::Status status = MakeStatus(data, {MakeSpec(KernelType::kPrecomputed, "K")});
  EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
  EXPECT_EQ(Metadata(status, "kernel"), "kernels[0]");
  EXPECT_EQ(Metadata(status, "row"), "14");
}

TEST(KernelFamilyErrorsTest, KernelsOfHistogramsNameTheNegativeEntry) {
  const auto data = MixedData(20, 1);
  RowMatrix histograms = data->blocks[1].values.view();
  histograms(4, 2) = -1e-9;
  data->blocks[1].values = SharedMatrix(histograms);
  for (const KernelType type :
       {KernelType::kChiSquare, KernelType::kHellinger, KernelType::kIntersection}) {
    const absl::Status status = MakeStatus(data, {MakeSpec(type, "h")});
    EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
    EXPECT_EQ(Metadata(status, "row"), "5");
    EXPECT_EQ(Metadata(status, "column"), "h2");
  }
}

TEST(KernelFamilyErrorsTest, DistancesBelowZeroAreRefusedBeyondRounding) {
  const auto data = MixedData(300, 1);
  RowMatrix distances = data->squares[1].values.view();
  distances(280, 7) = distances(7, 280) = -1e-12;
  data->squares[1].values = SharedMatrix(distances);
  RunContext context;
  auto family = MakeExactKernelFamily(data, {}, {MakeSpec(KernelType::kDistance, "D")}, context);
  ASSERT_TRUE(family.ok()) << family.status();
  const auto kernel = (*family)->Combine(Vector::Ones(1), context);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*(*kernel)->Dense())(280, 7), 1.0) << "rounding is a distance of 0";

  distances(280, 7) = distances(7, 280) = -1e4;
  data->squares[1].values = SharedMatrix(distances);
  const absl::Status status = MakeStatus(data, {MakeSpec(KernelType::kDistance, "D")});
  EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
  EXPECT_EQ(Metadata(status, "row"), "281");
  EXPECT_EQ(Metadata(status, "column"), "8");
}

TEST(KernelFamilyErrorsTest, UnitDiagonalNeedsPositiveSelfKernels) {
  const auto data = MixedData(20, 1);
  RowMatrix values = data->blocks[0].values.view();
  values.row(9).setZero();
  data->blocks[0].values = SharedMatrix(values);
  KernelSpec linear = MakeSpec(KernelType::kLinear, "x");
  linear.normalization.unit_diagonal = true;
  const absl::Status status = MakeStatus(data, {linear});
  EXPECT_EQ(GetReason(status), "ZERO_DIAGONAL") << status;
  EXPECT_EQ(Metadata(status, "row"), "10");
  EXPECT_NE(status.message().find("row 10:"), std::string::npos) << status;
}

TEST(KernelFamilyErrorsTest, ConstantKernelsHaveNoVariance) {
  const auto data = MixedData(20, 1);
  data->blocks[0].values = SharedMatrix(RowMatrix(RowMatrix::Constant(20, 5, 2.0)));
  for (const KernelScaling scaling : {KernelScaling::kVariance, KernelScaling::kCentredTrace}) {
    KernelSpec spec = MakeSpec(KernelType::kGaussian, "x");
    spec.normalization.scaling = scaling;
    const absl::Status status = MakeStatus(data, {spec});
    EXPECT_EQ(GetReason(status), "ZERO_KERNEL") << status;
    EXPECT_EQ(Metadata(status, "kernel"), "kernels[0]");
  }
  data->blocks[0].values = SharedMatrix(RowMatrix(RowMatrix::Zero(20, 5)));
  KernelSpec linear = MakeSpec(KernelType::kLinear, "x");
  linear.normalization.scaling = KernelScaling::kTrace;
  EXPECT_EQ(GetReason(MakeStatus(data, {linear})), "ZERO_KERNEL");
}

TEST(KernelFamilyErrorsTest, EveryBadFieldIsNamedAtOnce) {
  const auto data = MixedData(20, 1);
  KernelSpec unknown_column = MakeSpec(KernelType::kLinear, "x");
  unknown_column.columns = {"x1", "y"};
  const absl::Status status = MakeStatus(
      data, {MakeSpec(KernelType::kGaussian, "x", -1), MakeSpec(KernelType::kGaussian, "none"),
             MakeSpec(KernelType::kDistance, "K"), unknown_column});
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetFieldViolations(status)) {
    fields.push_back(violation.field);
  }
  const std::vector<std::string> expected = {"kernels[0].bandwidth", "kernels[1].block",
                                             "kernels[2].block", "kernels[3].columns"};
  EXPECT_EQ(fields, expected) << status;
}

TEST(KernelFamilyErrorsTest, ExtremeBandwidthsStayFinite) {
  const auto data = MixedData(40, 1);
  RunContext context;
  auto family = MakeExactKernelFamily(
      data, {},
      {MakeSpec(KernelType::kGaussian, "x", 1e-200), MakeSpec(KernelType::kGaussian, "x", 1e200)},
      context);
  ASSERT_TRUE(family.ok()) << family.status();
  const auto narrow = (*family)->Combine(Vector::Unit(2, 0), context);
  const auto wide = (*family)->Combine(Vector::Unit(2, 1), context);
  ASSERT_TRUE(narrow.ok() && wide.ok());
  EXPECT_TRUE((*narrow)->Dense()->isIdentity(0.0));
  EXPECT_TRUE((*wide)->Dense()->isOnes(0.0));
}

}  // namespace
}  // namespace mercer
