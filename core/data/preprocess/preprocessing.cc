#include "core/data/preprocess/preprocessing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/all_finite.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/status/status_macros.h"
#include "core/data/preprocess/column_matcher.h"
#include "core/data/table/block_rows.h"
#include "core/data/table/reader_errors.h"
#include "core/data/table/table_writer.h"

namespace mercer {
namespace {

// Maps the rows of one block.
class BlockMapper {
 public:
  BlockMapper(const Dataset& dataset, const BlockTransform& transform,
              const PreprocessingOptions& options, std::vector<SourceColumn> sources)
      : dataset_(dataset), transform_(transform), options_(options), sources_(std::move(sources)) {
    if (AreSideBySide()) {
      const auto count = static_cast<Index>(transform.columns.size());
      offsets_.resize(count);
      factors_.resize(count);
      for (Index i = 0; i < count; ++i) {
        offsets_(i) = transform.columns[static_cast<size_t>(i)].offset;
        factors_(i) = transform.columns[static_cast<size_t>(i)].factor;
      }
    }
  }

  absl::StatusOr<PreparedBlock> Map(const RunContext& context) {
    MERCER_RETURN_IF_ERROR(CheckSize(context));
    PreparedBlock prepared;
    prepared.name = transform_.name;
    for (size_t i = 0; i < transform_.columns.size(); ++i) {
      prepared.sources.insert(prepared.sources.end(), Width(i), ShownColumn(transform_, i));
    }
    MERCER_ASSIGN_OR_RETURN(const bool changes_nothing, ChangesNothing(context));
    if (changes_nothing) {
      prepared.values = dataset_.blocks[sources_[0].block].values;
      return prepared;
    }
    const auto width = static_cast<Index>(prepared.sources.size());
    std::vector<Index> used_columns(dataset_.blocks.size(), 0);
    for (const SourceColumn& source : sources_) {
      used_columns[source.block] = std::max(used_columns[source.block], source.column + 1);
    }
    std::vector<BlockRows> readers;
    for (size_t b = 0; b < dataset_.blocks.size(); ++b) {
      readers.emplace_back(dataset_.blocks[b], used_columns[b]);
    }
    const bool in_file = IsKeptInFile(context, TableBytes(dataset_.rows, width));
    MERCER_ASSIGN_OR_RETURN(
        TableWriter writer,
        TableWriter::Make(dataset_.rows, width, in_file ? context.scratch() : nullptr));
    std::vector<const double*> rows(readers.size(), nullptr);
    const Index poll_rows = RowsPerPoll(width);
    for (Index row = 0; row < dataset_.rows; ++row) {
      if (row % poll_rows == 0) {
        MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      }
      for (size_t b = 0; b < readers.size(); ++b) {
        rows[b] = used_columns[b] > 0 ? readers[b].Row(row) : nullptr;
      }
      MERCER_ASSIGN_OR_RETURN(double* const out, writer.NextRow());
      MERCER_RETURN_IF_ERROR(MapRow(rows, row, out));
      if (options_.scaling == Scaling::kUnitNorm) {
        Normalize(out, width);
      }
    }
    MERCER_ASSIGN_OR_RETURN(prepared.values, writer.Finish());
    return prepared;
  }

 private:
  // Output columns of column i of the model.
  size_t Width(size_t i) const {
    const ColumnTransform& column = transform_.columns[i];
    return column.categorical ? column.categories.size() : 1;
  }

  // Whether the table is a dense block of the data set as it is: its columns in their order, known
  // and not scaled.
  absl::StatusOr<bool> ChangesNothing(const RunContext& context) const {
    if (sources_.empty() || options_.scaling == Scaling::kUnitNorm) {
      return false;
    }
    const FeatureBlock& block = dataset_.blocks[sources_[0].block];
    if (block.is_sparse || block.num_columns() != static_cast<Index>(sources_.size())) {
      return false;
    }
    for (size_t i = 0; i < sources_.size(); ++i) {
      const ColumnTransform& column = transform_.columns[i];
      if (sources_[i].block != sources_[0].block || sources_[i].column != static_cast<Index>(i) ||
          column.categorical || column.offset != 0 || std::signbit(column.offset) ||
          column.factor != 1) {
        return false;
      }
    }
    return IsFinite(block.values, context);
  }

  static absl::StatusOr<bool> IsFinite(const SharedMatrix& values, const RunContext& context) {
    const Index poll_rows = RowsPerPoll(values.cols());
    for (Index begin = 0; begin < values.rows(); begin += poll_rows) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index count = std::min(poll_rows, values.rows() - begin);
      const auto some = values.view().middleRows(begin, count);
      if (!AllFinite(some.data(), some.size())) {
        return false;
      }
    }
    return true;
  }

  // Blocks that grow by the map are refused before they are too large; others are no larger than
  // the rows at hand. What is too large for memory has room in a scratch space, but for what is
  // known of every column.
  absl::Status CheckSize(const RunContext& context) const {
    const Index rows = context.scratch() == nullptr ? dataset_.rows : 0;
    size_t width = 0;
    bool sparse = false;
    for (size_t i = 0; i < sources_.size(); ++i) {
      width += Width(i);
      sparse = sparse || dataset_.blocks[sources_[i].block].is_sparse;
    }
    return sparse || width > sources_.size()
               ? CheckTableSize(transform_.name, rows, static_cast<Index>(width))
               : absl::OkStatus();
  }

  // Whether all columns are numbers that lie side by side in one block of the data set.
  bool AreSideBySide() const {
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (transform_.columns[i].categorical || sources_[0].column < 0 ||
          sources_[i].block != sources_[0].block ||
          sources_[i].column != sources_[0].column + static_cast<Index>(i)) {
        return false;
      }
    }
    return !sources_.empty();
  }

  // All columns at once; false: one of them is special, and nothing is mapped.
  bool MapTogether(const std::vector<const double*>& rows, double* out) const {
    const Index count = offsets_.size();
    if (count == 0) {
      return false;
    }
    const Eigen::Map<const Eigen::ArrayXd> values(rows[sources_[0].block] + sources_[0].column,
                                                  count);
    Eigen::Map<Eigen::ArrayXd>(out, count) = (values - offsets_) * factors_;
    return AllFinite(out, count);
  }

  absl::Status MapRow(const std::vector<const double*>& rows, Index row, double* out) const {
    if (MapTogether(rows, out)) {
      return absl::OkStatus();
    }
    for (size_t i = 0; i < sources_.size(); ++i) {
      const SourceColumn& source = sources_[i];
      const ColumnTransform& column = transform_.columns[i];
      double value = source.column < 0 ? 0.0 : rows[source.block][source.column];
      if (!column.categorical && std::isfinite(value)) {
        *out = (value - column.offset) * column.factor;
      } else {
        MERCER_RETURN_IF_ERROR(MapSpecial(i, value, row, out));
      }
      if (!column.categorical && !std::isfinite(*out)) {
        return CellError(row + 1, ShownColumn(transform_, i),
                         absl::StrCat(value, " is too large to be scaled"));
      }
      out += Width(i);
    }
    return absl::OkStatus();
  }

  // Maps what is no ordinary number: categories, missing values, infinities.
  absl::Status MapSpecial(size_t i, double value, Index row, double* out) const {
    const ColumnTransform& column = transform_.columns[i];
    if (std::isinf(value)) {
      return CellError(row + 1, ShownColumn(transform_, i), "the value is infinite");
    }
    const bool missing = std::isnan(value);
    if (missing && options_.imputation == Imputation::kRefuse) {
      return CellError(row + 1, ShownColumn(transform_, i),
                       "the value is missing and the model fills none in",
                       "preprocessing.imputation");
    }
    if (!column.categorical) {
      *out = (column.fill - column.offset) * column.factor;
      return absl::OkStatus();
    }
    std::fill(out, out + column.categories.size(), 0.0);
    const std::vector<int32_t>& categories = sources_[i].categories;
    if (!missing && !(value >= 0 && value < static_cast<double>(categories.size()))) {
      return CellError(row + 1, ShownColumn(transform_, i),
                       absl::StrCat(value, " is no code of its categories"));
    }
    const int32_t category =
        missing ? static_cast<int32_t>(column.fill) : categories[static_cast<size_t>(value)];
    if (category != kUnseenCategory) {
      out[category] = 1;
      return absl::OkStatus();
    }
    if (options_.unseen_category == UnseenCategory::kAllZeros) {
      return absl::OkStatus();
    }
    const SourceColumn& source = sources_[i];
    const ColumnSchema& schema =
        dataset_.blocks[source.block].columns[static_cast<size_t>(source.column)];
    return CellError(row + 1, ShownColumn(transform_, i),
                     absl::StrCat("training did not know the category ",
                                  Quoted(schema.categories[static_cast<size_t>(value)])));
  }

  // Divides by the Euclidean norm, in a plain loop: its bits depend on the row alone, not on where
  // it lies in memory. The largest entry is taken out first, so that the squares neither overflow
  // nor vanish.
  static void Normalize(double* row, Index width) {
    double largest = 0;
    for (Index j = 0; j < width; ++j) {
      largest = std::max(largest, std::abs(row[j]));
    }
    if (largest == 0) {
      return;
    }
    double squares = 0;
    for (Index j = 0; j < width; ++j) {
      row[j] /= largest;
      squares += row[j] * row[j];
    }
    const double norm = std::sqrt(squares);
    for (Index j = 0; j < width; ++j) {
      row[j] /= norm;
    }
  }

  const Dataset& dataset_;
  const BlockTransform& transform_;
  const PreprocessingOptions& options_;
  std::vector<SourceColumn> sources_;
  // Of columns that are mapped together; otherwise empty.
  Eigen::ArrayXd offsets_;
  Eigen::ArrayXd factors_;
};

// The square block of that name; null when there is none.
SquareBlock* FindSquareNamed(std::string_view name, PreparedData& data) {
  const auto found = std::find_if(data.squares.begin(), data.squares.end(),
                                  [&](const SquareBlock& square) { return square.name == name; });
  return found == data.squares.end() ? nullptr : &*found;
}

}  // namespace

absl::StatusOr<PreparedData> Preprocessing::ApplyToBlocks(const Dataset& dataset,
                                                          const RunContext& context) const {
  PreparedData prepared;
  prepared.rows = dataset.rows;
  for (const BlockTransform& transform : blocks_) {
    MERCER_ASSIGN_OR_RETURN(std::vector<SourceColumn> sources,
                            MatchColumns(dataset, transform, blocks_.size()));
    BlockMapper mapper(dataset, transform, options_, std::move(sources));
    MERCER_ASSIGN_OR_RETURN(PreparedBlock block, mapper.Map(context));
    prepared.blocks.push_back(std::move(block));
  }
  for (const std::string& name : squares_) {
    const SquareBlock* square = dataset.FindSquare(name);
    if (square != nullptr) {
      prepared.squares.push_back(*square);
    }
  }
  return prepared;
}

absl::StatusOr<PreparedData> Preprocessing::Apply(const Dataset& dataset,
                                                  const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(PreparedData prepared, ApplyToBlocks(dataset, context));
  for (const SquareRepair& repair : repairs_) {
    SquareBlock* square = FindSquareNamed(repair.block, prepared);
    if (square != nullptr) {
      MERCER_ASSIGN_OR_RETURN(square->values,
                              RepairNewRows(*square, repair, options_.square_repair, context));
    }
  }
  return prepared;
}

absl::StatusOr<PreparedData> Preprocessing::ApplyToFitted(const Dataset& dataset,
                                                          RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(PreparedData prepared, ApplyToBlocks(dataset, context));
  for (const SquareRepair& repair : repairs_) {
    SquareBlock& square = *FindSquareNamed(repair.block, prepared);
    MERCER_ASSIGN_OR_RETURN(square.values,
                            RepairAllRows(square, repair, options_.square_repair, context));
  }
  return prepared;
}

Preprocessing Preprocessing::WithSquares(const std::vector<std::string>& names) const {
  const auto is_other = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) == names.end();
  };
  Preprocessing other = *this;
  std::erase_if(other.squares_, is_other);
  std::erase_if(other.repairs_, [&](const SquareRepair& repair) { return is_other(repair.block); });
  return other;
}

bool Preprocessing::RepairsFit() const {
  if (repairs_.empty() || options_.square_repair < SquareRepairRule::kShift) {
    return repairs_.empty() && options_.square_repair == SquareRepairRule::kNone;
  }
  const bool shifts = options_.square_repair == SquareRepairRule::kShift;
  return std::all_of(repairs_.begin(), repairs_.end(), [&](const SquareRepair& repair) {
    return std::count(squares_.begin(), squares_.end(), repair.block) == 1 &&
           shifts == (repair.vectors.size() == 0);
  });
}

absl::StatusOr<std::vector<UnseenCell>> Preprocessing::FindUnseen(const Dataset& dataset,
                                                                  const RunContext& context) const {
  std::map<Index, UnseenCell> first;
  for (const BlockTransform& transform : blocks_) {
    MERCER_ASSIGN_OR_RETURN(const std::vector<SourceColumn> sources,
                            MatchColumns(dataset, transform, blocks_.size()));
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::vector<int32_t>& categories = sources[i].categories;
      if (std::find(categories.begin(), categories.end(), kUnseenCategory) == categories.end()) {
        continue;
      }
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const FeatureBlock& block = dataset.blocks[sources[i].block];
      const auto values = block.values.view().col(sources[i].column);
      for (Index row = 0; row < dataset.rows; ++row) {
        const double code = values(row);
        if (code >= 0 && code < static_cast<double>(categories.size()) &&
            categories[static_cast<size_t>(code)] == kUnseenCategory) {
          first.try_emplace(row, UnseenCell{row, ShownColumn(transform, i),
                                            block.columns[static_cast<size_t>(sources[i].column)]
                                                .categories[static_cast<size_t>(code)]});
        }
      }
    }
  }
  std::vector<UnseenCell> cells;
  for (auto& [row, cell] : first) {
    cells.push_back(std::move(cell));
  }
  return cells;
}

Index Preprocessing::num_outputs() const {
  size_t count = 0;
  for (const BlockTransform& block : blocks_) {
    for (const ColumnTransform& column : block.columns) {
      count += column.categorical ? column.categories.size() : 1;
    }
  }
  return static_cast<Index>(count);
}

std::vector<std::string> Preprocessing::OutputNames() const {
  std::vector<std::string> names;
  std::vector<std::string> longer;
  HashMap<std::string, int> counts;
  for (const BlockTransform& block : blocks_) {
    for (size_t c = 0; c < block.columns.size(); ++c) {
      const ColumnTransform& column = block.columns[c];
      const std::string shown = ShownColumn(block, c);
      const size_t width = column.categorical ? column.categories.size() : 1;
      for (size_t k = 0; k < width; ++k) {
        names.push_back(column.categorical ? absl::StrCat(shown, "=", column.categories[k])
                                           : shown);
        longer.push_back(absl::StrCat(block.name, ".", names.back()));
        ++counts[names.back()];
      }
    }
  }
  for (size_t l = 0; l < names.size(); ++l) {
    if (counts[names[l]] > 1) {
      longer[l].swap(names[l]);
    }
  }
  return names;
}

}  // namespace mercer
