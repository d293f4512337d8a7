// Sums over columns of feature values, in double precision.
#pragma once

#include "core/base/numeric/types.h"

namespace mercer {

// What a round of the search needs to know of one column beside its products with the slopes: the
// sums that make its mean and its scale. Sums are in double precision.
struct ColumnSums {
  double sum = 0;
  double squares = 0;
  double largest = 0;  // of the absolute values
  bool finite = true;  // every value; the others mean nothing else
};

// Columns and slopes over the same rows.
template <typename Scalar>
struct SummedRows {
  const Scalar* values = nullptr;  // one column
  const double* slopes = nullptr;  // the first of `tasks` columns
  Index slopes_stride = 0;
  Index tasks = 0;  // at least 1
  Index rows = 0;
};

// Adds the rows' sums to `sums`, and products[t] += sum_i values[i] slopes_t[i]. The order of
// summation depends on the number of rows alone.
void AddColumnSums(const SummedRows<double>& column, ColumnSums& sums, double* products);
void AddColumnSums(const SummedRows<float>& column, ColumnSums& sums, double* products);

}  // namespace mercer
