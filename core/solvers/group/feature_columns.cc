#include "core/solvers/group/feature_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include <cblas.h>

#include "core/base/process/row_sums.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"
#include "core/linalg/row_operations.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

constexpr Index kGramTile = 64;   // a tile's update takes about 1 ms
constexpr Index kFewColumns = 4;  // so many are added row by row

// The length of a tile's rows for so many columns, with some room, so that tiles are seldom copied
// when columns are appended.
Index GrownStride(Index cols) { return PaddedStride(cols + cols / 8); }

}  // namespace

FeatureColumns::FeatureColumns(Index rows, ColumnPrecision precision)
    : rows_(rows), precision_(precision) {
  for (Index begin = 0; begin < rows; begin += kTileRows) {
    Tile tile;
    tile.begin = begin;
    tile.rows = std::min(kTileRows, rows - begin);
    tiles_.push_back(std::move(tile));
  }
}

size_t FeatureColumns::Bytes(Index rows, Index cols, ColumnPrecision precision) {
  const ByteCount value(precision == ColumnPrecision::kSingle ? sizeof(float) : sizeof(double));
  return (ByteCount(rows) * ByteCount(GrownStride(cols)) * value).value();
}

// Moves the rows of a tile to a larger stride, within the tile and the last row first, so that the
// tile never exists twice.
template <typename Value>
absl::Status FeatureColumns::MoveApart(Tile& tile, Index stride) {
  const size_t bytes = static_cast<size_t>(tile.rows * stride) * sizeof(Value);
  MERCER_RETURN_IF_ERROR(tile.pages.Reserve(bytes));
  tile.pages.ShrinkToFit(bytes);
  auto* const values = reinterpret_cast<Value*>(tile.pages.data());
  for (Index i = tile.rows - 1; i >= 0 && tile.stride > 0; --i) {
    std::memmove(values + i * stride, values + i * tile.stride,
                 static_cast<size_t>(tile.stride) * sizeof(Value));
    std::fill(values + i * stride + tile.stride, values + (i + 1) * stride, Value{0});
  }
  tile.stride = stride;
  return absl::OkStatus();
}

absl::Status FeatureColumns::Reserve(Index cols, RunContext& context) {
  std::vector<absl::Status> statuses(tiles_.size());
  context.parallel().ForBlocks(static_cast<Index>(tiles_.size()), 1, [&](Index t, Index /*end*/) {
    Tile& tile = tiles_[static_cast<size_t>(t)];
    if (cols > tile.stride && !context.cancelled()) {
      statuses[static_cast<size_t>(t)] = precision_ == ColumnPrecision::kSingle
                                             ? MoveApart<float>(tile, GrownStride(cols))
                                             : MoveApart<double>(tile, GrownStride(cols));
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  for (const absl::Status& status : statuses) {
    MERCER_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

template <typename Value>
void FeatureColumns::AppendTo(Tile& tile, const ConstMatrixRef& raw, const ConstVectorRef& offsets,
                              const ConstVectorRef& scales) const {
  auto* const values = reinterpret_cast<Value*>(tile.pages.data());
  for (Index i = 0; i < tile.rows; ++i) {
    for (Index j = 0; j < raw.cols(); ++j) {
      values[i * tile.stride + cols_ + j] =
          static_cast<Value>((raw(tile.begin + i, j) - offsets(j)) / scales(j));
    }
  }
}

absl::Status FeatureColumns::Append(const ConstMatrixRef& raw, const ConstVectorRef& offsets,
                                    const ConstVectorRef& scales, RunContext& context) {
  MERCER_RETURN_IF_ERROR(Reserve(cols_ + raw.cols(), context));
  context.parallel().ForBlocks(static_cast<Index>(tiles_.size()), 1, [&](Index t, Index /*end*/) {
    Tile& tile = tiles_[static_cast<size_t>(t)];
    if (precision_ == ColumnPrecision::kSingle) {
      AppendTo<float>(tile, raw, offsets, scales);
    } else {
      AppendTo<double>(tile, raw, offsets, scales);
    }
  });
  cols_ += raw.cols();
  return absl::OkStatus();
}

Matrix FeatureColumns::Columns(Index begin, Index end) const {
  Matrix columns(rows_, end - begin);
  for (const Tile& tile : tiles_) {
    for (Index i = 0; i < tile.rows; ++i) {
      for (Index j = begin; j < end; ++j) {
        const Index at = i * tile.stride + j;
        columns(tile.begin + i, j - begin) = precision_ == ColumnPrecision::kSingle
                                                 ? static_cast<double>(tile.singles()[at])
                                                 : tile.doubles()[at];
      }
    }
  }
  return columns;
}

// Tiles have different strides after a call of Append that was cancelled.
Index FeatureColumns::MaxStride() const {
  Index stride = cols_;
  for (const Tile& tile : tiles_) {
    stride = std::max(stride, tile.stride);
  }
  return stride;
}

Matrix FeatureColumns::Padded(const ConstMatrixRef& x) const {
  Matrix padded = Matrix::Zero(MaxStride(), x.cols());
  padded.topRows(cols_) = x;
  return padded;
}

const double* FeatureColumns::Widen(const Tile& tile, Index begin, Index count,
                                    Matrix& buffer) const {
  const Index first = begin - tile.begin;
  if (precision_ == ColumnPrecision::kDouble) {
    return tile.doubles() + first * tile.stride;
  }
  buffer.resize(tile.stride, count);
  for (Index i = 0; i < count; ++i) {
    ScaleRow(tile.singles() + (first + i) * tile.stride, 1.0, tile.stride, buffer.col(i).data());
  }
  return buffer.data();
}

void FeatureColumns::ScoreRows(const Tile& tile, Index begin, const ConstMatrixRef& padded,
                               Matrix& scores) const {
  const Index first = begin - tile.begin;
  if (padded.cols() > 1) {
    Matrix buffer;
    const double* rows = Widen(tile, begin, scores.rows(), buffer);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, BlasInt(scores.rows()),
                BlasInt(scores.cols()), BlasInt(cols_), 1.0, rows, BlasInt(tile.stride),
                padded.data(), BlasInt(padded.outerStride()), 0.0, scores.data(),
                BlasInt(scores.outerStride()));
    return;
  }
  for (Index i = 0; i < scores.rows(); ++i) {
    const Index at = (first + i) * tile.stride;
    scores(i, 0) = precision_ == ColumnPrecision::kSingle
                       ? DotRow(tile.singles() + at, padded.data(), tile.stride)
                       : DotRow(tile.doubles() + at, padded.data(), tile.stride);
  }
}

// Adds the transposed rows from `begin` on, times a, to `sums`, which has `stride` rows.
void FeatureColumns::AddRows(const Tile& tile, Index begin, const ConstMatrixRef& a,
                             Matrix& sums) const {
  if (a.cols() > kFewColumns) {
    Matrix buffer;
    const double* rows = Widen(tile, begin, a.rows(), buffer);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, BlasInt(cols_), BlasInt(a.cols()),
                BlasInt(a.rows()), 1.0, rows, BlasInt(tile.stride), a.data(),
                BlasInt(a.outerStride()), 1.0, sums.data(), BlasInt(sums.outerStride()));
    return;
  }
  const auto nonzero = [](double value) { return value != 0; };
  const Index at = (begin - tile.begin) * tile.stride;
  const auto add = [&](const auto* rows) {
    for (Index k = 0; k < a.cols(); ++k) {
      AddRowsWhere(
          RowSpan<std::remove_cvref_t<decltype(*rows)>>{rows + at, tile.stride, tile.stride},
          a.col(k), nonzero, sums.col(k).data());
    }
  };
  precision_ == ColumnPrecision::kSingle ? add(tile.singles()) : add(tile.doubles());
}

// The same apart for the positive slopes, in the first columns of `sums`, and for the negative
// ones, in the others: the certificate balances the two (docs/mathematics/infinite_features.md,
// section 5).
void FeatureColumns::AddSignedRows(const Tile& tile, Index begin, const Matrix& slopes,
                                   Matrix& sums) const {
  if (slopes.cols() == 1) {
    AddSignedSlopes(tile, begin, 0, slopes.col(0), sums);
    return;
  }
  Matrix parts(slopes.rows(), 2 * slopes.cols());
  parts << slopes.cwiseMax(0.0), slopes.cwiseMin(0.0);
  AddRows(tile, begin, parts, sums);
}

// The same for one task, from column `first_column` on, which is a multiple of kRowPadding.
void FeatureColumns::AddSignedSlopes(const Tile& tile, Index begin, Index first_column,
                                     const ConstVectorRef& slopes, Matrix& sums) const {
  const auto positive = [](double value) { return value > 0; };
  const auto negative = [](double value) { return value < 0; };
  const Index at = (begin - tile.begin) * tile.stride + first_column;
  const auto add = [&](const auto* rows) {
    const RowSpan<std::remove_cvref_t<decltype(*rows)>> span{rows + at, tile.stride,
                                                             tile.stride - first_column};
    AddRowsWhere(span, slopes, positive, sums.col(0).data());
    AddRowsWhere(span, slopes, negative, sums.col(1).data());
  };
  precision_ == ColumnPrecision::kSingle ? add(tile.singles()) : add(tile.doubles());
}

absl::Status FeatureColumns::Multiply(const ConstMatrixRef& x, MatrixRef out,
                                      RunContext& context) const {
  if (cols_ == 0) {
    out.setZero();
    return context.CheckCancelled();
  }
  const Matrix padded = Padded(x);
  context.parallel().ForBlocks(rows_, kPassRows, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      Matrix scores(end - begin, x.cols());
      ScoreRows(TileOf(begin), begin, padded, scores);
      out.middleRows(begin, end - begin) = scores;
    }
  });
  return context.CheckCancelled();
}

absl::Status FeatureColumns::MultiplyTransposed(const ConstMatrixRef& a, MatrixRef out,
                                                RunContext& context) const {
  if (cols_ == 0) {
    out.setZero();
    return context.CheckCancelled();
  }
  const Matrix zero = Matrix::Zero(MaxStride(), a.cols());
  const auto add = [&](Index begin, Index end, Matrix& sum) {
    for (Index first = begin; first < end && !context.cancelled(); first += kPassRows) {
      AddRows(TileOf(begin), first, a.middleRows(first, std::min(kPassRows, end - first)), sum);
    }
  };
  MERCER_ASSIGN_OR_RETURN(const Matrix sum, SumOverRows(rows_, kTileRows, zero, context, add));
  out = sum.topRows(cols_);
  return absl::OkStatus();
}

absl::Status FeatureColumns::ScoreAndReduce(const ConstMatrixRef& x, const SlopeFunction& function,
                                            MatrixRef positive, MatrixRef negative,
                                            RunContext& context) const {
  const Matrix padded = Padded(x);
  const Matrix zero = Matrix::Zero(MaxStride(), 2 * x.cols());
  const auto add = [&](Index begin, Index end, Matrix& sum) {
    const Tile& tile = TileOf(begin);
    for (Index first = begin; first < end && !context.cancelled(); first += kPassRows) {
      const Index count = std::min(kPassRows, end - first);
      Matrix scores = Matrix::Zero(count, x.cols());
      if (cols_ > 0) {
        ScoreRows(tile, first, padded, scores);
      }
      Matrix slopes(count, x.cols());
      function(first, scores, slopes);
      if (cols_ > 0) {
        AddSignedRows(tile, first, slopes, sum);
      }
    }
  };
  MERCER_ASSIGN_OR_RETURN(const Matrix sum, SumOverRows(rows_, kTileRows, zero, context, add));
  positive = sum.topLeftCorner(cols_, x.cols());
  negative = sum.topRightCorner(cols_, x.cols());
  return absl::OkStatus();
}

absl::Status FeatureColumns::ReduceLast(Index first, const ConstVectorRef& slopes,
                                        VectorRef positive, VectorRef negative,
                                        RunContext& context) const {
  const Index from = first / kRowPadding * kRowPadding;
  const Matrix zero = Matrix::Zero(MaxStride() - from, 2);
  const auto add = [&](Index begin, Index end, Matrix& sum) {
    for (Index row = begin; row < end && !context.cancelled(); row += kPassRows) {
      AddSignedSlopes(TileOf(begin), row, from, slopes.segment(row, std::min(kPassRows, end - row)),
                      sum);
    }
  };
  MERCER_ASSIGN_OR_RETURN(const Matrix sum, SumOverRows(rows_, kTileRows, zero, context, add));
  positive = sum.col(0).segment(first - from, cols_ - first);
  negative = sum.col(1).segment(first - from, cols_ - first);
  return absl::OkStatus();
}

absl::Status FeatureColumns::AddGram(absl::Span<const Index> rows, const ConstVectorRef& weights,
                                     double scale, MatrixRef out, RunContext& context) const {
  if (cols_ == 0 || rows.empty()) {
    return context.CheckCancelled();
  }
  const auto write = [&](Index j, double* gathered) {
    const Index row = rows[static_cast<size_t>(j)];
    const Tile& tile = TileOf(row);
    const Index at = (row - tile.begin) * tile.stride;
    const double root = std::sqrt(weights(j));
    precision_ == ColumnPrecision::kSingle
        ? ScaleRow(tile.singles() + at, root, tile.stride, gathered)
        : ScaleRow(tile.doubles() + at, root, tile.stride, gathered);
  };
  return AddGramOfRows({rows, cols_, MaxStride(), write}, kGramTile, scale, out, context);
}

}  // namespace mercer
