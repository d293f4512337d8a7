// The energies a_j' K_k a_j of all kernels. Every tile adds its part to a slot of its own, and
// slots are summed in the order of the tiles, so that bits do not depend on threads.
//
// For the search, the exponential kernels of a group share one slot of moments
// (exponential_table.h) instead of having a sum each.
#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/exact_kernel_family.h"
#include "core/kernels/gram/kernel_strips.h"

namespace mercer {
namespace {

// How many doubles of partial sums are kept at a time. Batches only bound memory: sums do not
// depend on them.
constexpr size_t kSlotValues = size_t{1} << 21;
// A table pays when there are several pairs to scatter for each of its values.
constexpr Index kPairsPerTableValue = 8;

// Sums of one selection, for each kernel and column: exponential kernels (or the moments of the
// columns), then the others.
Index ExponentialSlots(const Selection& selection, Index columns) {
  return columns * (selection.grid != nullptr ? selection.grid->num_values()
                                              : static_cast<Index>(selection.rates.size()));
}
Index NumSlots(const Selection& selection, Index columns) {
  return ExponentialSlots(selection, columns) +
         columns * static_cast<Index>(selection.others.size());
}

// Adds a_i' K a_j (diagonal tiles: its strictly lower part) of one tile to slots.
class QuadraticTile {
 public:
  QuadraticTile(const ExactKernels& parts, const SupportColumns& input, const RunContext& context)
      : input_(input), reader_(parts, context) {}

  void Add(const Selection& selection, Index i, Index j, double* slots) {
    const TilePairs pairs{i, j, &input_.support[static_cast<size_t>(i)],
                          &input_.support[static_cast<size_t>(j)]};
    reader_.ForEachStrip(*selection.group, pairs, [&](const Strip& strip, Index first) {
      if (selection.grid != nullptr) {
        AddMoments(selection, pairs, strip, first, slots);
      } else if (input_.columns == 1) {
        AddProducts(selection, pairs, strip, first, slots);
      } else {
        AddExponentialValues(selection, pairs, strip, first, slots);
      }
      double* other_slots = slots + ExponentialSlots(selection, input_.columns);
      for (const Index kernel : selection.others) {
        values_.resize(static_cast<size_t>(strip.rows * strip.stride));
        reader_.OtherValues(kernel, pairs, strip, first, values_.data());
        AddValues(pairs, strip, first, other_slots);
        other_slots += input_.columns;
      }
    });
  }

 private:
  const double* Rows(const TilePairs& pairs, Index first, Index column) const {
    return input_.gathered[static_cast<size_t>(pairs.i)].data() + column * input_.Stride(pairs.i) +
           first;
  }
  const double* Columns(const TilePairs& pairs, Index column) const {
    return input_.gathered[static_cast<size_t>(pairs.j)].data() + column * input_.Stride(pairs.j);
  }

  void AddMoments(const Selection& selection, const TilePairs& pairs, const Strip& strip,
                  Index first, double* slots) {
    const RowLengths lengths{pairs.i == pairs.j, first};
    for (Index c = 0; c < input_.columns; ++c) {
      selection.grid->AddMoments(strip, lengths, Rows(pairs, first, c), Columns(pairs, c),
                                 slots + c * selection.grid->num_values());
    }
  }

  void AddProducts(const Selection& selection, const TilePairs& pairs, const Strip& strip,
                   Index first, double* slots) {
    const auto count = static_cast<Index>(selection.rates.size());
    products_.resize(static_cast<size_t>(strip.rows * count));
    ExponentialProducts(strip, {pairs.i == pairs.j, first}, selection.rates, Columns(pairs, 0),
                        products_.data());
    const double* a = Rows(pairs, first, 0);
    for (Index r = 0; r < strip.rows; ++r) {
      for (Index k = 0; k < count; ++k) {
        slots[k] += a[r] * products_[static_cast<size_t>(r * count + k)];
      }
    }
  }

  void AddExponentialValues(const Selection& selection, const TilePairs& pairs, const Strip& strip,
                            Index first, double* slots) {
    values_.resize(static_cast<size_t>(strip.rows * strip.stride));
    for (const double rate : selection.rates) {
      ExponentialValues(strip, rate, values_.data());
      AddValues(pairs, strip, first, slots);
      slots += input_.columns;
    }
  }

  // Adds the part of one kernel, whose values are in values_ with the layout of `strip`.
  void AddValues(const TilePairs& pairs, const Strip& strip, Index first, double* slots) {
    const Index columns = input_.columns;
    products_.resize(static_cast<size_t>(strip.rows * columns));
    StripProducts({values_.data(), strip.rows, strip.cols, strip.stride},
                  {pairs.i == pairs.j, first}, Columns(pairs, 0), input_.Stride(pairs.j), columns,
                  products_.data());
    for (Index r = 0; r < strip.rows; ++r) {
      for (Index c = 0; c < columns; ++c) {
        slots[c] += Rows(pairs, first, c)[r] * products_[static_cast<size_t>(r * columns + c)];
      }
    }
  }

  const SupportColumns& input_;
  StripReader reader_;
  std::vector<double> products_;
  std::vector<double> values_;
};

// Sums over the strictly lower triangle for each selection, as NumSlots lays them out.
class LowerSums {
 public:
  LowerSums(const ExactKernels& parts, const SupportColumns& input,
            const std::vector<Selection>& selections)
      : parts_(parts), input_(input), selections_(selections), sums_(selections.size()) {
    for (size_t s = 0; s < selections.size(); ++s) {
      sums_[s].assign(static_cast<size_t>(NumSlots(selections[s], input.columns)), 0.0);
    }
  }

  absl::Status Compute(RunContext& context) {
    const TileGrid grid{parts_.size};
    for (size_t s = 0; s < selections_.size(); ++s) {
      for (Index tile = 0; tile < grid.num_tiles(); ++tile) {
        const auto [i, j] = grid.Tile(tile);
        if (input_.support[static_cast<size_t>(i)].empty() ||
            input_.support[static_cast<size_t>(j)].empty()) {
          continue;
        }
        items_.push_back({s, i, j, num_slots_});
        num_slots_ += sums_[s].size();
        if (num_slots_ >= kSlotValues) {
          MERCER_RETURN_IF_ERROR(RunBatch(context));
        }
      }
    }
    return RunBatch(context);
  }

  const std::vector<double>& sums(size_t selection) const { return sums_[selection]; }

 private:
  struct Item {
    size_t selection = 0;
    Index i = 0;
    Index j = 0;
    size_t slot = 0;
  };

  absl::Status RunBatch(RunContext& context) {
    slots_.assign(num_slots_, 0.0);
    context.parallel().ForBlocks(static_cast<Index>(items_.size()), 1, [&](Index number, Index) {
      const Item& item = items_[static_cast<size_t>(number)];
      if (!context.cancelled()) {
        QuadraticTile(parts_, input_, context)
            .Add(selections_[item.selection], item.i, item.j, slots_.data() + item.slot);
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (const Item& item : items_) {
      const double* slot = slots_.data() + item.slot;
      for (double& sum : sums_[item.selection]) {
        sum += *slot++;
      }
    }
    items_.clear();
    num_slots_ = 0;
    return absl::OkStatus();
  }

  const ExactKernels& parts_;
  const SupportColumns& input_;
  const std::vector<Selection>& selections_;
  std::vector<std::vector<double>> sums_;
  std::vector<Item> items_;
  std::vector<double> slots_;
  size_t num_slots_ = 0;
};

// Replaces the moments of each column by the sums of the exponential kernels.
std::vector<double> SumsFromMoments(const Selection& selection, std::vector<double> sums,
                                    Index columns) {
  if (selection.grid == nullptr) {
    return sums;
  }
  const Vector& nodes = selection.grid->nodes();
  const size_t num_values = static_cast<size_t>(nodes.size());
  const size_t count = selection.rates.size();
  std::vector<double> result(count * static_cast<size_t>(columns));
  std::vector<double> products(count);
  for (Index c = 0; c < columns; ++c) {
    const auto moments =
        absl::MakeSpan(sums).subspan(static_cast<size_t>(c) * num_values, num_values);
    selection.grid->ToNodeWeights(moments);
    ExponentialProducts({nodes.data(), 1, nodes.size(), nodes.size()}, {}, selection.rates,
                        moments.data(), products.data());
    for (size_t k = 0; k < count; ++k) {
      result[k * static_cast<size_t>(columns) + static_cast<size_t>(c)] = products[k];
    }
  }
  result.insert(
      result.end(),
      sums.begin() + static_cast<std::ptrdiff_t>(num_values * static_cast<size_t>(columns)),
      sums.end());
  return result;
}

// out(k, c) = scale_k (2 lower sum + sum_i K_k(i, i) a(i, c)^2).
void WriteForms(const ExactKernels& parts, const Selection& selection,
                const std::vector<double>& sums, absl::Span<const Index> kernels,
                const Matrix& squares, MatrixRef out) {
  const Eigen::RowVectorXd square_sums = squares.colwise().sum();
  const bool unit =
      parts.sources[static_cast<size_t>(selection.group->source)].diagonal().isZero(0.0);
  const double* sum = sums.data();
  const auto write = [&](const std::vector<Index>& outputs, bool exponential) {
    for (const Index output : outputs) {
      const Index kernel = kernels.empty() ? output : kernels[static_cast<size_t>(output)];
      const Eigen::RowVectorXd diagonal =
          exponential && unit
              ? square_sums
              : Eigen::RowVectorXd(KernelDiagonal(parts, kernel).transpose() * squares);
      for (Index c = 0; c < out.cols(); ++c) {
        out(output, c) = parts.scales(kernel) * (2.0 * *sum++ + diagonal(c));
      }
    }
  };
  write(selection.outputs, true);
  write(selection.other_outputs, false);
}

absl::Status ComputeForms(const ExactKernels& parts, const SupportColumns& input,
                          const std::vector<Selection>& selections, absl::Span<const Index> kernels,
                          ConstMatrixRef a, MatrixRef out, RunContext& context) {
  LowerSums lower(parts, input, selections);
  MERCER_RETURN_IF_ERROR(lower.Compute(context));
  const Matrix squares = a.array().square();
  for (size_t s = 0; s < selections.size(); ++s) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    WriteForms(parts, selections[s], SumsFromMoments(selections[s], lower.sums(s), a.cols()),
               kernels, squares, out);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExactKernelFamily::QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels,
                                               MatrixRef out, RunContext& context) const {
  const SupportColumns input = GatherSupport(TileGrid{size()}, a);
  return ComputeForms(parts_, input, SelectKernels(parts_, kernels), kernels, a, out, context);
}

absl::Status ExactKernelFamily::QuadraticFormsForSearch(ConstMatrixRef a,
                                                        absl::Span<const Index> kernels,
                                                        MatrixRef out, RunContext& context) const {
  const SupportColumns input = GatherSupport(TileGrid{size()}, a);
  Index support = 0;
  for (const RowOffsets& offsets : input.support) {
    support += static_cast<Index>(offsets.size());
  }
  std::vector<Selection> selections = SelectKernels(parts_, kernels);
  for (Selection& selection : selections) {
    const std::shared_ptr<const ExponentialGrid>& grid = selection.group->grid;
    // Whether the table is used does not depend on which kernels are asked for, so that a kernel's
    // bits do not depend on the others.
    if (grid != nullptr && support * support / 2 >= kPairsPerTableValue * grid->num_values()) {
      selection.grid = grid;
    }
  }
  return ComputeForms(parts_, input, selections, kernels, a, out, context);
}

}  // namespace mercer
