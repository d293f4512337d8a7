// The columns of the explicit features of a linear model at the training rows: a tall matrix that
// grows by the columns of one group at a time. Stored in tiles of rows, row by row, so that one
// pass over a tile serves scores and gradient, and rows that do not count are skipped.
//
// Columns are kept in single precision (half the memory, and half the time of passes, which memory
// bounds) or in double; sums are formed in double precision from the stored values, cut and added
// as row_blocks.h says: results have the same bits for every number of threads, and for hosts that
// own whole blocks of rows.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/base/numeric/row_blocks.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/page_buffer.h"

namespace mercer {

enum class ColumnPrecision { kSingle, kDouble };

// Not copied; safe for concurrent use while nothing is appended. Errors of all operations:
// kCancelled, and of Append kResourceExhausted; they leave the columns as they were and results
// arbitrary.
class FeatureColumns {
 public:
  static constexpr Index kTileRows = kRowPiece;
  // So many rows' scores are computed before their slopes are asked for; divides kTileRows.
  static constexpr Index kPassRows = 256;
  // Appended columns are copied so many at a time: copies of all would take as much as they do.
  static constexpr Index kColumnsAtOnce = 8;

  // Begins without columns.
  FeatureColumns(Index rows, ColumnPrecision precision);
  FeatureColumns(const FeatureColumns&) = delete;
  FeatureColumns& operator=(const FeatureColumns&) = delete;

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  ColumnPrecision precision() const { return precision_; }

  // The most bytes that so many columns, appended in any portions, take at any time.
  static size_t Bytes(Index rows, Index cols, ColumnPrecision precision);

  // Appends (raw(:, j) - offsets(j)) / scales(j), computed in double precision. With an unpenalised
  // bias offsets may be anything: the bias makes up for them; means are best, since columns in
  // single precision that are nearly constant make the matrix of products indefinite.
  absl::Status Append(const ConstMatrixRef& raw, const ConstVectorRef& offsets,
                      const ConstVectorRef& scales, RunContext& context);
  // Makes room for so many columns, those that are there included: until there are more, appending
  // moves nothing.
  absl::Status Reserve(Index cols, RunContext& context);
  // Columns [begin, end) as they are stored, rows() x (end - begin).
  Matrix Columns(Index begin, Index end) const;

  // out = the matrix times x, cols() x k.
  absl::Status Multiply(const ConstMatrixRef& x, MatrixRef out, RunContext& context) const;
  // out = the transposed matrix times a, rows() x k. Rows where a is zero cost nothing when k is
  // small.
  absl::Status MultiplyTransposed(const ConstMatrixRef& a, MatrixRef out,
                                  RunContext& context) const;
  // out += scale sum_j weights(j) row(rows[j])' row(rows[j]), the rows ascending, weights >= 0: the
  // lower triangle; the upper one is arbitrary.
  absl::Status AddGram(absl::Span<const Index> rows, const ConstVectorRef& weights, double scale,
                       MatrixRef out, RunContext& context) const;

  // Slopes of rows [begin, begin + scores.rows()), from their scores; called once for every block
  // of kPassRows rows, concurrently.
  using SlopeFunction = std::function<void(Index begin, const Matrix& scores, Matrix& slopes)>;
  // One pass: scores = the matrix times x, cols() x k, then for the slopes S that `function` makes
  // of them positive = the transposed matrix times max(S, 0), and negative = times min(S, 0); both
  // cols() x k.
  absl::Status ScoreAndReduce(const ConstMatrixRef& x, const SlopeFunction& function,
                              MatrixRef positive, MatrixRef negative, RunContext& context) const;
  // The entries from column `first` on of what ScoreAndReduce would give for these slopes of one
  // task, with the same bits; only these columns are read.
  absl::Status ReduceLast(Index first, const ConstVectorRef& slopes, VectorRef positive,
                          VectorRef negative, RunContext& context) const;

 private:
  // Some rows, of `stride` entries each. Those from cols() on are finite and arbitrary.
  struct Tile {
    Index begin = 0;
    Index rows = 0;
    Index stride = 0;
    PageBuffer pages;

    const float* singles() const { return reinterpret_cast<const float*>(pages.data()); }
    const double* doubles() const { return reinterpret_cast<const double*>(pages.data()); }
  };

  template <typename Value>
  static absl::Status MoveApart(Tile& tile, Index stride);
  template <typename Value>
  void AppendTo(Tile& tile, const ConstMatrixRef& raw, const ConstVectorRef& offsets,
                const ConstVectorRef& scales) const;
  const Tile& TileOf(Index row) const { return tiles_[static_cast<size_t>(row / kTileRows)]; }
  Index MaxStride() const;
  Matrix Padded(const ConstMatrixRef& x) const;
  void ScoreRows(const Tile& tile, Index begin, const ConstMatrixRef& padded, Matrix& scores) const;
  void AddRows(const Tile& tile, Index begin, const ConstMatrixRef& a, Matrix& sums) const;
  void AddSignedRows(const Tile& tile, Index begin, const Matrix& slopes, Matrix& sums) const;
  void AddSignedSlopes(const Tile& tile, Index begin, Index first_column,
                       const ConstVectorRef& slopes, Matrix& sums) const;
  const double* Widen(const Tile& tile, Index begin, Index count, Matrix& buffer) const;

  Index rows_;
  Index cols_ = 0;
  ColumnPrecision precision_;
  std::vector<Tile> tiles_;
};

}  // namespace mercer
