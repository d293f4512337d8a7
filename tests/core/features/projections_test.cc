#include "core/features/projections.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "hwy/highway.h"
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/features/column_sums.h"
#include "tests/core/features/feature_test_data.h"

namespace mercer {
namespace {

// Calls test() with each instruction set of this processor in turn.
void ForEachInstructionSet(const std::function<void()>& test) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Of every size up to 1e8, and near multiples of pi/2, where a sine or cosine is nearly 0.
std::vector<double> Arguments() {
  RandomStream stream(1, "arguments");
  std::vector<double> x = {0.0, -0.0, 1e8, -1e8, 5e-324, 1e-20, std::numbers::pi / 4};
  for (int i = 0; i < 20000; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    x.push_back(sign * 8 * stream.Uniform());
    x.push_back(sign * std::exp(std::log(1e8) * stream.Uniform()));
    x.push_back(sign * 1e8 * stream.Uniform());
    const double multiple = std::floor(6.3e7 * std::pow(stream.Uniform(), 4));
    const double near = sign * multiple * (std::numbers::pi / 2);
    x.push_back(near);
    x.push_back(std::nextafter(near, 1e9));
  }
  return x;
}

// cos x and sin x by the library in extended precision: the worst errors of ours.
template <typename Values>
void ExpectCosinesAndSinesWithin(double tolerance) {
  const std::vector<double> x = Arguments();
  const auto size = static_cast<Index>(x.size());
  const RowMatrix rows = Eigen::Map<const RowMatrix>(x.data(), size, 1);
  Values values(size, 2);
  CosinesAndSines(ProjectionVectors<double>(Matrix::Ones(1, 1)), rows, values);
  double worst = 0;
  double worst_x = 0;
  for (Index i = 0; i < size; ++i) {
    const auto argument = static_cast<long double>(rows(i, 0));
    const double error = static_cast<double>(std::max(std::abs(values(i, 0) - std::cos(argument)),
                                                      std::abs(values(i, 1) - std::sin(argument))));
    if (!(error <= worst)) {
      worst = error;
      worst_x = rows(i, 0);
    }
  }
  EXPECT_LE(worst, tolerance) << "at " << worst_x;
}

TEST(ProjectionsTest, CosinesAndSinesAreWithinTheirErrorsOnEveryInstructionSet) {
  ForEachInstructionSet([] {
    ExpectCosinesAndSinesWithin<Matrix>(2 * std::numeric_limits<double>::epsilon());
    ExpectCosinesAndSinesWithin<SingleMatrix>(1e-7);
  });
}

TEST(ProjectionsTest, BeyondTheLargestArgumentThereIsNoValue) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> x = {1e8,
                                 std::nextafter(1e8, 2e8),
                                 -1.0001e8,
                                 1e300,
                                 -infinity,
                                 infinity,
                                 std::numeric_limits<double>::quiet_NaN(),
                                 1.0};
  const RowMatrix rows = Eigen::Map<const RowMatrix>(x.data(), 8, 1);
  ForEachInstructionSet([&] {
    Matrix values(8, 2);
    SingleMatrix single(8, 2);
    CosinesAndSines(ProjectionVectors<double>(Matrix::Ones(1, 1)), rows, values);
    CosinesAndSines(ProjectionVectors<double>(Matrix::Ones(1, 1)), rows, single);
    for (Index i = 0; i < 8; ++i) {
      const bool valid = i == 0 || i == 7;
      for (Index c = 0; c < 2; ++c) {
        EXPECT_EQ(std::isfinite(values(i, c)), valid) << i;
        EXPECT_EQ(std::isfinite(single(i, c)), valid) << i;
      }
    }
  });
}

TEST(ProjectionsTest, ArgumentsAreSumsOfProductsInDoublePrecision) {
  for (const Index inputs : {1, 2, 22, 129}) {
    const RowMatrix rows = NormalRows(100, inputs, 4);
    const Matrix vectors = NormalRows(inputs, 7, 5);
    const Eigen::MatrixXd arguments = rows * vectors;
    ForEachInstructionSet([&] {
      Matrix values(100, 14);
      CosinesAndSines(ProjectionVectors<double>(vectors), rows, values);
      for (Index g = 0; g < 7; ++g) {
        const double cosine_error =
            (values.col(2 * g).array() - arguments.col(g).array().cos()).abs().maxCoeff();
        const double sine_error =
            (values.col(2 * g + 1).array() - arguments.col(g).array().sin()).abs().maxCoeff();
        EXPECT_LE(std::max(cosine_error, sine_error), 1e-13) << inputs << " " << g;
      }
    });
  }
}

TEST(ProjectionsTest, AbsoluteSumsAddTheirVectors) {
  const RowMatrix rows = NormalRows(67, 9, 6);
  Matrix vectors = NormalRows(9, 24, 7);
  vectors.col(7).setZero();
  const Matrix products = (rows * vectors).cwiseAbs();
  ForEachInstructionSet([&] {
    Matrix sums(67, 3);
    SingleMatrix single(67, 3);
    AbsoluteSums(ProjectionVectors<double>(vectors), 8, rows, sums);
    AbsoluteSums(ProjectionVectors<float>(vectors), 8, rows, single);
    for (Index j = 0; j < 3; ++j) {
      const Vector expected = products.middleCols(8 * j, 8).rowwise().sum();
      EXPECT_LE((sums.col(j) - expected).cwiseAbs().maxCoeff(), 1e-13);
      EXPECT_LE((single.col(j).cast<double>() - expected).cwiseAbs().maxCoeff(), 1e-4);
    }
  });
}

// A value depends on its row alone: many rows at once, in pieces, and rows that are part of a wider table.
TEST(ProjectionsTest, BitsDependOnTheRowAlone) {
  const RowMatrix wide = NormalRows(5000, 40, 8);
  const auto rows = wide.middleCols(3, 33);
  const ProjectionVectors<double> vectors(NormalRows(33, 5, 9));
  Matrix whole(5000, 10);
  SingleMatrix single(5000, 10);
  CosinesAndSines(vectors, rows, whole);
  CosinesAndSines(vectors, rows, single);
  for (const Index count : {1, 31, 33, 100, 2500}) {
    const Index first = 5000 - count - 7;
    const RowMatrix copy = rows.middleRows(first, count);
    Matrix part(count, 10);
    SingleMatrix single_part(count, 10);
    CosinesAndSines(vectors, copy, part);
    CosinesAndSines(vectors, copy, single_part);
    EXPECT_EQ(part, whole.middleRows(first, count)) << count;
    EXPECT_EQ(single_part, single.middleRows(first, count)) << count;
  }
}

template <typename Scalar>
void ExpectSums(Index rows, Index tasks) {
  const Matrix values = NormalRows(rows, 1, 10);
  const Eigen::Matrix<Scalar, Eigen::Dynamic, 1> column = values.col(0).cast<Scalar>();
  const Matrix slopes = NormalRows(rows, tasks, 11);
  ColumnSums sums;
  sums.sum = 100;
  sums.largest = 0.125;
  std::vector<double> products(static_cast<size_t>(tasks), 7.0);
  AddColumnSums({column.data(), slopes.data(), slopes.outerStride(), tasks, rows}, sums,
                products.data());
  const Vector exact = column.template cast<double>();
  EXPECT_NEAR(sums.sum, 100 + exact.sum(), 1e-12);
  EXPECT_NEAR(sums.squares, exact.squaredNorm(), 1e-11);
  EXPECT_EQ(sums.largest, std::max(0.125, rows > 0 ? exact.cwiseAbs().maxCoeff() : 0.0));
  EXPECT_TRUE(sums.finite);
  for (Index t = 0; t < tasks; ++t) {
    EXPECT_NEAR(products[static_cast<size_t>(t)], 7 + exact.dot(slopes.col(t)), 1e-12) << t;
  }
}

TEST(ColumnSumsTest, AddsToWhatIsThereForAnyShape) {
  ForEachInstructionSet([] {
    for (const Index rows : {0, 1, 7, 16, 33, 256}) {
      for (const Index tasks : {1, 2, 4, 5, 6, 9}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << tasks << " tasks");
        ExpectSums<double>(rows, tasks);
        ExpectSums<float>(rows, tasks);
      }
    }
  });
}

TEST(ColumnSumsTest, ANumberThatIsNoneIsNeverForgotten) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    for (const Index place : {0, 17, 39}) {
      Vector column = Vector::Ones(40);
      column(place) = bad;
      ColumnSums sums;
      double product = 0;
      AddColumnSums({column.data(), column.data(), 40, 1, 40}, sums, &product);
      EXPECT_FALSE(sums.finite);
      column.setConstant(-bad);
      AddColumnSums({column.data(), column.data(), 40, 1, 40}, sums, &product);
      column.setOnes();
      AddColumnSums({column.data(), column.data(), 40, 1, 40}, sums, &product);
      EXPECT_FALSE(sums.finite) << bad << " at " << place;
    }
  }
}

}  // namespace
}  // namespace mercer
