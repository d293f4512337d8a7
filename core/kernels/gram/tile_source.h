// The symmetric n x n matrix of one kernel source (distances, dot products, a square block), in
// fixed tiles of the row grid.
//
// Tile (i, j), j <= i, holds the pairs of the rows of block i with those of block j, row by row,
// rows padded to kStripPadding. Diagonal tiles are whole. A tile's bits depend on the data alone,
// stored or computed anew.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/linalg/vector_math.h"

namespace mercer {

// The row grid: n rows in blocks of kBlock.
struct TileGrid {
  static constexpr Index kBlock = 256;

  Index size = 0;

  Index num_blocks() const { return (size + kBlock - 1) / kBlock; }
  Index num_tiles() const { return num_blocks() * (num_blocks() + 1) / 2; }
  Index Begin(Index block) const { return block * kBlock; }
  Index Height(Index block) const {
    return block + 1 < num_blocks() ? kBlock : size - Begin(block);
  }
  Index Stride(Index block) const { return PaddedLength(Height(block)); }
  // Place of tile (i, j) in the packed lower triangle: above block row i all blocks are whole.
  Index Offset(Index i, Index j) const {
    return kBlock * kBlock * i * (i + 1) / 2 + j * kBlock * Height(i);
  }
  Index PackedSize() const {
    const Index last = num_blocks() - 1;
    return last < 0 ? 0 : Offset(last, last) + Height(last) * Stride(last);
  }
  // The lower-triangle tile of number `tile`: (0,0), (1,0), (1,1), (2,0), ...
  std::pair<Index, Index> Tile(Index tile) const {
    Index i = 0;
    while ((i + 1) * (i + 2) / 2 <= tile) {
      ++i;
    }
    return {i, tile - i * (i + 1) / 2};
  }
};

// The pair of rows (r of block i, c of block j) is at values[r * row_stride + c * column_stride].
struct TileView {
  const double* values = nullptr;
  Index row_stride = 0;
  Index column_stride = 0;
};

class TileSource {
 public:
  // Makes the source of the rows `rows` (empty: all) of `data`. Stored when `store`, through the
  // context's cache when the data names its content; otherwise tiles are computed whenever they are
  // read. Errors: kInvalidArgument with reason NOT_SYMMETRIC or NEGATIVE_VALUE, naming rows and
  // columns (from 1); kCancelled.
  static absl::StatusOr<TileSource> Make(const KernelSource& source,
                                         std::shared_ptr<const PreparedData> data,
                                         const std::vector<Index>& rows, bool store,
                                         RunContext& context);

  const TileGrid& grid() const { return grid_; }
  // Values of the pairs (i, i).
  const Vector& diagonal() const { return diagonal_; }
  // Whether no value of a pair is negative; true for distances between features.
  bool nonnegative() const { return nonnegative_; }

  // Tile (i, j) for any i and j. `scratch` keeps a tile that is not stored; the view is valid until
  // its next use. Once cancelled, its values are of no use.
  TileView View(Index i, Index j, const RunContext& context, std::vector<double>& scratch) const;

 private:
  class Producer;
  class FeatureProducer;
  class SquareProducer;

  TileSource() = default;

  TileGrid grid_;
  Vector diagonal_;
  bool nonnegative_ = true;
  std::shared_ptr<const Vector> stored_;
  std::shared_ptr<const Producer> producer_;
};

}  // namespace mercer
