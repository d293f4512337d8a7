#include "core/linalg/exponential_table.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/kernels/gram/kernel_family.h"
#include "tests/core/kernels/kernel_test_data.h"

namespace mercer {
namespace {

// Distances from 0 to far beyond every width, padded for strips.
std::vector<double> Distances(double min_rate, double max_rate) {
  std::vector<double> t = {0.0, 1e-300, 1e300};
  const double first = 1e-4 / max_rate;
  const double last = 1e3 / min_rate;
  for (int i = 0; i < 20005; ++i) {
    t.push_back(first * std::pow(last / first, i / 20004.0));
  }
  t.resize(static_cast<size_t>(PaddedLength(static_cast<Index>(t.size()))), 0.0);
  return t;
}

TEST(ExponentialTableTest, ValuesAreWithinRoundingOfTheSum) {
  const std::vector<double> rates = {0.5, 0.031, 2e-3, 5e-5};
  const std::vector<double> weights = {1.0, 0.2, 3.0, 0.7};
  const auto grid = ExponentialGrid::Make(5e-5, 0.5);
  ASSERT_NE(grid, nullptr);
  std::vector<double> table(static_cast<size_t>(grid->num_values()), 0.0);
  AddExponentials({grid->nodes().data(), 1, grid->num_values(), grid->num_values()}, rates, weights,
                  table.data());
  grid->ToCoefficients(absl::MakeSpan(table));
  const std::vector<double> t = Distances(5e-5, 0.5);
  const auto size = static_cast<Index>(t.size());
  std::vector<double> values(t.size(), 0.0);
  grid->AddValues({t.data(), 1, size, size}, table.data(), values.data());
  for (size_t i = 0; i < t.size(); ++i) {
    long double expected = 0;
    for (size_t k = 0; k < rates.size(); ++k) {
      expected += weights[k] * std::exp(-static_cast<long double>(rates[k]) * t[i]);
    }
    ASSERT_NEAR(values[i], static_cast<double>(expected), 1e-14 * 4.9) << "at t = " << t[i];
  }
}

TEST(ExponentialTableTest, MomentsAreTheTransposeOfValues) {
  const auto grid = ExponentialGrid::Make(1e-3, 1.0);
  ASSERT_NE(grid, nullptr);
  const std::vector<double> t = Distances(1e-3, 1.0);
  const auto size = static_cast<Index>(t.size());
  std::vector<double> b(t.size());
  RandomStream stream(1, "moments");
  for (double& value : b) {
    value = stream.Normal();
  }
  const Index length = size - 3;
  const double row_weight = -1.5;
  std::vector<double> moments(static_cast<size_t>(grid->num_values()), 0.0);
  grid->AddMoments({t.data(), 1, size, size}, {true, length}, &row_weight, b.data(),
                   moments.data());
  grid->ToNodeWeights(absl::MakeSpan(moments));
  for (const double rate : {1e-3, 0.02, 1.0}) {
    long double actual = 0;
    for (Index i = 0; i < grid->num_values(); ++i) {
      actual += moments[static_cast<size_t>(i)] *
                std::exp(-static_cast<long double>(rate) * grid->nodes()(i));
    }
    long double expected = 0;
    long double magnitude = 0;
    for (Index i = 0; i < length; ++i) {
      const long double term =
          row_weight * b[static_cast<size_t>(i)] *
          std::exp(-static_cast<long double>(rate) * t[static_cast<size_t>(i)]);
      expected += term;
      magnitude += std::abs(term);
    }
    EXPECT_NEAR(static_cast<double>(actual), static_cast<double>(expected),
                1e-13 * static_cast<double>(magnitude));
  }
}

TEST(ExponentialTableTest, RatesTooFarApartHaveNoGrid) {
  EXPECT_EQ(ExponentialGrid::Make(0.0, 1.0), nullptr);
  EXPECT_EQ(ExponentialGrid::Make(1e-30, 1.0), nullptr);
  EXPECT_EQ(ExponentialGrid::Make(1.0, kInfinity), nullptr);
}

TEST(KernelFamilySearchTest, SearchOperationsAreWithinTheirTolerance) {
  const auto data = MixedData(700, 9);
  std::vector<KernelSpec> kernels;
  for (int k = 0; k < 20; ++k) {
    kernels.push_back(MakeSpec(KernelType::kGaussian, "x", std::pow(100.0, k / 19.0)));
    kernels.push_back(MakeSpec(KernelType::kDistance, "D", std::pow(10.0, k / 19.0)));
    kernels.push_back(MakeSpec(KernelType::kEuclidean, "wide", std::pow(100.0, k / 19.0)));
  }
  kernels.push_back(MakeSpec(KernelType::kLinear, "x"));
  RunContext context;
  auto family = MakeExactKernelFamily(data, {}, kernels, context);
  ASSERT_TRUE(family.ok()) << family.status();
  const Index m = (*family)->num_kernels();
  Vector weights = Vector::LinSpaced(m, -0.3, 1.0);
  weights(m - 1) = 0.1;
  const auto exact = (*family)->Combine(weights, context);
  const auto search = (*family)->CombineForSearch(weights, context);
  ASSERT_TRUE(exact.ok() && search.ok());
  const double largest = weights.cwiseAbs().sum() + 0.1 * (*exact)->Dense()->diagonal().maxCoeff();
  const double difference = (*(*exact)->Dense() - *(*search)->Dense()).cwiseAbs().maxCoeff();
  EXPECT_LE(difference, 1e-13 * largest);
  EXPECT_GT(difference, 0.0) << "the table was not used";

  Matrix a = RandomRows(700, 3, 4);
  a.topRows(100).setZero();
  Matrix exact_forms(m, 3);
  Matrix search_forms(m, 3);
  ASSERT_TRUE((*family)->QuadraticForms(a, {}, exact_forms, context).ok());
  ASSERT_TRUE((*family)->QuadraticFormsForSearch(a, {}, search_forms, context).ok());
  for (Index j = 0; j < 3; ++j) {
    const double magnitude = a.col(j).lpNorm<1>() * a.col(j).lpNorm<1>();
    EXPECT_LE((exact_forms.col(j) - search_forms.col(j)).head(m - 1).cwiseAbs().maxCoeff(),
              1e-13 * magnitude);
  }
  EXPECT_GT((exact_forms - search_forms).cwiseAbs().maxCoeff(), 0.0) << "the table was not used";
  const std::vector<Index> some = {5, 33};
  Matrix some_forms(2, 3);
  ASSERT_TRUE((*family)->QuadraticFormsForSearch(a, some, some_forms, context).ok());
  EXPECT_TRUE((some_forms.row(0).array() == search_forms.row(5).array()).all());
  EXPECT_TRUE((some_forms.row(1).array() == search_forms.row(33).array()).all());
}

}  // namespace
}  // namespace mercer
