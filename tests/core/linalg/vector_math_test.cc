#include "core/linalg/vector_math.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

// |actual - exp(x)| in units of the last place of the nearest double.
double ErrorInUlps(double actual, double x) {
  const long double exact = std::exp(static_cast<long double>(x));
  const auto nearest = static_cast<double>(exact);
  const double ulp = std::nextafter(nearest, std::numeric_limits<double>::infinity()) - nearest;
  return static_cast<double>(std::abs(actual - exact) / ulp);
}

TEST(VectorMathTest, DoubleExponentialIsWithinTwoUlpsOverTheWholeRange) {
  RandomStream stream(1, "exponentials");
  std::vector<double> x;
  for (int i = 0; i < 200000; ++i) {
    x.push_back(-708.39 + 1418.17 * stream.Uniform());
    x.push_back(2.0 * stream.Uniform() - 1.0);
    x.push_back(std::ldexp(stream.Uniform() - 0.5, -static_cast<int>(stream.Below(60))));
  }
  std::vector<double> y(x.size());
  Exp(x, absl::MakeSpan(y));
  double worst = 0;
  double worst_x = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ErrorInUlps(y[i], x[i]);
    if (error > worst) {
      worst = error;
      worst_x = x[i];
    }
  }
  EXPECT_LE(worst, 2.0) << "at " << worst_x;
}

TEST(VectorMathTest, ExponentialOfSpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {0.0,    -0.0,   -infinity, infinity, nan,    -745.2,
                                 -709.0, 709.78, 709.79,    1e300,    -1e300, 1e-320};
  std::vector<double> y(x.size());
  Exp(x, absl::MakeSpan(y));
  EXPECT_EQ(y[0], 1.0);
  EXPECT_EQ(y[1], 1.0);
  EXPECT_EQ(y[2], 0.0);
  EXPECT_EQ(y[3], infinity);
  EXPECT_TRUE(std::isnan(y[4])) << y[4];
  EXPECT_EQ(y[5], 0.0);
  EXPECT_EQ(y[6], 0.0) << "below the smallest normal number";
  EXPECT_LE(ErrorInUlps(y[7], x[7]), 2.0) << y[7];
  EXPECT_EQ(y[8], infinity);
  EXPECT_EQ(y[9], infinity);
  EXPECT_EQ(y[10], 0.0);
  EXPECT_EQ(y[11], 1.0);
}

TEST(VectorMathTest, FloatExponentialIsWithinTwoUlps) {
  RandomStream stream(2, "exponentials");
  std::vector<float> x(100003);
  for (float& value : x) {
    value = static_cast<float>(-87.3 + 176.0 * stream.Uniform());
  }
  x[7] = -std::numeric_limits<float>::infinity();
  std::vector<float> y(x.size());
  Exp(x, absl::MakeSpan(y));
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    const auto nearest = static_cast<float>(exact);
    const double ulp = std::nextafter(nearest, std::numeric_limits<float>::infinity()) - nearest;
    ASSERT_LE(std::abs(y[i] - exact), 2.0 * ulp) << "at " << x[i];
  }
}

TEST(VectorMathTest, BitsDoNotDependOnThePosition) {
  std::vector<double> x(67);
  std::vector<double> y(67);
  for (size_t length = 1; length <= x.size(); ++length) {
    for (size_t i = 0; i < length; ++i) {
      x[i] = -0.1 - 0.37 * static_cast<double>(i % 5);
    }
    Exp(absl::MakeConstSpan(x).first(length), absl::MakeSpan(y).first(length));
    for (size_t i = 5; i < length; ++i) {
      ASSERT_EQ(y[i], y[i % 5]) << "length " << length << ", position " << i;
    }
  }
}

TEST(VectorMathTest, DotProductsOfAllLengths) {
  RandomStream stream(3, "dots");
  std::vector<double> x(100);
  std::vector<double> y(100);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = stream.Normal();
    y[i] = stream.Normal();
  }
  long double expected = 0;
  for (size_t length = 0; length <= x.size(); ++length) {
    EXPECT_NEAR(Dot(x.data(), y.data(), static_cast<Index>(length)), static_cast<double>(expected),
                1e-13);
    if (length < x.size()) {
      expected += static_cast<long double>(x[length]) * y[length];
    }
  }
}

// Whether a matrix is read by its rows or by its columns changes no bit.
TEST(VectorMathTest, ProductsOfColumnsHaveTheBitsOfThoseOfAStrip) {
  RandomStream stream(4, "columns");
  for (const Index rows : {1, 7, 8, 37}) {
    for (const Index cols : {1, 5, 8, 31, 32, 33, 75}) {
      const Index stride = PaddedLength(cols);
      std::vector<double> strip(static_cast<size_t>(rows * stride), 0.0);
      std::vector<std::vector<double>> columns(static_cast<size_t>(cols));
      std::vector<const double*> places;
      std::vector<double> b(static_cast<size_t>(stride), 0.0);
      for (Index c = 0; c < cols; ++c) {
        std::vector<double>& column = columns[static_cast<size_t>(c)];
        for (Index r = 0; r < rows; ++r) {
          column.push_back(stream.Normal());
          strip[static_cast<size_t>(r * stride + c)] = column.back();
        }
        places.push_back(column.data());
        b[static_cast<size_t>(c)] = stream.Normal();
      }
      std::vector<double> expected(static_cast<size_t>(rows));
      StripProducts({strip.data(), rows, cols, stride}, {}, b.data(), stride, 1, expected.data());
      std::vector<double> products(expected.size(), -1.0);
      std::vector<double> scratch;
      ColumnProducts(places, rows, b.data(), scratch, products.data());
      EXPECT_EQ(products, expected) << rows << " x " << cols;
    }
  }
}

}  // namespace
}  // namespace mercer
