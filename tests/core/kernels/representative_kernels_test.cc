#include "core/kernels/lowrank/representative_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

std::vector<double> LogSpaced(double least, double ratio, int count) {
  std::vector<double> widths;
  for (int i = 0; i < count; ++i) {
    widths.push_back(least * std::pow(ratio, i));
  }
  return widths;
}

std::vector<Index> Representatives(const std::vector<KernelSpec>& kernels, const PreparedData& data,
                                   double tolerance) {
  return *RepresentativeKernels(kernels, data, tolerance, RunContext());
}

double LargestRatio(double tolerance) { return std::exp(0.065 * (12.5 + std::log10(tolerance))); }

TEST(RepresentativeKernelsTest, EveryWidthLiesBetweenTwoThatAreClose) {
  const auto data = BlockOf(RandomRows(10, 3, 1));
  for (const double tolerance : {1e-10, 1e-8, 1e-6, 1e-3}) {
    for (const double ratio : {1.01, 1.0985, 1.2}) {
      const std::vector<KernelSpec> kernels = GaussiansOfX(LogSpaced(0.3, ratio, 60));
      const std::vector<Index> chosen = Representatives(kernels, *data, tolerance);
      ASSERT_GE(chosen.size(), 2u);
      EXPECT_EQ(chosen.front(), 0);
      EXPECT_EQ(chosen.back(), 59);
      for (size_t i = 1; i < chosen.size(); ++i) {
        ASSERT_LT(chosen[i - 1], chosen[i]);
        const double step = std::pow(ratio, static_cast<double>(chosen[i] - chosen[i - 1]));
        const bool next = chosen[i] == chosen[i - 1] + 1;
        EXPECT_TRUE(next || step <= LargestRatio(tolerance) * (1 + 1e-12)) << step;
        // One width fewer would leave a gap.
        if (i + 1 < chosen.size()) {
          EXPECT_GT(std::pow(ratio, static_cast<double>(chosen[i + 1] - chosen[i - 1])),
                    LargestRatio(tolerance));
        }
      }
    }
  }
}

TEST(RepresentativeKernelsTest, TheOrderOfTheKernelsDoesNotMatter) {
  const auto data = BlockOf(RandomRows(10, 3, 1));
  std::vector<double> widths = LogSpaced(1.0, 1.1, 30);
  const auto chosen_widths = [&](const std::vector<double>& of) {
    std::vector<double> chosen;
    for (const Index k : Representatives(GaussiansOfX(of), *data, 1e-8)) {
      chosen.push_back(of[static_cast<size_t>(k)]);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  };
  const std::vector<double> ascending = chosen_widths(widths);
  EXPECT_LT(ascending.size(), 30u);
  std::reverse(widths.begin(), widths.end());
  std::swap(widths[3], widths[17]);
  EXPECT_EQ(chosen_widths(widths), ascending);
}

TEST(RepresentativeKernelsTest, OnlyKernelsOfTheSameValuesStandForOneAnother) {
  auto data = BlockOf(RandomRows(10, 3, 1));
  data->blocks.push_back(MakeBlock("other", RandomRows(10, 2, 2)));
  std::vector<KernelSpec> kernels;
  for (const double width : {1.0, 1.1, 1.2}) {
    kernels.push_back(MakeSpec(KernelType::kGaussian, "x", width));
    kernels.push_back(MakeSpec(KernelType::kGaussian, "other", width));
    kernels.push_back(MakeSpec(KernelType::kLaplacian, "x", width));
    kernels.push_back(MakeSpec(KernelType::kLinear, "x"));
    kernels.push_back(MakeSpec(KernelType::kPolynomial, "x"));
  }
  // The middle width goes; linear and polynomial kernels have none.
  EXPECT_EQ(Representatives(kernels, *data, 1e-8),
            (std::vector<Index>{0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14}));
}

TEST(RepresentativeKernelsTest, AllWhereNothingMayBeLost) {
  const auto data = BlockOf(RandomRows(10, 3, 1));
  const std::vector<KernelSpec> kernels = GaussiansOfX(LogSpaced(1.0, 1.001, 20));
  for (const double tolerance : {0.0, 1e-13}) {
    EXPECT_EQ(Representatives(kernels, *data, tolerance).size(), 20u) << tolerance;
  }
  EXPECT_TRUE(Representatives({}, *data, 1e-8).empty());
  EXPECT_EQ(Representatives(GaussiansOfX({2.0}), *data, 1e-8), (std::vector<Index>{0}));
}

TEST(RepresentativeKernelsTest, ExtremeAndEqualWidths) {
  const auto data = BlockOf(RandomRows(10, 3, 1));
  constexpr double kLeast = std::numeric_limits<double>::min();
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(Representatives(GaussiansOfX({kLeast, 1.0, kMost}), *data, 1e-8).size(), 3u);
  // Of equal widths the first and the last stay.
  EXPECT_EQ(Representatives(GaussiansOfX({1.0, 1.0, 1.0, 1.0}), *data, 1e-8),
            (std::vector<Index>{0, 3}));
}

}  // namespace
}  // namespace mercer
