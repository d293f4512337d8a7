#include "core/kernels/gram/exact_kernel_family.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_strips.h"
#include "core/linalg/huge_pages.h"

namespace mercer {
namespace {

// Requested rows by block: each block's distinct offsets, ascending.
std::vector<RowOffsets> RequestedRows(const TileGrid& grid, absl::Span<const Index> rows) {
  std::vector<RowOffsets> requested(static_cast<size_t>(grid.num_blocks()));
  if (rows.empty()) {
    for (Index block = 0; block < grid.num_blocks(); ++block) {
      requested[static_cast<size_t>(block)] = AllRows(grid, block);
    }
    return requested;
  }
  for (const Index row : rows) {
    requested[static_cast<size_t>(row / TileGrid::kBlock)].push_back(row % TileGrid::kBlock);
  }
  for (RowOffsets& offsets : requested) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  }
  return requested;
}

// One selection's products on the rows of one block: sums over the blocks of the support in their
// order. products[r * kernels + k], exponential kernels first.
void BlockProducts(const ExactKernels& parts, const Selection& selection,
                   const SupportColumns& input, const RowOffsets& rows, Index i,
                   RunContext& context, std::vector<double>& products) {
  StripReader reader(parts, context);
  std::vector<double> values;
  std::vector<double> strip_products;
  const Index num_kernels = selection.num_kernels();
  const auto num_exponentials = static_cast<Index>(selection.rates.size());
  products.assign(rows.size() * static_cast<size_t>(num_kernels), 0.0);
  for (Index j = 0; j < static_cast<Index>(input.support.size()) && !context.cancelled(); ++j) {
    const TilePairs pairs{i, j, &rows, &input.support[static_cast<size_t>(j)]};
    const double* b = input.gathered[static_cast<size_t>(j)].data();
    reader.ForEachStrip(*selection.group, pairs, [&](const Strip& strip, Index first) {
      strip_products.resize(static_cast<size_t>(strip.rows * std::max<Index>(1, num_exponentials)));
      ExponentialProducts(strip, {}, selection.rates, b, strip_products.data());
      for (Index r = 0; r < strip.rows; ++r) {
        for (Index k = 0; k < num_exponentials; ++k) {
          products[static_cast<size_t>((first + r) * num_kernels + k)] +=
              strip_products[static_cast<size_t>(r * num_exponentials + k)];
        }
      }
      for (size_t k = 0; k < selection.others.size(); ++k) {
        values.resize(static_cast<size_t>(strip.rows * strip.stride));
        reader.OtherValues(selection.others[k], pairs, strip, first, values.data());
        StripProducts({values.data(), strip.rows, strip.cols, strip.stride}, {}, b,
                      PaddedLength(strip.cols), 1, strip_products.data());
        for (Index r = 0; r < strip.rows; ++r) {
          products[static_cast<size_t>((first + r) * num_kernels + num_exponentials +
                                       static_cast<Index>(k))] +=
              strip_products[static_cast<size_t>(r)];
        }
      }
    });
  }
}

// The only row of the support; -1 when there is none or more than one.
Index LoneRow(const SupportColumns& input) {
  Index lone = -1;
  for (size_t block = 0; block < input.support.size(); ++block) {
    const RowOffsets& offsets = input.support[block];
    if (offsets.size() > 1 || (offsets.size() == 1 && lone >= 0)) {
      return -1;
    }
    if (offsets.size() == 1) {
      lone = static_cast<Index>(block) * TileGrid::kBlock + offsets[0];
    }
  }
  return lone;
}

// A vector that is `value` at `row` and 0 elsewhere.
struct LoneEntry {
  Index row;
  double value;
};

// Rows of one block for which the products of a selection are wanted.
struct WantedProducts {
  const Selection& selection;
  const RowOffsets& rows;
  Index block;
};

// The same as BlockProducts for one entry: the pairs with its row lie along one strip, which is
// many times as fast as one to a row.
void LoneRowProducts(const ExactKernels& parts, const WantedProducts& wanted,
                     const LoneEntry& entry, RunContext& context, std::vector<double>& products) {
  const Selection& selection = wanted.selection;
  const RowOffsets& rows = wanted.rows;
  StripReader reader(parts, context);
  std::vector<double> values;
  const Index num_kernels = selection.num_kernels();
  products.assign(rows.size() * static_cast<size_t>(num_kernels), 0.0);
  const RowOffsets own = {entry.row % TileGrid::kBlock};
  const TilePairs pairs{entry.row / TileGrid::kBlock, wanted.block, &own, &rows};
  reader.ForEachStrip(*selection.group, pairs, [&](const Strip& strip, Index first) {
    values.resize(static_cast<size_t>(strip.stride));
    Index place = 0;  // of the kernel
    const auto write = [&] {
      for (Index c = 0; c < strip.cols; ++c) {
        products[static_cast<size_t>(c * num_kernels + place)] =
            entry.value * values[static_cast<size_t>(c)];
      }
      ++place;
    };
    for (const double rate : selection.rates) {
      ExponentialValues(strip, rate, values.data());
      write();
    }
    for (const Index kernel : selection.others) {
      reader.OtherValues(kernel, pairs, strip, first, values.data());
      write();
    }
  });
}

// Writes a combined tile and its mirror image.
void WriteTile(const TileGrid& grid, Index i, Index j, const std::vector<double>& tile,
               Matrix& gram) {
  constexpr Index kRows = 8;  // a cache line of the mirrored columns
  const Index stride = grid.Stride(j);
  const Index width = grid.Height(j);
  for (Index begin = 0; begin < grid.Height(i); begin += kRows) {
    const Index end = std::min(begin + kRows, grid.Height(i));
    for (Index r = begin; r < end; ++r) {
      std::copy_n(tile.data() + r * stride, width,
                  gram.col(grid.Begin(i) + r).data() + grid.Begin(j));
    }
    for (Index c = 0; c < width && i != j; ++c) {
      double* column = gram.col(grid.Begin(j) + c).data() + grid.Begin(i);
      for (Index r = begin; r < end; ++r) {
        column[r] = tile[static_cast<size_t>(r * stride + c)];
      }
    }
  }
}

absl::StatusOr<std::unique_ptr<KernelOperator>> CombineSelections(
    const ExactKernels& parts, const std::vector<Selection>& selections, RunContext& context) {
  const TileGrid grid{parts.size};
  auto gram = std::make_shared<Matrix>(parts.size, parts.size);
  PreferHugePages(gram->data(), static_cast<size_t>(gram->size()) * sizeof(double));
  context.parallel().ForBlocks(grid.num_tiles(), 1, [&](Index number, Index) {
    if (context.cancelled()) {
      return;
    }
    const auto [i, j] = grid.Tile(number);
    StripReader reader(parts, context);
    const RowOffsets rows = AllRows(grid, i);
    const RowOffsets columns = AllRows(grid, j);
    std::vector<double> tile;
    CombinedTile(selections, {i, j, &rows, &columns}, reader, tile);
    WriteTile(grid, i, j, tile, *gram);
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return std::unique_ptr<KernelOperator>(std::make_unique<DenseKernelOperator>(std::move(gram)));
}

// products[r * a.cols() + c] = sum_k K(r, k) a(k, c) over the rows r of one block and the rows k of
// the support in another; `gathered` is `a` at the latter.
using BlockProduct =
    std::function<void(const TilePairs& pairs, const double* gathered, double* products)>;

// out = K a: sums over the blocks of the support of `a` in their order. Each task has its own
// function, with scratch memory of its own.
absl::Status ProductOfBlocks(ConstMatrixRef a, MatrixRef out,
                             const std::function<BlockProduct()>& new_product,
                             RunContext& context) {
  const TileGrid grid{a.rows()};
  const SupportColumns input = GatherSupport(grid, a);
  out.setZero();
  context.parallel().ForBlocks(grid.num_blocks(), 1, [&](Index i, Index) {
    const BlockProduct multiply = new_product();
    const RowOffsets rows = AllRows(grid, i);
    std::vector<double> products(rows.size() * static_cast<size_t>(a.cols()));
    for (Index j = 0; j < grid.num_blocks() && !context.cancelled(); ++j) {
      const RowOffsets& columns = input.support[static_cast<size_t>(j)];
      if (columns.empty()) {
        continue;
      }
      multiply({i, j, &rows, &columns}, input.gathered[static_cast<size_t>(j)].data(),
               products.data());
      for (Index r = 0; r < grid.Height(i); ++r) {
        for (Index c = 0; c < a.cols(); ++c) {
          out(grid.Begin(i) + r, c) += products[static_cast<size_t>(r * a.cols() + c)];
        }
      }
    }
  });
  return context.CheckCancelled();
}

}  // namespace

absl::Status ExactKernelFamily::Products(ConstVectorRef a, absl::Span<const Index> kernels,
                                         absl::Span<const Index> rows, MatrixRef out,
                                         RunContext& context) const {
  const TileGrid grid{size()};
  const SupportColumns input = GatherSupport(grid, a);
  const std::vector<Selection> selections = SelectKernels(parts_, kernels);
  const std::vector<RowOffsets> requested = RequestedRows(grid, rows);
  // The positions in the request of each block's rows.
  std::vector<std::vector<Index>> positions(requested.size());
  const Index num_rows = rows.empty() ? size() : static_cast<Index>(rows.size());
  for (Index p = 0; p < num_rows; ++p) {
    const Index row = rows.empty() ? p : rows[static_cast<size_t>(p)];
    positions[static_cast<size_t>(row / TileGrid::kBlock)].push_back(p);
  }
  const Index num_blocks = grid.num_blocks();
  const Index lone = LoneRow(input);
  context.parallel().ForBlocks(
      static_cast<Index>(selections.size()) * num_blocks, 1, [&](Index item, Index) {
        const Selection& selection = selections[static_cast<size_t>(item / num_blocks)];
        const auto block = static_cast<size_t>(item % num_blocks);
        if (requested[block].empty() || context.cancelled()) {
          return;
        }
        std::vector<double> products;
        if (lone >= 0) {
          LoneRowProducts(parts_, {selection, requested[block], static_cast<Index>(block)},
                          {lone, a(lone)}, context, products);
        } else {
          BlockProducts(parts_, selection, input, requested[block], static_cast<Index>(block),
                        context, products);
        }
        for (const Index position : positions[block]) {
          const Index row = rows.empty() ? position : rows[static_cast<size_t>(position)];
          const auto place = std::lower_bound(requested[block].begin(), requested[block].end(),
                                              row % TileGrid::kBlock);
          const double* source =
              products.data() + (place - requested[block].begin()) * selection.num_kernels();
          const auto write = [&](const std::vector<Index>& outputs) {
            for (const Index output : outputs) {
              const Index kernel = kernels.empty() ? output : kernels[static_cast<size_t>(output)];
              out(position, output) = parts_.scales(kernel) * *source++;
            }
          };
          write(selection.outputs);
          write(selection.other_outputs);
        }
      });
  return context.CheckCancelled();
}

absl::Status ExactKernelFamily::CombinedProduct(ConstVectorRef weights, ConstMatrixRef a,
                                                MatrixRef out, RunContext& context) const {
  const std::vector<Selection> selections = SelectWeighted(parts_, weights);
  const auto new_product = [&]() -> BlockProduct {
    return
        [&, reader = std::make_shared<StripReader>(parts_, context), tile = std::vector<double>()](
            const TilePairs& pairs, const double* gathered, double* products) mutable {
          CombinedTile(selections, pairs, *reader, tile);
          const auto columns = static_cast<Index>(pairs.columns->size());
          const Index stride = PaddedLength(columns);
          StripProducts({tile.data(), static_cast<Index>(pairs.rows->size()), columns, stride}, {},
                        gathered, stride, a.cols(), products);
        };
  };
  return ProductOfBlocks(a, out, new_product, context);
}

absl::Status GramProduct(const Matrix& gram, ConstMatrixRef a, MatrixRef out, RunContext& context) {
  const TileGrid grid{gram.rows()};
  const auto new_product = [&]() -> BlockProduct {
    return [&, columns = std::vector<const double*>(), sums = std::vector<double>()](
               const TilePairs& pairs, const double* gathered, double* products) mutable {
      columns.clear();
      for (const Index column : *pairs.columns) {
        columns.push_back(gram.col(grid.Begin(pairs.j) + column).data() + grid.Begin(pairs.i));
      }
      const auto rows = static_cast<Index>(pairs.rows->size());
      const Index stride = PaddedLength(static_cast<Index>(columns.size()));
      Vector of_column(rows);
      for (Index c = 0; c < a.cols(); ++c) {
        ColumnProducts(columns, rows, gathered + c * stride, sums, of_column.data());
        for (Index r = 0; r < rows; ++r) {
          products[r * a.cols() + c] = of_column(r);
        }
      }
    };
  };
  return ProductOfBlocks(a, out, new_product, context);
}

absl::StatusOr<std::unique_ptr<KernelOperator>> ExactKernelFamily::Combine(
    ConstVectorRef weights, RunContext& context) const {
  return CombineSelections(parts_, SelectWeighted(parts_, weights), context);
}

absl::StatusOr<std::unique_ptr<KernelOperator>> ExactKernelFamily::CombineForSearch(
    ConstVectorRef weights, RunContext& context) const {
  std::vector<Selection> selections = SelectWeighted(parts_, weights);
  UseTables(selections);
  return CombineSelections(parts_, selections, context);
}

absl::Status ExactKernelFamily::Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                                          RunContext& context) const {
  for (const Selection& selection : SelectKernels(parts_, kernels)) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const auto write = [&](const std::vector<Index>& outputs) {
      for (const Index output : outputs) {
        const Index kernel = kernels.empty() ? output : kernels[static_cast<size_t>(output)];
        out.col(output) = parts_.scales(kernel) * KernelDiagonal(parts_, kernel);
      }
    };
    write(selection.outputs);
    write(selection.other_outputs);
  }
  return absl::OkStatus();
}

}  // namespace mercer
