#include "core/linalg/row_products.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include <cblas.h>

#include "core/base/numeric/row_blocks.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"

namespace mercer {
namespace {

constexpr Index kTileColumns = 256;
constexpr Index kChunkRows = 256;     // of one product of 256 x 256 columns: a few milliseconds
constexpr Index kTasks = 8;           // at least, where there are rows enough
constexpr Index kGatherTask = 128;    // rows
constexpr Index kMostGramTile = 128;  // columns that AddGramOfRows is asked for

// Computes out = before out + op(a) b.
void Multiply(bool transposed, const ConstMatrixRef& a, const ConstMatrixRef& b, double before,
              MatrixRef out) {
  if (transposed && b.cols() == 1) {  // as a product of matrices it would copy all of a first
    cblas_dgemv(CblasColMajor, CblasTrans, BlasInt(a.rows()), BlasInt(a.cols()), 1.0, a.data(),
                BlasInt(a.outerStride()), b.data(), 1, before, out.data(), 1);
    return;
  }
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

// How the pieces of a sum become tasks: so many subtrees of one height.
struct Subtrees {
  Index count = 0;
  int height = 0;
};

// Where there are few tiles, each is summed by several tasks. Which they are changes no bits.
Subtrees SubtreesOf(Index pieces, Index tiles) {
  Subtrees trees{pieces, 0};
  while (trees.count > 1 && (trees.count + 1) / 2 * tiles >= kTasks) {
    trees.count = (trees.count + 1) / 2;
    ++trees.height;
  }
  return trees;
}

// The sum of some pieces for a tile: those of one subtree, or the whole tree.
Matrix SumOfPieces(absl::Span<const RowPiece> pieces, const Tile& tile, const AddChunk& add,
                   const RunContext& context) {
  PairwiseSum<Matrix> tree;
  for (const RowPiece& piece : pieces) {
    Matrix sum = Matrix::Zero(tile.rows, tile.cols);
    for (Index at = 0; at < piece.count && !context.cancelled(); at += kChunkRows) {
      add(tile, piece.begin + at, std::min(kChunkRows, piece.count - at), sum);
    }
    tree.Add(piece.number, std::move(sum));
  }
  return tree.Total(Matrix::Zero(tile.rows, tile.cols));
}

// Sums the pieces for each tile of `out`.
absl::Status SumPieces(const std::vector<RowPiece>& pieces, const std::vector<Tile>& tiles,
                       const AddChunk& add, Matrix& out, RunContext& context) {
  const auto num_tiles = static_cast<Index>(tiles.size());
  if (num_tiles == 0 || pieces.empty()) {
    out.setZero();
    return context.CheckCancelled();
  }
  const Subtrees trees = SubtreesOf(pieces.back().number + 1, num_tiles);
  std::vector<Matrix> sums(static_cast<size_t>(trees.count * num_tiles));
  MERCER_RETURN_IF_ERROR(
      ForRowBlocks(trees.count * num_tiles, 1, context, [&](Index task, Index /*one*/) {
        const auto of_tree = [&](Index number) {  // the first piece from this tree on
          return std::lower_bound(
              pieces.begin(), pieces.end(), number << trees.height,
              [](const RowPiece& piece, Index first) { return piece.number < first; });
        };
        const Index number = task / num_tiles;
        const auto begin = of_tree(number);
        const auto some =
            absl::MakeConstSpan(pieces).subspan(static_cast<size_t>(begin - pieces.begin()),
                                                static_cast<size_t>(of_tree(number + 1) - begin));
        const Tile& tile = tiles[static_cast<size_t>(task % num_tiles)];
        if (trees.count == 1) {
          out.block(tile.row, tile.col, tile.rows, tile.cols) =
              SumOfPieces(some, tile, add, context);
        } else if (!some.empty()) {
          sums[static_cast<size_t>(task)] = SumOfPieces(some, tile, add, context);
        }
      }));
  for (Index t = 0; t < num_tiles && trees.count > 1; ++t) {
    PairwiseSum<Matrix> tree;
    for (Index number = 0; number < trees.count; ++number) {
      Matrix& sum = sums[static_cast<size_t>(number * num_tiles + t)];
      if (sum.size() > 0) {
        tree.Add(number, std::move(sum));
      }
    }
    const Tile& tile = tiles[static_cast<size_t>(t)];
    out.block(tile.row, tile.col, tile.rows, tile.cols) = tree.Total(Matrix());
  }
  return absl::OkStatus();
}

// The place of a tile among those of a lower triangle, which are numbered row by row.
struct TilePlace {
  Index row = 0;
  Index col = 0;
};

TilePlace PlaceOfTile(Index number) {
  Index row = 0;
  while ((row + 1) * (row + 2) / 2 <= number) {
    ++row;
  }
  return {row, number - row * (row + 1) / 2};
}

// chunk(begin, count, col, cols) is the columns of some rows of a chunk.
template <typename ChunkColumns>
absl::StatusOr<Matrix> GramOfPieces(const std::vector<RowPiece>& pieces, Index columns,
                                    const ChunkColumns& chunk, RunContext& context) {
  Matrix gram(columns, columns);
  const AddChunk add = [&](const Tile& tile, Index begin, Index count, MatrixRef sum) {
    const auto of_rows = chunk(begin, count, tile.row, tile.rows);
    if (tile.row == tile.col) {
      AddGram(of_rows, sum);
    } else {
      Multiply(true, of_rows, chunk(begin, count, tile.col, tile.cols), 1.0, sum);
    }
  };
  MERCER_RETURN_IF_ERROR(
      SumPieces(pieces, TilesOf(columns, columns, /*lower=*/true), add, gram, context));
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
  MERCER_RETURN_IF_ERROR(SumPieces(
      PiecesOfRows(a.rows()), TilesOf(a.cols(), b.cols(), /*lower=*/false), add, product, context));
  return product;
}

absl::StatusOr<Matrix> GramOverRows(const ConstMatrixRef& a, const std::vector<Index>& rows,
                                    const Vector& weights, RunContext& context) {
  return GramOfPieces(
      PiecesOfList(rows), a.cols(),
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
  return GramOfPieces(
      PiecesOfRows(a.rows()), a.cols(),
      [&](Index begin, Index count, Index col, Index cols) {
        return a.block(begin, col, count, cols);
      },
      context);
}

size_t GramOverRowsBytes(Index rows, Index columns) {
  const Index in_a_row = (columns + kTileColumns - 1) / kTileColumns;
  const Subtrees trees = SubtreesOf(CountPieces(rows, kRowPiece), in_a_row * (in_a_row + 1) / 2);
  const Index tasks = trees.count * in_a_row * (in_a_row + 1) / 2;
  const Index kept = trees.count > 1 ? tasks : 0;
  const Index of_a_task = trees.height + 2;  // the nodes of a path and the piece
  const ByteCount all(columns);
  const ByteCount tile(std::min(columns, kTileColumns));
  const ByteCount running(std::min(tasks, kTasks));
  const ByteCount sums = (ByteCount(kept) + running * ByteCount(of_a_task)) * tile * tile;
  return (ByteCount(sizeof(double)) *
          (all * all + sums + running * tile * ByteCount(2 * kChunkRows)))
      .value();
}

namespace {

// Adds the products of some gathered rows to the trees of the lower tiles (i, j), j <= i, numbered
// row by row.
void AddPiecesToTiles(const GatheredRows& rows, Index tile, const Matrix& gathered,
                      absl::Span<const RowPiece> pieces, std::vector<PairwiseSum<Matrix>>& trees,
                      RunContext& context) {
  const auto tiles = static_cast<Index>(trees.size());
  context.parallel().ForBlocks(tiles, 1, [&](Index number, Index /*end*/) {
    const TilePlace place = PlaceOfTile(number);
    const Index height = std::min(tile, rows.cols - place.row * tile);
    const Index breadth = std::min(tile, rows.cols - place.col * tile);
    for (const RowPiece& piece : pieces) {
      if (context.cancelled()) {
        return;
      }
      const double* const first = gathered.col(piece.begin - pieces.front().begin).data();
      Matrix sum(height, breadth);
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, BlasInt(height), BlasInt(breadth),
                  BlasInt(piece.count), 1.0, first + place.row * tile, BlasInt(rows.stride),
                  first + place.col * tile, BlasInt(rows.stride), 0.0, sum.data(), BlasInt(height));
      trees[static_cast<size_t>(number)].Add(piece.number, std::move(sum));
    }
  });
}

}  // namespace

absl::Status AddGramOfRows(const GatheredRows& rows, Index tile, double scale, MatrixRef out,
                           RunContext& context) {
  const std::vector<RowPiece> pieces = PiecesOfList(rows.rows);
  const Index tiles = (rows.cols + tile - 1) / tile;
  std::vector<PairwiseSum<Matrix>> trees(static_cast<size_t>(tiles * (tiles + 1) / 2));
  const auto count = static_cast<Index>(rows.rows.size());
  Matrix gathered(rows.stride, std::min(count, kRowPiece));
  for (size_t first = 0; first < pieces.size();) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    // As many whole pieces as there is room for.
    size_t last = first;
    Index width = 0;
    while (last < pieces.size() && width + pieces[last].count <= kRowPiece) {
      width += pieces[last++].count;
    }
    const Index from = pieces[first].begin;
    context.parallel().ForBlocks(width, kGatherTask, [&](Index begin, Index end) {
      for (Index j = begin; j < end && !context.cancelled(); ++j) {
        rows.write(from + j, gathered.col(j).data());
      }
    });
    AddPiecesToTiles(rows, tile, gathered, absl::MakeConstSpan(pieces).subspan(first, last - first),
                     trees, context);
    first = last;
  }
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  for (size_t number = 0; number < trees.size() && count > 0; ++number) {
    const TilePlace place = PlaceOfTile(static_cast<Index>(number));
    const Matrix sum = trees[number].Total(Matrix());
    out.block(place.row * tile, place.col * tile, sum.rows(), sum.cols()) += scale * sum;
  }
  return absl::OkStatus();
}

size_t GramOfRowsBytes(Index rows, Index columns) {
  const auto pieces = static_cast<uint64_t>(CountPieces(rows, kRowPiece));
  const auto levels = static_cast<Index>(std::bit_width(pieces)) + 1;
  // Half the square, and the rest of the tiles on its diagonal.
  const ByteCount triangle = ByteCount(columns) * ByteCount((columns + kMostGramTile) / 2 + 1);
  return (ByteCount(sizeof(double)) * ByteCount(levels) * triangle).value();
}

}  // namespace mercer
