// Kernels of some columns against a basis, of more rows than should be copied.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_family.h"
#include "tests/core/kernels/kernel_test_data.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

constexpr Index kBoundRows = 20'000;
constexpr Index kBoundColumns = 24;
constexpr Index kBoundBasis = 5;

// Kernel k reads all columns but column k.
std::vector<KernelSpec> KernelsOfMostColumns(KernelType type) {
  std::vector<KernelSpec> kernels;
  for (Index k = 0; k < kBoundColumns; ++k) {
    KernelSpec& kernel = kernels.emplace_back(MakeSpec(type, "x", 2.0));
    for (Index c = 0; c < kBoundColumns; ++c) {
      if (c != k) {
        kernel.columns.push_back("x" + std::to_string(c));
      }
    }
  }
  return kernels;
}

std::shared_ptr<PreparedData> DataOf(RowMatrix values) {
  auto data = std::make_shared<PreparedData>();
  data->rows = values.rows();
  data->blocks.push_back(MakeBlock("x", std::move(values)));
  return data;
}

TEST(CrossKernelsBlocksTest, BoundRowsAreNotCopiedForEveryKernel) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  const auto data = DataOf(RandomRows(kBoundRows, kBoundColumns, 7));
  const auto basis = DataOf(RandomRows(kBoundBasis, kBoundColumns, 8));
  const int64_t copy = kBoundRows * kBoundColumns * static_cast<int64_t>(sizeof(double));
  const int64_t grown = PeakGrowth([&] {
    RunContext context;
    const auto cross = CrossKernels::Make(basis, KernelsOfMostColumns(KernelType::kGaussian), {});
    const auto bound = cross.ok() ? cross->Bind(*data, context) : cross.status();
    if (!bound.ok()) {
      return false;
    }
    std::vector<double> values(static_cast<size_t>(kBoundColumns * 256 * bound->stride()));
    for (Index begin = 0; begin < kBoundRows; begin += 256) {
      bound->Values(begin, std::min(begin + 256, kBoundRows), values.data(), context);
    }
    return true;
  });
  ASSERT_GE(grown, 0);
  EXPECT_LT(grown, copy + kCodeAndStacks) << "one copy takes " << copy;
}

TEST(CrossKernelsBlocksTest, BlocksHaveTheBitsOfRowsThatWereCopied) {
  const auto data = DataOf(RandomRows(700, kBoundColumns, 7, true));
  const auto basis = DataOf(RandomRows(kBoundBasis, kBoundColumns, 8, true));
  RunContext context;
  for (const KernelType type : {KernelType::kGaussian, KernelType::kChiSquare}) {
    const std::vector<KernelSpec> kernels = KernelsOfMostColumns(type);
    const auto cross = CrossKernels::Make(basis, kernels, {});
    ASSERT_TRUE(cross.ok()) << cross.status();
    const auto bound = cross->Bind(*data, context);
    ASSERT_TRUE(bound.ok()) << bound.status();
    std::vector<double> values(static_cast<size_t>(kBoundColumns * 300 * bound->stride()));
    bound->Values(256, 556, values.data(), context);
    for (Index k = 0; k < kBoundColumns; ++k) {
      Matrix whole(700, kBoundBasis);
      ASSERT_TRUE(
          CombineKernels(*cross, *data, Vector::Unit(kBoundColumns, k), whole, context).ok());
      const auto block =
          RowMatrix::Map(values.data() + k * 300 * bound->stride(), 300, bound->stride());
      EXPECT_EQ(Matrix(block.leftCols(kBoundBasis)), Matrix(whole.middleRows(256, 300))) << k;
    }
  }
}

// The row is far behind the first block.
TEST(CrossKernelsBlocksTest, ANegativeEntryIsNamedByItsRow) {
  RowMatrix values = RandomRows(3000, kBoundColumns, 7, true);
  values(2345, 3) = -1;
  const auto data = DataOf(std::move(values));
  const auto basis = DataOf(RandomRows(kBoundBasis, kBoundColumns, 8, true));
  RunContext context;
  const auto cross = CrossKernels::Make(basis, KernelsOfMostColumns(KernelType::kChiSquare), {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  const absl::Status status = cross->Bind(*data, context).status();
  EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
  EXPECT_NE(status.message().find("row 2346, column 'x3'"), std::string::npos) << status;
}

}  // namespace
}  // namespace mercer
