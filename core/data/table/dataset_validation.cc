#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/all_finite.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/dataset.h"
#include "core/data/table/reader_errors.h"

namespace mercer {
namespace {

absl::Status ShapeError(std::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::string_view(what.data(), what.size())),
                    "BAD_SHAPE");
}

absl::Status CheckRowCount(std::string_view what, std::string_view name, Index rows,
                           Index expected) {
  if (rows == expected) {
    return absl::OkStatus();
  }
  return ShapeError(absl::StrCat(std::string(what), " ", Quoted(name), " has ", rows,
                                 " rows, the data set ", expected));
}

std::string ColumnName(const FeatureBlock& block, Index column) {
  const auto i = static_cast<size_t>(column);
  const bool named = i < block.columns.size() && !block.columns[i].name.empty();
  return named ? block.columns[i].name : absl::StrCat(block.name, "[", column + 1, "]");
}

// A value of a column: NaN (missing), finite, and in a categorical column a code of its dictionary.
absl::Status CheckValue(double value, const ColumnSchema* schema, Index row,
                        std::string_view column) {
  if (std::isinf(value)) {
    return CellError(row + 1, column, "the value is infinite");
  }
  if (schema == nullptr || !schema->categorical || std::isnan(value)) {
    return absl::OkStatus();
  }
  const auto size = static_cast<double>(schema->categories.size());
  if (value != std::floor(value) || value < 0 || value >= size) {
    return CellError(row + 1, column,
                     absl::StrCat(value, " is no code of its ", size, " categories"));
  }
  return absl::OkStatus();
}

absl::Status CheckDense(const FeatureBlock& block) {
  const auto values = block.values.view();
  if (values.cols() == 0) {
    return absl::OkStatus();
  }
  const bool only_numbers =
      std::none_of(block.columns.begin(), block.columns.end(),
                   [](const ColumnSchema& schema) { return schema.categorical; });
  for (Index row = 0; row < values.rows(); ++row) {
    if (only_numbers && AllFinite(values.row(row).data(), values.cols())) {
      continue;
    }
    for (Index column = 0; column < values.cols(); ++column) {
      const double value = values(row, column);
      const auto i = static_cast<size_t>(column);
      const ColumnSchema* schema = i < block.columns.size() ? &block.columns[i] : nullptr;
      const bool plain = std::isfinite(value) && (schema == nullptr || !schema->categorical);
      if (!plain) {
        MERCER_RETURN_IF_ERROR(CheckValue(value, schema, row, ColumnName(block, column)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSparse(const FeatureBlock& block) {
  const SparseRows& sparse = block.sparse;
  const auto size = static_cast<int64_t>(sparse.values.size());
  const bool sizes_agree = !sparse.row_starts.empty() && sparse.row_starts.front() == 0 &&
                           sparse.row_starts.back() == size &&
                           sparse.column_indices.size() == sparse.values.size();
  if (!sizes_agree || !block.columns.empty() || sparse.columns < 0) {
    return ShapeError(absl::StrCat("sparse block ", Quoted(block.name), " is inconsistent"));
  }
  for (Index row = 0; row < sparse.rows(); ++row) {
    const int64_t begin = sparse.row_starts[static_cast<size_t>(row)];
    const int64_t end = sparse.row_starts[static_cast<size_t>(row) + 1];
    if (begin > end || end > size) {
      return ShapeError(absl::StrCat("sparse block ", Quoted(block.name),
                                     " has no order of rows at row ", row + 1));
    }
    Index previous = -1;
    for (int64_t entry = begin; entry < end; ++entry) {
      const Index column = sparse.column_indices[static_cast<size_t>(entry)];
      if (column <= previous || column >= sparse.columns) {
        return CellError(row + 1, ColumnName(block, column),
                         "sparse columns must ascend and lie inside the block");
      }
      previous = column;
      const double value = sparse.values[static_cast<size_t>(entry)];
      if (!std::isfinite(value)) {
        MERCER_RETURN_IF_ERROR(CheckValue(value, nullptr, row, ColumnName(block, column)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckColumnNames(const FeatureBlock& block) {
  if (!block.columns.empty() && static_cast<Index>(block.columns.size()) != block.values.cols()) {
    return ShapeError(absl::StrCat("block ", Quoted(block.name), " has ", block.values.cols(),
                                   " columns and ", block.columns.size(),
                                   " descriptions of columns"));
  }
  HashSet<std::string> names;
  size_t num_unnamed = 0;
  for (const ColumnSchema& column : block.columns) {
    num_unnamed += column.name.empty() ? 1 : 0;
    if (!column.name.empty() && !names.insert(column.name).second) {
      return HeaderError(column.name, absl::StrCat("two columns of block ", Quoted(block.name),
                                                   " are named ", Quoted(column.name)));
    }
  }
  if (num_unnamed > 0 && !names.empty()) {
    return HeaderError(
        "", absl::StrCat("block ", Quoted(block.name), " has columns with and without names"));
  }
  return absl::OkStatus();
}

absl::Status CheckBlock(const FeatureBlock& block, Index rows, bool with_dense_values) {
  MERCER_RETURN_IF_ERROR(CheckRowCount(
      "block", block.name, block.is_sparse ? block.sparse.rows() : block.values.rows(), rows));
  if (block.is_sparse) {
    return CheckSparse(block);
  }
  MERCER_RETURN_IF_ERROR(CheckColumnNames(block));
  return with_dense_values ? CheckDense(block) : absl::OkStatus();
}

absl::Status CheckSquare(const SquareBlock& square, Index rows) {
  MERCER_RETURN_IF_ERROR(CheckRowCount("square block", square.name, square.values.rows(), rows));
  const auto values = square.values.view();
  if (values.cols() == 0) {
    return ShapeError(absl::StrCat("square block ", Quoted(square.name), " has no columns"));
  }
  for (Index row = 0; row < values.rows(); ++row) {
    if (AllFinite(values.row(row).data(), values.cols())) {
      continue;
    }
    for (Index column = 0; column < values.cols(); ++column) {
      if (!std::isfinite(values(row, column))) {
        return CellError(row + 1, absl::StrCat(square.name, "[", column + 1, "]"),
                         "the value is not finite");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Validate(const Dataset& dataset, bool with_dense_values) {
  if (dataset.rows < 1) {
    return RowError(1, "the data set has no rows");
  }
  HashSet<std::string> names;
  for (const FeatureBlock& block : dataset.blocks) {
    if (block.name.empty() || !names.insert(block.name).second) {
      return HeaderError(block.name, absl::StrCat("two blocks are named ", Quoted(block.name),
                                                  ", or one has no name"));
    }
    MERCER_RETURN_IF_ERROR(CheckBlock(block, dataset.rows, with_dense_values));
  }
  for (const SquareBlock& square : dataset.squares) {
    if (square.name.empty() || !names.insert(square.name).second) {
      return HeaderError(square.name, absl::StrCat("two blocks are named ", Quoted(square.name),
                                                   ", or one has no name"));
    }
    MERCER_RETURN_IF_ERROR(CheckSquare(square, dataset.rows));
  }
  HashSet<std::string> column_names;
  for (const RoleColumn& column : dataset.role_columns) {
    const std::string& name = column.schema.name;
    if (name.empty() || !column_names.insert(name).second) {
      return HeaderError(name, absl::StrCat("two columns with a role are named ", Quoted(name),
                                            ", or one has no name"));
    }
    MERCER_RETURN_IF_ERROR(CheckRowCount("column", name, column.values.size(), dataset.rows));
    for (Index row = 0; row < column.values.size(); ++row) {
      MERCER_RETURN_IF_ERROR(CheckValue(column.values(row), &column.schema, row, name));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLength(const char* what, const std::string& text, size_t limit) {
  if (text.size() <= limit) {
    return absl::OkStatus();
  }
  return HeaderError(Quoted(text), absl::StrCat(what, " ", Quoted(text), " has ", text.size(),
                                                " bytes, at most ", limit));
}

absl::Status CheckSchemaLengths(const ColumnSchema& schema) {
  MERCER_RETURN_IF_ERROR(CheckLength("the name of the column", schema.name, kMaxNameBytes));
  for (const std::string& category : schema.categories) {
    MERCER_RETURN_IF_ERROR(CheckLength("the category", category, kMaxCategoryBytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNameLengths(const Dataset& dataset) {
  for (const FeatureBlock& block : dataset.blocks) {
    MERCER_RETURN_IF_ERROR(CheckLength("the name of the block", block.name, kMaxNameBytes));
    for (const ColumnSchema& column : block.columns) {
      MERCER_RETURN_IF_ERROR(CheckSchemaLengths(column));
    }
  }
  for (const SquareBlock& square : dataset.squares) {
    MERCER_RETURN_IF_ERROR(CheckLength("the name of the block", square.name, kMaxNameBytes));
  }
  for (const RoleColumn& column : dataset.role_columns) {
    MERCER_RETURN_IF_ERROR(CheckSchemaLengths(column.schema));
  }
  return absl::OkStatus();
}

absl::Status ValidateDataset(const Dataset& dataset) { return Validate(dataset, true); }

absl::Status ValidateAroundDenseValues(const Dataset& dataset) { return Validate(dataset, false); }

}  // namespace mercer
