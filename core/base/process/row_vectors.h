// Sums and products of vectors with an entry for each training row, summed as row_sums.h says: the
// same bits wherever the vectors lie in memory, columns of matrices among them.
#pragma once

#include "absl/types/span.h"

#include "core/base/numeric/types.h"

namespace mercer {

// sum_i a(i).
double SumOfRows(const ConstVectorRef& a);
// sum_i |a(i)|.
double AbsoluteSumOfRows(const ConstVectorRef& a);
// sum_i a(i) b(i), a and b of one size.
double DotOfRows(const ConstVectorRef& a, const ConstVectorRef& b);
// sum_i a(i)^2.
double SquaredNormOfRows(const ConstVectorRef& a);
// sum_ij a(i, j)^2, the sum of those of its columns.
double SquaredNormOfColumns(const ConstMatrixRef& a);
// sum_i (a(i) - b(i))^2.
double SquaredDistanceOfRows(const ConstVectorRef& a, const ConstVectorRef& b);
// sum_j values(j), values(j) being that of row rows[j], the rows ascending.
double SumOfListedRows(absl::Span<const Index> rows, const ConstVectorRef& values);

}  // namespace mercer
