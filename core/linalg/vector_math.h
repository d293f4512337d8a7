// Elementwise exponentials and the inner loops of kernel sums, compiled for every instruction set
// and chosen at run time.
//
// An element's result has the same bits whatever its position. A sum has one order, fixed by its
// length.
#pragma once

#include <vector>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"

namespace mercer {

// y[i] = exp(x[i]) for all doubles: within 2 units in the last place; 0 where exp(x) is below the
// smallest normal number. x and y may be the same array.
void Exp(absl::Span<const double> x, absl::Span<double> y);
void Exp(absl::Span<const float> x, absl::Span<float> y);

// sum_i x[i] y[i].
double Dot(const double* x, const double* y, Index size);

// Adds x_norm + z_norms[c] to values[c]; answers whether any result is at most `fraction` of what
// was added to it.
bool AddNormsToRow(double x_norm, const double* z_norms, Index size, double fraction,
                   double* values);

// Rows of a strip start at multiples of this many doubles, so that vector loops need no tails.
inline constexpr Index kStripPadding = 8;
constexpr Index PaddedLength(Index size) {
  return (size + kStripPadding - 1) / kStripPadding * kStripPadding;
}

// Some rows of a matrix of distances (or other values of pairs). `stride` is a multiple of
// kStripPadding; the values between `cols` and the next multiple of kStripPadding exist and are
// finite.
struct Strip {
  const double* values = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index stride = 0;
};

// Rows of a lower triangle: row r counts only its first `first + r` columns. Used where a symmetric
// tile meets the diagonal.
struct RowLengths {
  bool triangular = false;
  Index first = 0;

  Index Length(Index row, Index cols) const { return triangular ? first + row : cols; }
};

// In the following, out has the layout of the strip (same stride) and the padding is written too;
// rates are >= 0 and finite.

// out(r, c) = exp(-rate values(r, c)).
void ExponentialValues(const Strip& strip, double rate, double* out);
// out(r, c) += sum_k weights[k] exp(-rates[k] values(r, c)).
void AddExponentials(const Strip& strip, absl::Span<const double> rates,
                     absl::Span<const double> weights, double* out);
// out(r, c) = (scale values(r, c) + offset)^degree.
void PolynomialValues(const Strip& strip, double scale, double offset, int degree, double* out);
// out(r, c) = sqrt(values(r, c)).
void SquareRoots(const Strip& strip, double* out);
// out(r, c) += weight values(r, c).
void AddScaled(const Strip& strip, double weight, double* out);
// out(r, c) = values(r, c) row_factors[r] column_factors[c]; column_factors is padded to the
// strip's padding.
void ScaleRowsAndColumns(const Strip& strip, const double* row_factors,
                         const double* column_factors, double* out);

// products[r * num_rates + k] = sum_c exp(-rates[k] values(r, c)) b[c]; b is padded with zeros.
void ExponentialProducts(const Strip& strip, RowLengths lengths, absl::Span<const double> rates,
                         const double* b, double* products);
// products[r * columns + j] = sum_c values(r, c) b[j * b_stride + c]; each column of b is padded
// with zeros.
void StripProducts(const Strip& strip, RowLengths lengths, const double* b, Index b_stride,
                   Index columns, double* products);
// products[r] = sum_c columns[c][r] b[c] over the rows r < rows: the bits of StripProducts for the
// strip whose columns these are.
void ColumnProducts(absl::Span<const double* const> columns, Index rows, const double* b,
                    std::vector<double>& scratch, double* products);

}  // namespace mercer
