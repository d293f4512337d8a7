// Values of pairs of rows from which kernels are computed: dot products and distances, entry by
// entry (no matrix products), so that a pair's bits do not depend on the pairs beside it.
#pragma once

#include <cstdint>

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

enum class PairValue : uint8_t {
  kDotProduct = 0,
  kSquaredDistance = 1,  // sum_c (x_c - z_c)^2
  kManhattan = 2,        // sum_c |x_c - z_c|
  kChiSquare = 3,        // 1/2 sum_c (x_c - z_c)^2 / (x_c + z_c), 0/0 = 0; entries >= 0
  kHellinger = 4,        // 1/2 sum_c (sqrt(x_c) - sqrt(z_c))^2; entries >= 0
  kMinimum = 5,          // sum_c min(x_c, z_c); entries >= 0
};

// Whether it is a value of histograms, whose entries are not negative.
bool NeedsNonNegative(PairValue value);

// The value of a row of so many columns and itself; exactly 0 where it is a distance.
double PairValueOfRow(PairValue value, const double* row, Index columns);

// out[r * out_stride + c] = value of rows x[r] and z[c]. out_stride >= PaddedLength(z.rows()); the
// padding is written with finite values. Stops early, with values of no use, once cancelled.
void ComputePairValues(PairValue value, const ConstRowMatrixRef& x, const ConstRowMatrixRef& z,
                       double* out, Index out_stride, const RunContext& context);

// Rows and their squared norms.
struct NormedRows {
  ConstRowMatrixRef rows;
  const double* squared_norms = nullptr;
};

// Up to so many columns DistancesFromNorms is a faster way to squared distances than a matrix
// product of the library and a pass that adds the norms.
inline constexpr Index kMaxNormColumns = 128;

// out[r * out_stride + c] = |x_r|^2 + |z_c|^2 - 2 x_r'z_c, with the layout of ComputePairValues;
// for at most kMaxNormColumns columns. The norms of z are padded with zeros. Sets small[r] when a
// result of the row is at most `fraction` of the sum of its norms, where it has lost digits to
// cancellation, or when the row has padding.
void DistancesFromNorms(const NormedRows& x, const NormedRows& z, double fraction, double* out,
                        Index out_stride, bool* small);

}  // namespace mercer
