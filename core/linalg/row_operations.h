// Sums over the rows of a tall matrix that is stored row by row, in single or in double precision:
// every sum is formed in double precision from the stored values, with the widest instructions that
// the processor has.
//
// Rows have `stride` entries, a multiple of kRowPadding; the vectors that they meet have as many,
// and are padded with zeros.
#pragma once

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

}  // namespace mercer
