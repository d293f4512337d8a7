// Strips of kernel values: the step between the tiles of a source and the sums over them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/kernels/gram/exact_kernel_family.h"
#include "core/kernels/gram/tile_source.h"
#include "core/linalg/vector_math.h"

namespace mercer {

// Kernels of one group that an operation asks for. `outputs` are places in the operation's result.
struct Selection {
  const KernelGroup* group = nullptr;
  std::vector<double> rates;    // exponential kernels
  std::vector<double> weights;  // of the exponential kernels; combinations only
  std::vector<Index> outputs;
  std::vector<Index> others;  // the other kernels, by their index in the family
  std::vector<double> other_weights;
  std::vector<Index> other_outputs;
  // When not null, the exponential kernels are read from a table on this grid.
  std::shared_ptr<const ExponentialGrid> grid;
  std::vector<double> coefficients;  // of the weighted sum of the exponentials; combinations only

  Index num_kernels() const { return static_cast<Index>(outputs.size() + others.size()); }
};

// The requested kernels (empty: all) by group; outputs number them in the order of the request.
// Repeated kernels are allowed.
std::vector<Selection> SelectKernels(const ExactKernels& parts, absl::Span<const Index> kernels);
// The kernels with weights other than zero; their weights are multiplied by the normalisation
// factors.
std::vector<Selection> SelectWeighted(const ExactKernels& parts, ConstVectorRef weights);

// Turns the exponentials of combinations into tables where the group has a grid and enough of them
// are selected.
void UseTables(std::vector<Selection>& selections);

// K(x_i, x_i) of one kernel, unit diagonal included, scaling not.
Vector KernelDiagonal(const ExactKernels& parts, Index kernel);

// Rows of one block as offsets into it, ascending.
using RowOffsets = std::vector<Index>;

// All rows of a block.
RowOffsets AllRows(const TileGrid& grid, Index block);

// The columns of a matrix at the rows where any of them is not zero.
struct SupportColumns {
  std::vector<RowOffsets> support;  // per block
  // Per block: the columns at the support, each padded with zeros.
  std::vector<std::vector<double>> gathered;
  Index columns = 0;

  // How far one gathered column is from the next.
  Index Stride(Index block) const {
    return PaddedLength(static_cast<Index>(support[static_cast<size_t>(block)].size()));
  }
};
SupportColumns GatherSupport(const TileGrid& grid, ConstMatrixRef a);

// The pairs of some rows of block i with some rows of block j.
struct TilePairs {
  Index i = 0;
  Index j = 0;
  const RowOffsets* rows = nullptr;
  const RowOffsets* columns = nullptr;
};

// Cuts tiles into strips. One per task; holds its scratch memory.
class StripReader {
 public:
  StripReader(const ExactKernels& parts, const RunContext& context)
      : parts_(parts), context_(context) {}

  // Calls visit(strip, first): `strip` holds the values t that the kernels of `group` read, for the
  // rows first, first + 1, ... of pairs.rows. No more calls once cancelled.
  void ForEachStrip(const KernelGroup& group, const TilePairs& pairs,
                    const std::function<void(const Strip& strip, Index first)>& visit);

  // Values of a kernel that is no exponential, from a strip given to `visit`; unit diagonal
  // included, scaling not. The layout is the strip's.
  void OtherValues(Index kernel, const TilePairs& pairs, const Strip& strip, Index first,
                   double* out);

 private:
  Strip ReadStrip(const TileView& view, const TilePairs& pairs, Index first, Index count);

  const ExactKernels& parts_;
  const RunContext& context_;
  std::vector<double> tile_;
  std::vector<double> strip_;
  std::vector<double> roots_;
  std::vector<double> row_factors_;
  std::vector<double> column_factors_;
};

// Values per strip; a strip and a copy of it fill a first-level cache.
inline constexpr Index kStripValues = 2048;

// sum over `selections` of weights times kernels on `pairs`: rows.size() x
// PaddedLength(columns.size()), row by row.
void CombinedTile(const std::vector<Selection>& selections, const TilePairs& pairs,
                  StripReader& reader, std::vector<double>& out);

}  // namespace mercer
