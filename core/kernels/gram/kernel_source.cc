#include "core/kernels/gram/kernel_source.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/near_names.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

template <typename Map>
std::vector<std::string> SortedKeys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.emplace_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

absl::Status Violation(std::string field, std::string description) {
  FieldViolations violations;
  violations.Add(std::move(field), std::move(description));
  return violations.ToStatus();
}

// `first`: the row of `data` that the first row of `features` is, where `rows` is empty.
absl::Status CheckNotNegative(const KernelSource& source, const PreparedData& data,
                              const std::vector<Index>& rows, const ConstRowMatrixRef& features,
                              Index first, const RunContext& context) {
  for (Index i = 0; i < features.rows() && !context.cancelled(); ++i) {
    for (Index c = 0; c < features.cols(); ++c) {
      if (features(i, c) < 0) {
        const auto& [block, column] = source.columns[static_cast<size_t>(c)];
        const std::string& name =
            data.blocks[static_cast<size_t>(block)].sources[static_cast<size_t>(column)];
        const Index row =
            data.RowNumber(rows.empty() ? first + i : rows[static_cast<size_t>(i)]) + 1;
        return WithReason(absl::InvalidArgumentError(
                              absl::StrCat("row ", row, ", column '", name, "' is ", features(i, c),
                                           ": a kernel of histograms needs entries >= 0")),
                          "NEGATIVE_VALUE", {{"row", absl::StrCat(row)}, {"column", name}});
      }
    }
  }
  return context.CheckCancelled();
}

}  // namespace

absl::StatusOr<const SquareBlock*> ResolveSquare(const KernelSpec& spec, const PreparedData& data) {
  const SquareKind kind = std::get<SquareKind>(FormulaOf(spec.type).reads);
  const char* wanted = kind == SquareKind::kKernel ? "a precomputed kernel" : "a distance matrix";
  if (!spec.block.empty()) {
    const SquareBlock* square = data.FindSquare(spec.block);
    if (square == nullptr || square->kind != kind) {
      return Violation(
          "block", absl::StrCat("'", spec.block, "' is not the name of ", wanted, " of the data"));
    }
    return square;
  }
  const SquareBlock* only = nullptr;
  for (const SquareBlock& square : data.squares) {
    if (square.kind == kind) {
      if (only != nullptr) {
        return Violation(
            "block", absl::StrCat("must name one of the data's blocks: more than one is ", wanted));
      }
      only = &square;
    }
  }
  if (only == nullptr) {
    return Violation("block", absl::StrCat("the data has no block that is ", wanted));
  }
  return only;
}

absl::Status NegativeDistanceError(const SquareBlock& square, double value, Index row,
                                   Index column) {
  return WithReason(absl::InvalidArgumentError(
                        absl::StrCat("block '", square.name, "': row ", row + 1, ", column ",
                                     column + 1, " is ", value, ", a distance must be >= 0")),
                    "NEGATIVE_VALUE",
                    {{"block", square.name},
                     {"row", absl::StrCat(row + 1)},
                     {"column", absl::StrCat(column + 1)}});
}

absl::Status CheckSquareShape(const SquareBlock& square) {
  if (square.values.rows() == square.values.cols()) {
    return absl::OkStatus();
  }
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "block '", square.name, "' has ", square.values.rows(), " rows and ",
                        square.values.cols(), " columns, must be square")),
                    "NOT_SYMMETRIC", {{"block", square.name}});
}

SourceFinder::SourceFinder(const PreparedData& data) : data_(data) {
  for (size_t b = 0; b < data.blocks.size(); ++b) {
    const PreparedBlock& block = data.blocks[b];
    Places& all = block_columns_[block.name];
    for (Index c = 0; c < block.values.cols(); ++c) {
      const std::pair<Index, Index> place(static_cast<Index>(b), c);
      all.push_back(place);
      places_[block.sources[static_cast<size_t>(c)]].push_back(place);
    }
  }
}

absl::StatusOr<SourceFinder::Places> SourceFinder::PlacesOf(const KernelSpec& spec) const {
  const auto in_block = [&](const std::pair<Index, Index>& place) {
    return spec.block.empty() || data_.blocks[static_cast<size_t>(place.first)].name == spec.block;
  };
  Places found;
  for (const std::string& name : spec.columns) {
    const auto of_name = places_.find(name);
    const size_t before = found.size();
    if (of_name != places_.end()) {
      std::copy_if(of_name->second.begin(), of_name->second.end(), std::back_inserter(found),
                   in_block);
    }
    if (found.size() == before) {
      return Violation("columns", absl::StrCat("'", name, "' is not a column of the block",
                                               DidYouMean(name, SortedKeys(places_))));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

absl::StatusOr<KernelSource> SourceFinder::Find(const KernelSpec& spec) const {
  KernelSource source;
  const KernelFormula& formula = FormulaOf(spec.type);
  if (formula.is_square()) {
    source.is_square = true;
    source.square = spec.block;
    if (!data_.squares.empty()) {
      MERCER_ASSIGN_OR_RETURN(const SquareBlock* square, ResolveSquare(spec, data_));
      source.square = square->name;
    }
    return source;
  }
  source.value = std::get<PairValue>(formula.reads);
  if (spec.block.empty() ? data_.blocks.empty() : !block_columns_.contains(spec.block)) {
    return Violation("block",
                     spec.block.empty()
                         ? "the data has no feature block"
                         : absl::StrCat("'", spec.block, "' is not a feature block of the data"));
  }
  if (!spec.columns.empty()) {
    MERCER_ASSIGN_OR_RETURN(source.columns, PlacesOf(spec));
  } else if (!spec.block.empty()) {
    source.columns = block_columns_.find(spec.block)->second;
  } else {
    for (size_t b = 0; b < data_.blocks.size(); ++b) {
      for (Index c = 0; c < data_.blocks[b].values.cols(); ++c) {
        source.columns.emplace_back(static_cast<Index>(b), c);
      }
    }
  }
  if (source.columns.empty()) {
    return Violation("block", "the block has no columns");
  }
  return source;
}

absl::StatusOr<KernelSource> ResolveSource(const KernelSpec& spec, const PreparedData& data) {
  return SourceFinder(data).Find(spec);
}

absl::StatusOr<RowMatrix> GatherFeatures(const KernelSource& source, const PreparedData& data,
                                         const std::vector<Index>& rows,
                                         const RunContext& context) {
  constexpr Index kRowsPerTask = 64;
  const Index n = rows.empty() ? data.rows : static_cast<Index>(rows.size());
  RowMatrix features(n, static_cast<Index>(source.columns.size()));
  context.parallel().ForBlocks(n, kRowsPerTask, [&](Index begin, Index end) {
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      const Index row = rows.empty() ? i : rows[static_cast<size_t>(i)];
      for (size_t c = 0; c < source.columns.size(); ++c) {
        const auto& [block, column] = source.columns[c];
        features(i, static_cast<Index>(c)) =
            data.blocks[static_cast<size_t>(block)].values.view()(row, column);
      }
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  if (NeedsNonNegative(source.value)) {
    MERCER_RETURN_IF_ERROR(CheckNotNegative(source, data, rows, features, 0, context));
  }
  return features;
}

bool IsWholeBlock(const KernelSource& source, const PreparedData& data) {
  const Index block = source.columns.empty() ? -1 : source.columns[0].first;
  const auto width = static_cast<Index>(source.columns.size());
  if (block < 0 || data.blocks[static_cast<size_t>(block)].values.cols() != width) {
    return false;
  }
  for (Index c = 0; c < width; ++c) {
    if (source.columns[static_cast<size_t>(c)] != std::pair(block, c)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<SharedMatrix> SourceFeatures(const KernelSource& source, const PreparedData& data,
                                            const RunContext& context) {
  if (!IsWholeBlock(source, data)) {
    MERCER_ASSIGN_OR_RETURN(RowMatrix features, GatherFeatures(source, data, {}, context));
    return SharedMatrix(std::move(features));
  }
  const SharedMatrix& values = data.blocks[static_cast<size_t>(source.columns[0].first)].values;
  if (NeedsNonNegative(source.value)) {
    MERCER_RETURN_IF_ERROR(CheckNotNegative(source, data, {}, values.view(), 0, context));
  }
  return values;
}

absl::StatusOr<SourceRows> SourceRows::Make(const KernelSource& source, const PreparedData& data,
                                            const RunContext& context) {
  SourceRows made;
  made.rows_ = data.rows;
  if (IsWholeBlock(source, data)) {
    made.whole_ = data.blocks[static_cast<size_t>(source.columns[0].first)].values;
  } else {
    for (const auto& [block, column] : source.columns) {
      made.columns_.emplace_back(data.blocks[static_cast<size_t>(block)].values, column);
    }
  }
  if (NeedsNonNegative(source.value)) {
    constexpr Index kCheckedRows = 256;
    RowMatrix gathered;
    for (Index begin = 0; begin < data.rows; begin += kCheckedRows) {
      const auto rows = made.Rows(begin, std::min(begin + kCheckedRows, data.rows), gathered);
      MERCER_RETURN_IF_ERROR(CheckNotNegative(source, data, {}, rows, begin, context));
    }
  }
  return made;
}

Eigen::Map<const RowMatrix> SourceRows::Rows(Index begin, Index end, RowMatrix& gathered) const {
  if (columns_.empty()) {
    return {whole_.view().data() + begin * whole_.cols(), end - begin, whole_.cols()};
  }
  gathered.resize(end - begin, static_cast<Index>(columns_.size()));
  for (Index row = begin; row < end; ++row) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto& [block, column] = columns_[c];
      gathered(row - begin, static_cast<Index>(c)) = block.view()(row, column);
    }
  }
  return {gathered.data(), gathered.rows(), gathered.cols()};
}

std::string SourceKey(const KernelSource& source) {
  ByteWriter writer;
  writer.WriteBool(source.is_square);
  writer.WriteString(source.square);
  writer.WriteUint8(static_cast<uint8_t>(source.value));
  for (const auto& [block, column] : source.columns) {
    writer.WriteInt64(block);
    writer.WriteInt64(column);
  }
  return std::move(writer).Take();
}

}  // namespace mercer
