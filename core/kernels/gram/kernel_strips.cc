#include "core/kernels/gram/kernel_strips.h"

#include <algorithm>
#include <numeric>

#include "core/base/numeric/index_range.h"
#include "core/kernels/spec/kernel_formula.h"
#include "core/linalg/exponential_table.h"

namespace mercer {
namespace {

bool IsRange(const RowOffsets& offsets) {
  return offsets.back() - offsets.front() + 1 == static_cast<Index>(offsets.size());
}

// Groups the kernels that are asked for, in time that depends on these alone: there may be a group
// for each of many columns.
std::vector<Selection> Select(const ExactKernels& parts, absl::Span<const Index> kernels,
                              const double* weights) {
  std::vector<size_t> positions(kernels.size());
  std::iota(positions.begin(), positions.end(), size_t{0});
  const auto group_at = [&](size_t position) {
    return static_cast<size_t>(parts.group_of[static_cast<size_t>(kernels[position])]);
  };
  std::stable_sort(positions.begin(), positions.end(),
                   [&](size_t a, size_t b) { return group_at(a) < group_at(b); });
  std::vector<Selection> selections;
  for (const size_t position : positions) {
    const Index kernel = kernels[position];
    const KernelGroup* group = &parts.groups[group_at(position)];
    if (selections.empty() || selections.back().group != group) {
      selections.emplace_back().group = group;
    }
    Selection& selection = selections.back();
    const double weight = weights == nullptr ? 0.0 : weights[kernel] * parts.scales(kernel);
    if (IsExponential(parts.specs[static_cast<size_t>(kernel)].type)) {
      selection.rates.push_back(parts.rates[static_cast<size_t>(kernel)]);
      selection.weights.push_back(weight);
      selection.outputs.push_back(static_cast<Index>(position));
    } else {
      selection.others.push_back(kernel);
      selection.other_weights.push_back(weight);
      selection.other_outputs.push_back(static_cast<Index>(position));
    }
  }
  return selections;
}

}  // namespace

std::vector<Selection> SelectKernels(const ExactKernels& parts, absl::Span<const Index> kernels) {
  std::vector<Index> all;
  if (kernels.empty()) {
    all = IndexRange(0, static_cast<Index>(parts.specs.size()));
    kernels = all;
  }
  return Select(parts, kernels, nullptr);
}

std::vector<Selection> SelectWeighted(const ExactKernels& parts, ConstVectorRef weights) {
  std::vector<Index> used;
  for (Index k = 0; k < weights.size(); ++k) {
    if (weights(k) != 0) {
      used.push_back(k);
    }
  }
  return Select(parts, used, weights.data());
}

void UseTables(std::vector<Selection>& selections) {
  for (Selection& selection : selections) {
    if (selection.group->grid == nullptr || selection.rates.size() < kTableKernels) {
      continue;
    }
    selection.grid = selection.group->grid;
    const Vector& nodes = selection.grid->nodes();
    selection.coefficients.assign(static_cast<size_t>(nodes.size()), 0.0);
    AddExponentials({nodes.data(), 1, nodes.size(), nodes.size()}, selection.rates,
                    selection.weights, selection.coefficients.data());
    selection.grid->ToCoefficients(absl::MakeSpan(selection.coefficients));
  }
}

Vector KernelDiagonal(const ExactKernels& parts, Index kernel) {
  const KernelGroup& group =
      parts.groups[static_cast<size_t>(parts.group_of[static_cast<size_t>(kernel)])];
  const Vector& source = parts.sources[static_cast<size_t>(group.source)].diagonal();
  const Index padded = PaddedLength(source.size());
  Vector values = Vector::Zero(padded);
  values.head(source.size()) = source;
  const Strip strip{values.data(), 1, source.size(), padded};
  const KernelSpec& spec = parts.specs[static_cast<size_t>(kernel)];
  KernelValuesOfRead(spec, strip, values.data());
  values.conservativeResize(source.size());
  const Vector& factors = parts.diagonal_factors[static_cast<size_t>(kernel)];
  if (factors.size() > 0) {
    values.array() *= factors.array().square();
  }
  return values;
}

RowOffsets AllRows(const TileGrid& grid, Index block) { return IndexRange(0, grid.Height(block)); }

SupportColumns GatherSupport(const TileGrid& grid, ConstMatrixRef a) {
  SupportColumns result;
  result.columns = a.cols();
  result.support.resize(static_cast<size_t>(grid.num_blocks()));
  result.gathered.resize(result.support.size());
  for (Index i = 0; i < grid.size; ++i) {
    if ((a.row(i).array() != 0).any()) {
      result.support[static_cast<size_t>(i / TileGrid::kBlock)].push_back(i % TileGrid::kBlock);
    }
  }
  for (Index block = 0; block < grid.num_blocks(); ++block) {
    const RowOffsets& offsets = result.support[static_cast<size_t>(block)];
    std::vector<double>& gathered = result.gathered[static_cast<size_t>(block)];
    const Index stride = result.Stride(block);
    gathered.assign(static_cast<size_t>(stride * a.cols()), 0.0);
    for (Index j = 0; j < a.cols(); ++j) {
      for (size_t p = 0; p < offsets.size(); ++p) {
        gathered[static_cast<size_t>(j * stride) + p] = a(grid.Begin(block) + offsets[p], j);
      }
    }
  }
  return result;
}

void StripReader::ForEachStrip(const KernelGroup& group, const TilePairs& pairs,
                               const std::function<void(const Strip& strip, Index first)>& visit) {
  const auto num_rows = static_cast<Index>(pairs.rows->size());
  const auto num_columns = static_cast<Index>(pairs.columns->size());
  if (num_rows == 0 || num_columns == 0) {
    return;
  }
  const TileView view =
      parts_.sources[static_cast<size_t>(group.source)].View(pairs.i, pairs.j, context_, tile_);
  const Index step = std::max<Index>(1, kStripValues / PaddedLength(num_columns));
  for (Index first = 0; first < num_rows && !context_.cancelled(); first += step) {
    Strip strip = ReadStrip(view, pairs, first, std::min(step, num_rows - first));
    if (group.square_root) {
      roots_.resize(static_cast<size_t>(strip.rows * strip.stride));
      SquareRoots(strip, roots_.data());
      strip.values = roots_.data();
    }
    visit(strip, first);
  }
}

Strip StripReader::ReadStrip(const TileView& view, const TilePairs& pairs, Index first,
                             Index count) {
  const RowOffsets& columns = *pairs.columns;
  const auto num_columns = static_cast<Index>(columns.size());
  const Index* rows = pairs.rows->data() + first;
  const bool consecutive = rows[count - 1] - rows[0] + 1 == count;
  if (view.column_stride == 1 && consecutive && columns.front() == 0 && IsRange(columns)) {
    return {view.values + rows[0] * view.row_stride, count, num_columns, view.row_stride};
  }
  const Index stride = PaddedLength(num_columns);
  strip_.assign(static_cast<size_t>(count * stride), 0.0);
  for (Index r = 0; r < count; ++r) {
    const double* values = view.values + rows[r] * view.row_stride;
    double* target = strip_.data() + r * stride;
    for (Index c = 0; c < num_columns; ++c) {
      target[c] = values[columns[static_cast<size_t>(c)] * view.column_stride];
    }
  }
  return {strip_.data(), count, num_columns, stride};
}

void StripReader::OtherValues(Index kernel, const TilePairs& pairs, const Strip& strip, Index first,
                              double* out) {
  KernelValues(parts_.specs[static_cast<size_t>(kernel)], strip, out);
  const Vector& factors = parts_.diagonal_factors[static_cast<size_t>(kernel)];
  if (factors.size() == 0) {
    return;
  }
  row_factors_.resize(static_cast<size_t>(strip.rows));
  for (Index r = 0; r < strip.rows; ++r) {
    const Index row = (*pairs.rows)[static_cast<size_t>(first + r)];
    row_factors_[static_cast<size_t>(r)] = factors(pairs.i * TileGrid::kBlock + row);
  }
  column_factors_.assign(static_cast<size_t>(PaddedLength(strip.cols)), 0.0);
  for (Index c = 0; c < strip.cols; ++c) {
    column_factors_[static_cast<size_t>(c)] =
        factors(pairs.j * TileGrid::kBlock + (*pairs.columns)[static_cast<size_t>(c)]);
  }
  ScaleRowsAndColumns({out, strip.rows, strip.cols, strip.stride}, row_factors_.data(),
                      column_factors_.data(), out);
}

void CombinedTile(const std::vector<Selection>& selections, const TilePairs& pairs,
                  StripReader& reader, std::vector<double>& out) {
  const Index stride = PaddedLength(static_cast<Index>(pairs.columns->size()));
  out.assign(pairs.rows->size() * static_cast<size_t>(stride), 0.0);
  std::vector<double> sums;
  std::vector<double> values;
  for (const Selection& selection : selections) {
    reader.ForEachStrip(*selection.group, pairs, [&](const Strip& strip, Index first) {
      // The strip's stride may be that of a whole tile; the sums follow it and are added to `out`
      // row by row.
      sums.assign(static_cast<size_t>(strip.rows * strip.stride), 0.0);
      if (selection.grid != nullptr) {
        selection.grid->AddValues(strip, selection.coefficients.data(), sums.data());
      } else {
        AddExponentials(strip, selection.rates, selection.weights, sums.data());
      }
      for (size_t k = 0; k < selection.others.size(); ++k) {
        values.resize(sums.size());
        reader.OtherValues(selection.others[k], pairs, strip, first, values.data());
        AddScaled({values.data(), strip.rows, strip.cols, strip.stride}, selection.other_weights[k],
                  sums.data());
      }
      for (Index r = 0; r < strip.rows; ++r) {
        const double* source = sums.data() + r * strip.stride;
        double* target = out.data() + (first + r) * stride;
        for (Index c = 0; c < stride; ++c) {
          target[c] += source[c];
        }
      }
    });
  }
}

}  // namespace mercer
