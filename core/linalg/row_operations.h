// Sums over the rows of a tall matrix that is stored row by row, in single or in double precision:
// every sum is formed in double precision from the stored values, with the widest instructions that
// the processor has.
//
// Rows have `stride` entries, a multiple of kRowPadding; the vectors that they meet have as many,
// and are padded with zeros.
#pragma once

#include <array>

#include "core/base/numeric/types.h"

namespace mercer {

inline constexpr Index kRowPadding = 16;  // entries: a line of the cache, or two

// The smallest stride for rows of so many entries.
inline Index PaddedStride(Index cols) {
  return (cols + kRowPadding - 1) / kRowPadding * kRowPadding;
}

// The product row'x.
double DotRow(const float* row, const double* x, Index stride);
double DotRow(const double* row, const double* x, Index stride);
// out += a[0] rows[0] + ... + a[3] rows[3].
void AddFourRows(const float* const* rows, const double* a, Index stride, double* out);
void AddFourRows(const double* const* rows, const double* a, Index stride, double* out);
// out += factor row.
void AddScaledRow(const float* row, double factor, Index stride, double* out);
void AddScaledRow(const double* row, double factor, Index stride, double* out);
// out = factor row.
void ScaleRow(const float* row, double factor, Index stride, double* out);
void ScaleRow(const double* row, double factor, Index stride, double* out);

// Some rows, one after the other: each has `stride` entries, of which `count` are used.
template <typename Value>
struct RowSpan {
  const Value* begin;
  Index stride;
  Index count;
};

// Adds to `sum` the rows times their values, values(i) row(i), of those rows whose value passes
// `keep`. Four rows are added at once, so that the sum is read and written a quarter as often; it
// has the bits of rows that are added one after the other.
template <typename Value, typename Keep>
void AddRowsWhere(const RowSpan<Value>& rows, const ConstVectorRef& values, const Keep& keep,
                  double* sum) {
  std::array<const Value*, 4> four = {};
  std::array<double, 4> factors = {};
  size_t count = 0;
  for (Index i = 0; i < values.size(); ++i) {
    if (!keep(values(i))) {
      continue;
    }
    four[count] = rows.begin + i * rows.stride;
    factors[count] = values(i);
    if (++count == four.size()) {
      AddFourRows(four.data(), factors.data(), rows.count, sum);
      count = 0;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    AddScaledRow(four[k], factors[k], rows.count, sum);
  }
}

}  // namespace mercer
