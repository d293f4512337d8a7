#include "core/features/column_sums.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/features/column_sums.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
using Register = hn::Vec<Tag>;

HWY_INLINE Register LoadDouble(const double* values) { return hn::LoadU(Tag(), values); }
HWY_INLINE Register LoadDouble(const float* values) {
  return hn::PromoteTo(Tag(), hn::LoadU(hn::Rebind<float, Tag>(), values));
}
HWY_INLINE double Total(Register even, Register odd) {
  return hn::GetLane(hn::SumOfLanes(Tag(), hn::Add(even, odd)));
}

// Adds the sums of the column and its product with one vector of slopes.
template <typename Scalar>
HWY_INLINE void AddFirst(const Scalar* values, const double* slopes, Index rows, ColumnSums& sums,
                         double& product) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Register sum0 = hn::Zero(d);
  Register sum1 = hn::Zero(d);
  Register square0 = hn::Zero(d);
  Register square1 = hn::Zero(d);
  Register product0 = hn::Zero(d);
  Register product1 = hn::Zero(d);
  Register largest = hn::Zero(d);
  Index i = 0;
  for (; i + 2 * lanes <= rows; i += 2 * lanes) {
    const Register x0 = LoadDouble(values + i);
    const Register x1 = LoadDouble(values + i + lanes);
    sum0 = hn::Add(sum0, x0);
    sum1 = hn::Add(sum1, x1);
    square0 = hn::MulAdd(x0, x0, square0);
    square1 = hn::MulAdd(x1, x1, square1);
    product0 = hn::MulAdd(x0, hn::LoadU(d, slopes + i), product0);
    product1 = hn::MulAdd(x1, hn::LoadU(d, slopes + i + lanes), product1);
    largest = hn::Max(largest, hn::Max(hn::Abs(x0), hn::Abs(x1)));
  }
  double rest_sum = 0;
  double rest_squares = 0;
  double rest_product = 0;
  double rest_largest = 0;
  for (; i < rows; ++i) {
    const auto x = static_cast<double>(values[i]);
    rest_sum += x;
    rest_squares += x * x;
    rest_product += x * slopes[i];
    rest_largest = std::max(rest_largest, std::abs(x));
  }
  sums.sum += Total(sum0, sum1) + rest_sum;
  sums.squares += Total(square0, square1) + rest_squares;
  sums.largest = std::max({sums.largest, hn::GetLane(hn::MaxOfLanes(d, largest)), rest_largest});
  product += Total(product0, product1) + rest_product;
}

// Adds the column's products with four vectors of slopes, for which the column is read once.
template <typename Scalar>
HWY_INLINE void AddFour(const Scalar* values, const double* const* slopes, Index rows,
                        double* products) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Register sum0 = hn::Zero(d);
  Register sum1 = hn::Zero(d);
  Register sum2 = hn::Zero(d);
  Register sum3 = hn::Zero(d);
  Index i = 0;
  for (; i + lanes <= rows; i += lanes) {
    const Register x = LoadDouble(values + i);
    sum0 = hn::MulAdd(x, hn::LoadU(d, slopes[0] + i), sum0);
    sum1 = hn::MulAdd(x, hn::LoadU(d, slopes[1] + i), sum1);
    sum2 = hn::MulAdd(x, hn::LoadU(d, slopes[2] + i), sum2);
    sum3 = hn::MulAdd(x, hn::LoadU(d, slopes[3] + i), sum3);
  }
  double rest[4] = {};
  for (; i < rows; ++i) {
    for (Index t = 0; t < 4; ++t) {
      rest[t] += static_cast<double>(values[i]) * slopes[t][i];
    }
  }
  products[0] = hn::GetLane(hn::SumOfLanes(d, sum0)) + rest[0];
  products[1] = hn::GetLane(hn::SumOfLanes(d, sum1)) + rest[1];
  products[2] = hn::GetLane(hn::SumOfLanes(d, sum2)) + rest[2];
  products[3] = hn::GetLane(hn::SumOfLanes(d, sum3)) + rest[3];
}

template <typename Scalar>
HWY_INLINE void AddSums(const SummedRows<Scalar>& column, ColumnSums& sums, double* products) {
  AddFirst(column.values, column.slopes, column.rows, sums, products[0]);
  for (Index t = 1; t < column.tasks; t += 4) {
    const Index count = std::min<Index>(4, column.tasks - t);
    const double* slopes[4];
    for (Index s = 0; s < 4; ++s) {
      slopes[s] = column.slopes + (t + std::min(s, count - 1)) * column.slopes_stride;
    }
    double more[4];
    AddFour(column.values, slopes, column.rows, more);
    for (Index s = 0; s < count; ++s) {
      products[t + s] += more[s];
    }
  }
}

void SumsOfDoubles(const SummedRows<double>& column, ColumnSums& sums, double* products) {
  AddSums(column, sums, products);
}
void SumsOfSingles(const SummedRows<float>& column, ColumnSums& sums, double* products) {
  AddSums(column, sums, products);
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {

HWY_EXPORT(SumsOfDoubles);
HWY_EXPORT(SumsOfSingles);

void AddColumnSums(const SummedRows<double>& column, ColumnSums& sums, double* products) {
  HWY_DYNAMIC_DISPATCH(SumsOfDoubles)(column, sums, products);
  sums.finite = std::isfinite(sums.sum);
}

void AddColumnSums(const SummedRows<float>& column, ColumnSums& sums, double* products) {
  HWY_DYNAMIC_DISPATCH(SumsOfSingles)(column, sums, products);
  sums.finite = std::isfinite(sums.sum);
}

}  // namespace mercer
#endif  // HWY_ONCE
