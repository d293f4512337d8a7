#include "core/features/fourier_family.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/features/feature_test_data.h"

namespace mercer {
namespace {

TEST(FourierFamilyTest, NamesItsParameters) {
  const auto family = Fourier(2);
  EXPECT_EQ(family->name(), "fourier");
  EXPECT_EQ(family->columns_per_group(), 2);
  EXPECT_EQ(family->parameter_names(),
            (std::vector<std::string>{"bandwidth", "frequency_1", "frequency_2"}));
  EXPECT_FALSE(family->is_finite());
  EXPECT_TRUE(family->searches_in_single());
}

TEST(FourierFamilyTest, DrawsDependOnSeedRoundAndPlaceAlone) {
  FeatureFamilySpec spec;
  spec.bandwidths = {1.0, 3.0};
  spec.candidates_per_bandwidth = 4;
  const auto family = Family(spec, 3);
  const auto first = Drawn(*family, 5, 2);
  Drawn(*family, 5, 3);
  EXPECT_EQ(Drawn(*family, 5, 2), first);
  EXPECT_NE(Drawn(*family, 6, 2), first);
  EXPECT_NE(Drawn(*family, 5, 3), first);
  // No two candidates share their numbers.
  std::set<double> entries;
  for (const FeatureParameters& group : first) {
    ASSERT_EQ(group.size(), 4U);
    entries.insert(group.begin() + 1, group.end());
  }
  EXPECT_EQ(entries.size(), 24U);
  // More candidates leave those that were there.
  spec.candidates_per_bandwidth = 6;
  const auto more = Drawn(*Family(spec, 3), 5, 2);
  ASSERT_EQ(more.size(), 12U);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(more[c], first[c]);
    EXPECT_EQ(more[6 + c], first[4 + c]);
  }
  EXPECT_EQ(first[0][0], 1.0);
  EXPECT_EQ(first[4][0], 3.0);
}

TEST(FourierFamilyTest, ARangeDrawsBandwidthsAnewInEachRound) {
  FeatureFamilySpec spec;
  spec.min_bandwidth = 2;
  spec.max_bandwidth = 200;
  spec.bandwidths_per_round = 4000;
  spec.candidates_per_bandwidth = 1;
  for (const auto draw : {BandwidthDraw::kUniform, BandwidthDraw::kLogUniform}) {
    spec.bandwidth_draw = draw;
    const auto family = Family(spec, 1);
    std::vector<double> bandwidths;
    for (const FeatureParameters& group : Drawn(*family, 3, 0)) {
      bandwidths.push_back(group[0]);
    }
    EXPECT_NE(bandwidths[0], Drawn(*family, 3, 1)[0][0]);
    std::sort(bandwidths.begin(), bandwidths.end());
    EXPECT_GE(bandwidths.front(), 2.0);
    EXPECT_LE(bandwidths.back(), 200.0);
    // The median of 4000 draws: three standard errors are 2.4 % of the range.
    const double middle = bandwidths[2000];
    if (draw == BandwidthDraw::kUniform) {
      EXPECT_NEAR(middle, 101.0, 0.024 * 198);
    } else {
      EXPECT_NEAR(std::log(middle / 20.0), 0.0, 0.024 * std::log(100.0));
    }
  }
}

// mean over the frequencies of cos v'x cos v'z + sin v'x sin v'z = mean of cos v'(x - z).
double MeanProduct(FourierKernel kernel, double bandwidth, const RowMatrix& pair) {
  FeatureFamilySpec spec;
  spec.kernel = kernel;
  spec.bandwidths = {bandwidth};
  spec.candidates_per_bandwidth = 40000;
  const auto family = Family(spec, pair.cols());
  const auto groups = Drawn(*family, 11, 0);
  Matrix out(2, 2 * static_cast<Index>(groups.size()));
  family->Bind(groups)->Evaluate(pair, out);
  return out.row(0).dot(out.row(1)) / static_cast<double>(groups.size());
}

TEST(FourierFamilyTest, MeanProductsAreTheKernel) {
  RowMatrix pair(2, 3);
  pair << 0.3, -0.7, 1.1, 0.9, -0.2, 1.3;
  const Vector difference = pair.row(0) - pair.row(1);
  for (const double bandwidth : {0.5, 1.0, 3.0}) {
    const double gaussian = std::exp(-difference.squaredNorm() / (2 * bandwidth * bandwidth));
    const double laplacian = std::exp(-difference.lpNorm<1>() / bandwidth);
    // The standard error of a mean of 40000 values in [-1, 1] is at most 0.005 / sqrt(2) here.
    EXPECT_NEAR(MeanProduct(FourierKernel::kGaussian, bandwidth, pair), gaussian, 0.011);
    EXPECT_NEAR(MeanProduct(FourierKernel::kLaplacian, bandwidth, pair), laplacian, 0.011);
  }
}

TEST(FourierFamilyTest, EvaluatesCosineAndSineSideBySide) {
  const auto family = Fourier(2);
  RowMatrix rows(2, 2);
  rows << 0.5, 2.0, -1.0, 0.25;
  Matrix out(2, 4);
  family->Bind({{1.0, 1.0, 2.0}, {1.0, -3.0, 0.0}})->Evaluate(rows, out);
  const std::vector<double> arguments = {4.5, -0.5, -1.5, 3.0};  // group by group
  for (Index g = 0; g < 2; ++g) {
    for (Index i = 0; i < 2; ++i) {
      const double argument = arguments[static_cast<size_t>(2 * g + i)];
      EXPECT_NEAR(out(i, 2 * g), std::cos(argument), 1e-15);
      EXPECT_NEAR(out(i, 2 * g + 1), std::sin(argument), 1e-15);
    }
  }
}

TEST(FourierFamilyTest, ValuesDependOnTheRowAndTheGroupAlone) {
  const auto family = Fourier(7, 0.3);
  const auto groups = Drawn(*family, 2, 0);
  const RowMatrix rows = NormalRows(301, 7, 9);
  Matrix whole(rows.rows(), 2 * static_cast<Index>(groups.size()));
  SingleMatrix single(whole.rows(), whole.cols());
  family->Bind(groups)->Evaluate(rows, whole);
  family->Bind(groups)->Evaluate(rows, single);
  for (const Index first : {0, 1, 17, 300}) {
    for (const size_t group : {0U, 3U, 49U}) {
      const Index count = std::min<Index>(5, rows.rows() - first);
      const auto column = 2 * static_cast<Index>(group);
      Matrix part(count, 2);
      SingleMatrix single_part(count, 2);
      const auto map = family->Bind({groups[group]});
      map->Evaluate(rows.middleRows(first, count), part);
      map->Evaluate(rows.middleRows(first, count), single_part);
      EXPECT_EQ(part, whole.block(first, column, count, 2)) << first << " " << group;
      EXPECT_EQ(single_part, single.block(first, column, count, 2)) << first << " " << group;
    }
  }
  EXPECT_LE((whole - single.cast<double>()).cwiseAbs().maxCoeff(), 1e-7);
}

TEST(FourierFamilyTest, WhatCannotBeComputedIsNotANumber) {
  const auto family = Fourier(1);
  RowMatrix rows(6, 1);
  const double infinity = std::numeric_limits<double>::infinity();
  rows << 1e8, 1.001e8, -1.001e8, infinity, std::numeric_limits<double>::quiet_NaN(), -1e8;
  Matrix out(6, 2);
  SingleMatrix single(6, 2);
  family->Bind({{1.0, 1.0}})->Evaluate(rows, out);
  family->Bind({{1.0, 1.0}})->Evaluate(rows, single);
  for (const Index i : {0, 5}) {
    EXPECT_NEAR(out(i, 0), std::cos(1e8), 1e-15);
    EXPECT_NEAR(out(i, 1), std::sin(rows(i, 0)), 1e-15);
    EXPECT_NEAR(single(i, 0), std::cos(1e8), 1e-7);
  }
  for (const Index i : {1, 2, 3, 4}) {
    for (const Index c : {0, 1}) {
      EXPECT_TRUE(std::isnan(out(i, c))) << i << " " << out(i, c);
      EXPECT_TRUE(std::isnan(single(i, c))) << i << " " << single(i, c);
    }
  }
}

TEST(FourierFamilyTest, DerivativesAreThoseOfFiniteDifferences) {
  const auto family = Fourier(3, 1.5);
  const RowMatrix rows = NormalRows(20, 3, 4);
  const Matrix coefficients = NormalRows(20, 2, 5);
  const FeatureParameters group = Drawn(*family, 6, 0)[0];
  const auto sum_at = [&](const FeatureParameters& at) {
    Matrix values(20, 2);
    family->Bind({at})->Evaluate(rows, values);
    return values.cwiseProduct(coefficients).sum();
  };
  Matrix values(20, 2);
  family->Bind({group})->Evaluate(rows, values);
  const Vector derivative = family->motion()->Derivative(rows, values, coefficients);
  ASSERT_EQ(derivative.size(), 3);
  constexpr double kStep = 1e-5;
  for (size_t k = 0; k < 3; ++k) {
    FeatureParameters above = group;
    FeatureParameters below = group;
    above[k + 1] += kStep;
    below[k + 1] -= kStep;
    EXPECT_NEAR(derivative(static_cast<Index>(k)), (sum_at(above) - sum_at(below)) / (2 * kStep),
                1e-8);
  }
}

// Of a list of bandwidths a pair keeps its length, of a range the length stays within it.
TEST(FourierFamilyTest, APairIsMovedWithinItsRangeOfBandwidths) {
  const FeatureParameters group = {2.0, 0.3, -0.4, 0.0};
  const Vector change = Eigen::Vector3d(0.1, 0.2, 0.5);
  const Vector at = Fourier(3, 2.0)->motion()->Place(group);
  const auto family = Fourier(3, 2.0);
  const FeatureParameters turned = family->motion()->Moved(group, change);
  const Vector place = family->motion()->Place(turned);
  EXPECT_EQ(turned[0], 2.0);
  EXPECT_NEAR(place.norm(), 0.5, 1e-15);
  EXPECT_LE((place.normalized() - (at + change).normalized()).norm(), 1e-15);

  FeatureFamilySpec spec;
  spec.bandwidth_draw = BandwidthDraw::kUniform;
  spec.min_bandwidth = 1;
  spec.max_bandwidth = 4;
  const auto range = Family(spec, 3);
  const FeatureParameters moved = range->motion()->Moved(group, change);
  EXPECT_LE((range->motion()->Place(moved) - (at + change)).norm(), 1e-15);
  EXPECT_NEAR(moved[0] * (at + change).norm(), 1.0, 1e-15);
  const FeatureParameters shortest = range->motion()->Moved(group, -0.99 * at);
  EXPECT_EQ(shortest[0], 4.0);
  EXPECT_NEAR(range->motion()->Place(shortest).norm(), 0.25, 1e-15);
  const FeatureParameters longest = range->motion()->Moved(group, 9 * at);
  EXPECT_EQ(longest[0], 1.0);
  EXPECT_NEAR(range->motion()->Place(longest).norm(), 1.0, 1e-15);
  EXPECT_TRUE(range->CheckParameters(longest).ok());
  EXPECT_EQ(Columns(3)->motion(), nullptr);
}

TEST(FourierFamilyTest, RefusesParametersOfOtherShapes) {
  const auto family = Fourier(2);
  EXPECT_TRUE(family->CheckParameters({1.0, 0.0, -2.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, 0.0, 0.0, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({0.0, 0.0, 0.0}).ok());
  EXPECT_FALSE(family->CheckParameters({-1.0, 0.0, 0.0}).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(family->CheckParameters({1.0, nan, 0.0}).ok());
  EXPECT_EQ(family->CheckParameters({nan, 0.0, 0.0}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mercer
