#include "core/data/preprocess/prepared_data.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/data/table/block_rows.h"
#include "core/data/table/table_writer.h"

namespace mercer {
namespace {

// Rows `rows` and columns `columns` (empty: all) of `values`.
SharedMatrix Select(const SharedMatrix& values, const std::vector<Index>& rows,
                    const std::vector<Index>& columns) {
  const auto view = values.view();
  const Index num_columns = columns.empty() ? view.cols() : static_cast<Index>(columns.size());
  RowMatrix selected(static_cast<Index>(rows.size()), num_columns);
  for (Index i = 0; i < selected.rows(); ++i) {
    const Index row = rows[static_cast<size_t>(i)];
    if (columns.empty()) {
      selected.row(i) = view.row(row);
      continue;
    }
    for (Index j = 0; j < num_columns; ++j) {
      selected(i, j) = view(row, columns[static_cast<size_t>(j)]);
    }
  }
  return SharedMatrix(std::move(selected));
}

absl::StatusOr<SharedMatrix> SelectInto(const SharedMatrix& values, const std::vector<Index>& rows,
                                        const RunContext& context) {
  const bool in_file = IsKeptInFile(context, TableBytes(values.rows(), values.cols()));
  MERCER_ASSIGN_OR_RETURN(TableWriter writer,
                          TableWriter::Make(static_cast<Index>(rows.size()), values.cols(),
                                            in_file ? context.scratch() : nullptr));
  const auto view = values.view();
  const auto poll_rows = static_cast<size_t>(RowsPerPoll(values.cols()));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % poll_rows == 0) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    }
    MERCER_ASSIGN_OR_RETURN(double* const row, writer.NextRow());
    std::copy_n(view.data() + rows[i] * values.cols(), values.cols(), row);
  }
  return writer.Finish();
}

PreparedData NumberedRows(const PreparedData& data, const std::vector<Index>& rows) {
  PreparedData selected;
  selected.rows = static_cast<Index>(rows.size());
  selected.row_numbers.reserve(rows.size());
  for (const Index row : rows) {
    selected.row_numbers.push_back(data.RowNumber(row));
    if (!data.tasks.empty()) {
      selected.tasks.push_back(data.tasks[static_cast<size_t>(row)]);
    }
  }
  return selected;
}

// The matrices values(part), one below the other.
template <typename Values>
SharedMatrix Concatenate(absl::Span<const PreparedData* const> parts, const Values& values) {
  Index rows = 0;
  for (const PreparedData* part : parts) {
    rows += part->rows;
  }
  RowMatrix all(rows, values(*parts.front()).cols());
  Index row = 0;
  for (const PreparedData* part : parts) {
    all.middleRows(row, part->rows) = values(*part).view();
    row += part->rows;
  }
  return SharedMatrix(std::move(all));
}

}  // namespace

const PreparedBlock* PreparedData::FindBlock(std::string_view name) const {
  for (const PreparedBlock& block : blocks) {
    if (block.name == name) {
      return &block;
    }
  }
  return nullptr;
}

const SquareBlock* PreparedData::FindSquare(std::string_view name) const {
  for (const SquareBlock& square : squares) {
    if (square.name == name) {
      return &square;
    }
  }
  return nullptr;
}

PreparedData SelectRows(const PreparedData& data, const std::vector<Index>& rows,
                        const std::vector<Index>& square_columns) {
  PreparedData selected = NumberedRows(data, rows);
  for (const PreparedBlock& block : data.blocks) {
    selected.blocks.push_back({block.name, block.sources, Select(block.values, rows, {})});
  }
  for (const SquareBlock& square : data.squares) {
    selected.squares.push_back(
        {square.name, square.kind, Select(square.values, rows, square_columns)});
  }
  return selected;
}

absl::StatusOr<PreparedData> SelectRows(const PreparedData& data, const std::vector<Index>& rows,
                                        const RunContext& context) {
  PreparedData selected = NumberedRows(data, rows);
  for (const PreparedBlock& block : data.blocks) {
    MERCER_ASSIGN_OR_RETURN(SharedMatrix values, SelectInto(block.values, rows, context));
    selected.blocks.push_back({block.name, block.sources, std::move(values)});
  }
  for (const SquareBlock& square : data.squares) {
    MERCER_ASSIGN_OR_RETURN(SharedMatrix values, SelectInto(square.values, rows, context));
    selected.squares.push_back({square.name, square.kind, std::move(values)});
  }
  return selected;
}

PreparedData ConcatenateRows(absl::Span<const PreparedData* const> parts) {
  PreparedData all;
  for (const PreparedData* part : parts) {
    all.rows += part->rows;
    for (Index row = 0; row < part->rows; ++row) {
      all.row_numbers.push_back(part->RowNumber(row));
    }
    all.tasks.insert(all.tasks.end(), part->tasks.begin(), part->tasks.end());
  }
  const PreparedData& first = *parts.front();
  for (size_t b = 0; b < first.blocks.size(); ++b) {
    const auto values = [b](const PreparedData& part) -> const SharedMatrix& {
      return part.blocks[b].values;
    };
    all.blocks.push_back(
        {first.blocks[b].name, first.blocks[b].sources, Concatenate(parts, values)});
  }
  for (size_t s = 0; s < first.squares.size(); ++s) {
    const auto values = [s](const PreparedData& part) -> const SharedMatrix& {
      return part.squares[s].values;
    };
    all.squares.push_back(
        {first.squares[s].name, first.squares[s].kind, Concatenate(parts, values)});
  }
  return all;
}

}  // namespace mercer
