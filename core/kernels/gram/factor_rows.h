// The rows of a tall factor in single precision: half the memory, and half the time of the passes
// over it, which memory bounds. Every sum is formed in double precision from the stored values.
//
// Sums over rows are cut and added as row_blocks.h says: results have the same bits for every number
// of threads, and for hosts that own whole blocks of rows.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// A matrix of rows() x cols(), row by row. Every row is set once, by any thread; afterwards safe
// for concurrent use.
class FactorRows {
 public:
  // Values are arbitrary until they are set: to touch all of a large table takes seconds.
  FactorRows(Index rows, Index cols);

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index stride() const { return stride_; }
  // Rounds cols() values to single precision.
  void SetRow(Index i, ConstVectorRef values);
  // The row: cols() values, followed by zeros up to the next row.
  const float* row(Index i) const { return values_.data() + i * stride_; }

  // Those rows, in their order. Errors: kCancelled.
  absl::StatusOr<FactorRows> Select(absl::Span<const Index> rows, RunContext& context) const;

  // Bytes of so many values.
  static size_t Bytes(Index rows, Index cols);

  // out(i) = row(i)'x. Errors of all operations: kCancelled.
  absl::Status Multiply(ConstVectorRef x, VectorRef out, RunContext& context) const;
  // out(j) = row(rows[j])'x.
  absl::Status MultiplyRows(absl::Span<const Index> rows, ConstVectorRef x, VectorRef out,
                            RunContext& context) const;
  // out = sum_i a(i) row(i). Rows where a is zero cost nothing.
  absl::Status MultiplyTransposed(ConstVectorRef a, VectorRef out, RunContext& context) const;
  // out = the matrix times x, for a few columns at once.
  absl::Status MultiplyMatrix(ConstMatrixRef x, MatrixRef out, RunContext& context) const;
  // out = the transposed matrix times a, for a few columns at once.
  absl::Status MultiplyTransposedMatrix(ConstMatrixRef a, MatrixRef out, RunContext& context) const;
  // row(i)'x and out += a row(i), for x and out of stride() entries, of which those from cols() on
  // are 0.
  double DotRow(Index i, const double* x) const;
  void AddRow(Index i, double a, double* out) const;
  // The matrix with each row times the lower triangular `root`, rounded to single precision.
  absl::StatusOr<FactorRows> TimesTriangular(ConstMatrixRef root, RunContext& context) const;
  // out += scale sum_j weights(j) row(rows[j]) row(rows[j])', the rows ascending, weights >= 0: the
  // lower triangle; the upper one is arbitrary.
  absl::Status AddGram(absl::Span<const Index> rows, ConstVectorRef weights, double scale,
                       MatrixRef out, RunContext& context) const;

 private:
  // The vector x with zeros up to the stride.
  Vector Padded(ConstVectorRef x) const;
  // Rows [begin, end) as columns of stride() entries.
  Matrix Widened(Index begin, Index end) const;

  Index rows_;
  Index cols_;
  Index stride_;
  Eigen::Matrix<float, Eigen::Dynamic, 1> values_;
};

}  // namespace mercer
