#include "core/linalg/row_products.h"

#include <algorithm>
#include <utility>

#include <cblas.h>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"

namespace mercer {
namespace {

constexpr Index kTileColumns = 256;
constexpr Index kChunkRows = 256;      // of one product of 256 x 256 columns: a few milliseconds
constexpr Index kTasks = 8;            // at least, where there are rows enough
constexpr Index kGatheredRows = 2048;  // at a time
constexpr Index kGatherTask = 128;     // rows

// Computes out = before out + op(a) b.
void Multiply(bool transposed, const ConstMatrixRef& a, const ConstMatrixRef& b, double before,
              MatrixRef out) {
  cblas_dgemm(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
              BlasInt(out.rows()), BlasInt(out.cols()), BlasInt(b.rows()), 1.0, a.data(),
              BlasInt(a.outerStride()), b.data(), BlasInt(b.outerStride()), before, out.data(),
              BlasInt(out.outerStride()));
}

// Adds a'a to `out`, in the lower triangle alone.
void AddGram(const ConstMatrixRef& a, MatrixRef out) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, BlasInt(out.rows()), BlasInt(a.rows()), 1.0,
              a.data(), BlasInt(a.outerStride()), 1.0, out.data(), BlasInt(out.outerStride()));
}

// A tile of a product: some columns of a by some of b.
struct Tile {
  Index row;  // of the result
  Index rows;
  Index col;
  Index cols;
};

std::vector<Tile> TilesOf(Index rows, Index cols, bool lower) {
  std::vector<Tile> tiles;
  for (Index col = 0; col < cols; col += kTileColumns) {
    for (Index row = lower ? col : 0; row < rows; row += kTileColumns) {
      tiles.push_back(
          {row, std::min(kTileColumns, rows - row), col, std::min(kTileColumns, cols - col)});
    }
  }
  return tiles;
}

using AddChunk = std::function<void(const Tile& tile, Index begin, Index count, MatrixRef sum)>;

// Sums the chunks of rows for each tile of `out`. Where there are few tiles, rows are cut into
// parts that are summed apart.
absl::Status SumChunks(Index rows, const std::vector<Tile>& tiles, const AddChunk& add, Matrix& out,
                       RunContext& context) {
  const auto count = static_cast<Index>(tiles.size());
  if (count == 0) {
    return context.CheckCancelled();
  }
  const Index chunks = std::max<Index>(1, (rows + kChunkRows - 1) / kChunkRows);
  const Index wanted = std::clamp((kTasks + count - 1) / count, Index{1}, chunks);
  const Index part_rows = (chunks + wanted - 1) / wanted * kChunkRows;
  const Index parts = std::max<Index>(1, (rows + part_rows - 1) / part_rows);
  std::vector<Matrix> further(static_cast<size_t>(count * (parts - 1)));
  MERCER_RETURN_IF_ERROR(ForRowBlocks(count * parts, 1, context, [&](Index task, Index /*one*/) {
    const Tile& tile = tiles[static_cast<size_t>(task % count)];
    const Index part = task / count;
    const auto add_all = [&](MatrixRef sum) {
      sum.setZero();
      const Index end = std::min(rows, (part + 1) * part_rows);
      for (Index begin = part * part_rows; begin < end && !context.cancelled();
           begin += kChunkRows) {
        add(tile, begin, std::min(kChunkRows, end - begin), sum);
      }
    };
    if (part == 0) {
      add_all(out.block(tile.row, tile.col, tile.rows, tile.cols));
    } else {
      Matrix& sum = further[static_cast<size_t>(task - count)];
      sum.resize(tile.rows, tile.cols);
      add_all(sum);
    }
  }));
  for (size_t k = 0; k < further.size(); ++k) {
    const Tile& tile = tiles[k % tiles.size()];
    out.block(tile.row, tile.col, tile.rows, tile.cols) += further[k];
  }
  return absl::OkStatus();
}

// The columns of some rows of a chunk.
using ChunkColumns = std::function<Matrix(Index begin, Index count, Index col, Index cols)>;

absl::StatusOr<Matrix> GramOfChunks(Index rows, Index columns, const ChunkColumns& chunk,
                                    RunContext& context) {
  Matrix gram(columns, columns);
  const AddChunk add = [&](const Tile& tile, Index begin, Index count, MatrixRef sum) {
    const Matrix of_rows = chunk(begin, count, tile.row, tile.rows);
    if (tile.row == tile.col) {
      AddGram(of_rows, sum);
    } else {
      Multiply(true, of_rows, chunk(begin, count, tile.col, tile.cols), 1.0, sum);
    }
  };
  MERCER_RETURN_IF_ERROR(
      SumChunks(rows, TilesOf(columns, columns, /*lower=*/true), add, gram, context));
  return gram;
}

}  // namespace

absl::Status ForRowBlocks(Index rows, Index block, RunContext& context,
                          const std::function<void(Index begin, Index count)>& body) {
  context.parallel().ForBlocks(rows, block, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      body(begin, end - begin);
    }
  });
  return context.CheckCancelled();
}

Matrix ProductOfBlock(const ConstMatrixRef& a, const ConstMatrixRef& b) {
  Matrix product(a.rows(), b.cols());
  if (product.size() > 0) {
    Multiply(false, a, b, 0.0, product);
  }
  return product;
}

absl::StatusOr<Matrix> ProductOverRows(const ConstMatrixRef& a, const ConstMatrixRef& b,
                                       RunContext& context) {
  Matrix product(a.cols(), b.cols());
  const AddChunk add = [&](const Tile& tile, Index begin, Index count, MatrixRef sum) {
    Multiply(true, a.block(begin, tile.row, count, tile.rows),
             b.block(begin, tile.col, count, tile.cols), 1.0, sum);
  };
  MERCER_RETURN_IF_ERROR(
      SumChunks(a.rows(), TilesOf(a.cols(), b.cols(), /*lower=*/false), add, product, context));
  return product;
}

absl::StatusOr<Matrix> GramOverRows(const ConstMatrixRef& a, const std::vector<Index>& rows,
                                    const Vector& weights, RunContext& context) {
  return GramOfChunks(
      static_cast<Index>(rows.size()), a.cols(),
      [&](Index begin, Index count, Index col, Index cols) {
        Matrix chunk(count, cols);
        for (Index c = 0; c < cols; ++c) {
          for (Index i = 0; i < count; ++i) {
            const Index row = rows[static_cast<size_t>(begin + i)];
            chunk(i, c) = weights(row) * a(row, col + c);
          }
        }
        return chunk;
      },
      context);
}

absl::StatusOr<Matrix> GramOverRows(const ConstMatrixRef& a, RunContext& context) {
  return GramOfChunks(
      a.rows(), a.cols(),
      [&](Index begin, Index count, Index col, Index cols) {
        return Matrix(a.block(begin, col, count, cols));
      },
      context);
}

size_t GramOverRowsBytes(Index columns) {
  const ByteCount all(columns);
  const ByteCount tile(std::min(columns, kTileColumns));
  const ByteCount parts = ByteCount(kTasks) * tile * (tile + ByteCount(2 * kChunkRows));
  return (ByteCount(sizeof(double)) * (all * all + parts)).value();
}

absl::Status AddGramOfRows(const GatheredRows& rows, Index tile, double scale, MatrixRef out,
                           RunContext& context) {
  const Index tiles = (rows.cols + tile - 1) / tile;
  Matrix gathered(rows.stride, std::min(rows.count, kGatheredRows));
  for (Index first = 0; first < rows.count; first += kGatheredRows) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index width = std::min(kGatheredRows, rows.count - first);
    context.parallel().ForBlocks(width, kGatherTask, [&](Index begin, Index end) {
      for (Index j = begin; j < end && !context.cancelled(); ++j) {
        rows.write(first + j, gathered.col(j).data());
      }
    });
    // The lower tiles (i, j), j <= i, numbered row by row.
    context.parallel().ForBlocks(tiles * (tiles + 1) / 2, 1, [&](Index number, Index /*end*/) {
      if (context.cancelled()) {
        return;
      }
      Index i = 0;
      while ((i + 1) * (i + 2) / 2 <= number) {
        ++i;
      }
      const Index j = number - i * (i + 1) / 2;
      const Index height = std::min(tile, rows.cols - i * tile);
      const Index breadth = std::min(tile, rows.cols - j * tile);
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, BlasInt(height), BlasInt(breadth),
                  BlasInt(width), scale, gathered.data() + i * tile, BlasInt(rows.stride),
                  gathered.data() + j * tile, BlasInt(rows.stride), 1.0,
                  out.data() + j * tile * out.outerStride() + i * tile, BlasInt(out.outerStride()));
    });
  }
  return context.CheckCancelled();
}

}  // namespace mercer
