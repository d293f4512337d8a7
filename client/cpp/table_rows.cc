#include "client/cpp/table_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/data/csv_cells.h"
#include "core/data/csv_layout.h"
#include "core/data/number_parser.h"
#include "core/data/record_reader.h"

namespace mercer::client {
namespace {

absl::Status BadRow(Index row, const std::string& what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("row ", row, ": ", what)), "BAD_ROW",
                    {{"row", absl::StrCat(row)}});
}

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

void AppendDouble(double value, std::string& bytes) {
  char raw[sizeof(double)];
  std::memcpy(raw, &value, sizeof(double));
  bytes.append(raw, sizeof(double));
}

}  // namespace

struct CsvRows::State {
  State(std::unique_ptr<ByteSource> bytes, const RowsOptions& rows_options)
      : options(rows_options),
        source(std::move(bytes)),
        reader(*source, /*quotes=*/true, options.delimiter) {}

  // Adds the cells of `record` to the columns of `rows`.
  absl::Status AddRecord(std::string_view record, v1::Rows& rows) const;
  bool IsMissing(const CsvCell& cell) const {
    return !cell.quoted && Contains(options.missing, std::string(cell.text));
  }

  RowsOptions options;
  std::unique_ptr<ByteSource> source;
  RecordReader reader;
  std::vector<std::string> names;
  std::vector<int> positions;  // of each column in v1::Rows.columns; -1 when it is ignored
  int64_t num_rows = 0;
};

absl::Status CsvRows::State::AddRecord(std::string_view record, v1::Rows& rows) const {
  CsvCells cells(record, options.delimiter);
  size_t column = 0;
  for (; !cells.AtEnd(); ++column) {
    const absl::StatusOr<CsvCell> cell = cells.Next();
    if (!cell.ok()) {
      return BadRow(reader.row(), std::string(cell.status().message()));
    }
    if (column < positions.size() && positions[column] >= 0) {
      rows.mutable_columns(positions[column])
          ->mutable_texts()
          ->add_values(IsMissing(*cell) ? "" : std::string(cell->text));
    }
  }
  return column == positions.size()
             ? absl::OkStatus()
             : BadRow(reader.row(),
                      absl::StrCat("has ", column, " cells, the header has ", positions.size()));
}

CsvRows::CsvRows(std::unique_ptr<State> state) : state_(std::move(state)) {}
CsvRows::CsvRows(CsvRows&&) noexcept = default;
CsvRows& CsvRows::operator=(CsvRows&&) noexcept = default;
CsvRows::~CsvRows() = default;

absl::StatusOr<CsvRows> CsvRows::Open(std::unique_ptr<ByteSource> source,
                                      const RowsOptions& options) {
  auto state = std::make_unique<State>(std::move(source), options);
  std::string_view header;
  MERCER_ASSIGN_OR_RETURN(const bool any, state->reader.Next(&header));
  if (!any) {
    return WithReason(absl::InvalidArgumentError("the file is empty"), "BAD_HEADER");
  }
  CsvOptions csv;
  csv.delimiter = options.delimiter;
  MERCER_ASSIGN_OR_RETURN(state->names, ReadCsvNames(header, csv));
  state->reader.set_num_header_records(1);
  int position = 0;
  for (const std::string& name : state->names) {
    state->positions.push_back(Contains(options.ignored, name) ? -1 : position++);
  }
  return CsvRows(std::move(state));
}

absl::StatusOr<v1::Rows> CsvRows::Next() {
  v1::Rows rows;
  for (size_t c = 0; c < state_->names.size(); ++c) {
    if (state_->positions[c] >= 0) {
      rows.add_columns()->set_name(state_->names[c]);
    }
  }
  int count = 0;
  for (; count < state_->options.batch_rows; ++count) {
    std::string_view record;
    MERCER_ASSIGN_OR_RETURN(const bool any, state_->reader.Next(&record));
    if (!any) {
      break;
    }
    if (record.empty() && state_->names.size() > 1) {  // blank lines are allowed at the end only
      const Index blank = state_->reader.row();
      while (record.empty()) {
        MERCER_ASSIGN_OR_RETURN(const bool more, state_->reader.Next(&record));
        if (!more) {
          break;
        }
      }
      if (!record.empty()) {
        return BadRow(blank, "is blank");
      }
      break;
    }
    MERCER_RETURN_IF_ERROR(state_->AddRecord(record, rows));
  }
  state_->num_rows += count;
  return count == 0 ? v1::Rows() : rows;
}

int64_t CsvRows::rows() const { return state_->num_rows; }

absl::StatusOr<v1::Rows> ReadSvmlightRows(ByteSource& source) {
  MERCER_ASSIGN_OR_RETURN(const Dataset dataset, ReadSvmlight(source, SvmlightOptions()));
  const FeatureBlock& block = dataset.blocks.at(0);
  v1::Rows rows;
  v1::SparseBlock& sparse = *rows.add_sparse();
  if (block.is_sparse) {
    sparse.mutable_row_starts()->Assign(block.sparse.row_starts.begin(),
                                        block.sparse.row_starts.end());
    sparse.mutable_column_indices()->Assign(block.sparse.column_indices.begin(),
                                            block.sparse.column_indices.end());
    sparse.mutable_values()->Assign(block.sparse.values.begin(), block.sparse.values.end());
    return rows;
  }
  const auto values = block.values.view();
  sparse.add_row_starts(0);
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      if (values(r, c) != 0.0) {
        sparse.add_column_indices(static_cast<int32_t>(c));
        sparse.add_values(values(r, c));
      }
    }
    sparse.add_row_starts(sparse.values_size());
  }
  return rows;
}

absl::StatusOr<SquareValues> ReadSquareText(ByteSource& source, char delimiter) {
  RecordReader reader(source, /*quotes=*/false, delimiter);
  SquareValues square;
  while (true) {
    std::string_view record;
    MERCER_ASSIGN_OR_RETURN(const bool any, reader.Next(&record));
    if (!any || record.empty()) {
      break;
    }
    CsvCells cells(record, delimiter);
    int64_t columns = 0;
    for (; !cells.AtEnd(); ++columns) {
      MERCER_ASSIGN_OR_RETURN(const CsvCell cell, cells.Next());
      double value = 0.0;
      if (!ParseWholeNumber(cell.text, &value)) {
        return BadRow(reader.row(), absl::StrCat("column ", columns + 1, ": not a number: '",
                                                 std::string(cell.text.substr(0, 100)), "'"));
      }
      AppendDouble(value, square.bytes);
    }
    if (square.rows > 0 && columns != square.columns) {
      return BadRow(reader.row(),
                    absl::StrCat("has ", columns, " numbers, the first row has ", square.columns));
    }
    square.columns = columns;
    ++square.rows;
  }
  return square;
}

}  // namespace mercer::client
