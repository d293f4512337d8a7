#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/data/table/row_table.h"
#include "core/io/text/csv_cells.h"
#include "core/io/text/csv_layout.h"
#include "core/io/text/number_parser.h"
#include "core/io/text/readers.h"
#include "core/io/text/record_reader.h"

namespace mercer {
namespace {

constexpr size_t kTypeBytes = size_t{1} << 24;
constexpr size_t kMaxCategories = size_t{1} << 20;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The first records, kept until they have decided the column types.
class Sample {
 public:
  bool full() const {
    return ends_.size() >= static_cast<size_t>(kTypeRows) || text_.size() >= kTypeBytes;
  }
  size_t size() const { return ends_.size(); }

  void Add(std::string_view record) {
    text_.append(record);
    ends_.push_back(text_.size());
    text_.push_back('\n');  // what every parser of a record may read behind it
  }

  std::string_view record(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1] + 1;
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string text_;
  std::vector<size_t> ends_;
};

// Parses rows into a table, once the types are known.
class CsvParser {
 public:
  CsvParser(CsvLayout layout, const CsvOptions& options);

  void DecideTypes(const Sample& sample);
  absl::Status ParseRow(std::string_view record, Index row);
  Dataset Finish() &&;

 private:
  static constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();

  // What the loop over the cells of a row needs, kept small.
  struct Target {
    uint32_t matrix = kNowhere;  // of the table; kNowhere: the column is ignored
    uint32_t position = 0;
    bool try_number = false;
  };
  struct Dictionary {
    HashMap<std::string, double> codes;
    std::vector<std::string> categories;
  };

  static std::vector<Index> Widths(const CsvLayout& layout);
  bool IsMissing(const CsvCell& cell, CsvType type) const;
  bool StandsForNone(const CsvCell& cell) const {
    return usual_marks_ && StandsForNoNumber(cell.text);
  }
  absl::StatusOr<double> ConvertCell(size_t column, const CsvCell& cell, Index row);
  absl::StatusOr<double> ConvertNumber(const CsvColumn& column, const CsvCell& cell,
                                       Index row) const;
  absl::StatusOr<double> ConvertCategory(size_t column, const CsvCell& cell, Index row);
  absl::Status CheckMemory(Index rows) const;
  absl::Status RaggedRow(std::string_view record, Index row) const;
  ColumnSchema TakeSchema(size_t column);

  CsvLayout layout_;
  char delimiter_;
  bool allow_missing_;
  bool usual_marks_;
  bool number_means_missing_ = false;  // a missing mark such as -999 looks like a number
  HashSet<std::string> missing_;
  std::vector<Target> targets_;
  std::vector<Dictionary> dictionaries_;
  size_t dictionary_bytes_ = 0;
  size_t row_bytes_ = 0;
  size_t max_bytes_;
  RowTable table_;
};

CsvParser::CsvParser(CsvLayout layout, const CsvOptions& options)
    : layout_(std::move(layout)),
      delimiter_(options.delimiter),
      allow_missing_(options.allow_missing),
      usual_marks_(options.usual_marks),
      missing_(options.missing.begin(), options.missing.end()),
      dictionaries_(layout_.columns.size()),
      max_bytes_(options.max_bytes),
      table_(Widths(layout_)) {
  for (const std::string& mark : options.missing) {
    double value = 0;
    number_means_missing_ = number_means_missing_ || ParseWholeNumber(mark, &value);
  }
  auto next_matrix = static_cast<uint32_t>(layout_.blocks.size());
  for (const CsvColumn& column : layout_.columns) {
    Target target;
    if (column.role == ColumnRole::kFeature) {
      target.matrix = static_cast<uint32_t>(column.block);
      target.position = static_cast<uint32_t>(column.position);
    } else if (column.role != ColumnRole::kIgnored) {
      target.matrix = next_matrix++;
    }
    row_bytes_ += target.matrix == kNowhere ? 0 : sizeof(double);
    targets_.push_back(target);
  }
}

// The matrices of the table: the blocks, then one for each column with a role.
std::vector<Index> CsvParser::Widths(const CsvLayout& layout) {
  std::vector<Index> widths;
  for (const CsvBlock& block : layout.blocks) {
    widths.push_back(block.width);
  }
  for (const CsvColumn& column : layout.columns) {
    if (column.role != ColumnRole::kFeature && column.role != ColumnRole::kIgnored) {
      widths.push_back(1);
    }
  }
  return widths;
}

// A column without a stated type is numeric when all its cells in the sample are numbers or
// missing. Marks that may be names are missing only beside numbers.
void CsvParser::DecideTypes(const Sample& sample) {
  std::vector<bool> has_number(layout_.columns.size(), false);
  std::vector<bool> has_mark(layout_.columns.size(), false);
  for (size_t row = 0; row < sample.size(); ++row) {
    CsvCells cells(sample.record(row), delimiter_);
    for (size_t i = 0; i < layout_.columns.size() && !cells.AtEnd(); ++i) {
      CsvColumn& column = layout_.columns[i];
      const absl::StatusOr<CsvCell> cell = cells.Next();
      if (!cell.ok()) {
        break;  // the parse of this row reports it
      }
      double value = 0;
      if (column.type != CsvType::kUndecided) {
        continue;
      }
      if (ParseWholeNumber(cell->text, &value)) {
        has_number[i] = true;
      } else if (column.role == ColumnRole::kFeature && StandsForNone(*cell)) {
        has_mark[i] = true;  // of groups and classes it may be the name of one
      } else if (!IsMissing(*cell, CsvType::kNumeric)) {
        column.type = CsvType::kCategorical;
      }
    }
  }
  for (size_t i = 0; i < targets_.size(); ++i) {
    CsvColumn& column = layout_.columns[i];
    if (column.type == CsvType::kUndecided) {
      const bool names = has_mark[i] && !has_number[i];
      column.type = names ? CsvType::kCategorical : CsvType::kNumeric;
    }
    targets_[i].try_number = column.type == CsvType::kNumeric && targets_[i].matrix != kNowhere &&
                             !number_means_missing_;
  }
}

absl::Status CsvParser::CheckMemory(Index rows) const {
  const size_t bytes = static_cast<size_t>(rows) * row_bytes_ + dictionary_bytes_;
  return bytes <= max_bytes_ ? absl::OkStatus()
                             : absl::ResourceExhaustedError(absl::StrCat(
                                   rows, " rows take more than ", max_bytes_, " bytes of memory"));
}

// TryNumber reads a cell that is plainly a number, without copying it; all other cells take the
// long way. A missing mark that looks like a number would be taken for one, hence `try_number`.
absl::Status CsvParser::ParseRow(std::string_view record, Index row) {
  MERCER_RETURN_IF_ERROR(CheckMemory(table_.rows() + 1));
  MERCER_RETURN_IF_ERROR(table_.BeginRow());
  CsvCells cells(record, delimiter_);
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (cells.AtEnd()) {
      return RaggedRow(record, row);
    }
    const Target target = targets_[i];
    double value = 0;
    if (!target.try_number || !cells.TryNumber(&value)) {
      const absl::StatusOr<CsvCell> cell = cells.Next();
      if (!cell.ok()) {
        return RowError(row, std::string(cell.status().message()));
      }
      if (target.matrix == kNowhere) {
        continue;
      }
      MERCER_ASSIGN_OR_RETURN(value, ConvertCell(i, *cell, row));
    } else if (std::isinf(value)) {
      return CellError(row, layout_.columns[i].name, "the number is beyond the range of double");
    }
    table_.row(target.matrix)[target.position] = value;
  }
  return cells.AtEnd() ? absl::OkStatus() : RaggedRow(record, row);
}

// The row is read once more, to say how many cells it has.
absl::Status CsvParser::RaggedRow(std::string_view record, Index row) const {
  size_t count = 0;
  for (CsvCells cells(record, delimiter_); !cells.AtEnd(); ++count) {
    const absl::StatusOr<CsvCell> cell = cells.Next();
    if (!cell.ok()) {
      return RowError(row, std::string(cell.status().message()));
    }
  }
  return RowError(row, absl::StrCat(count, count == 1 ? " cell" : " cells",
                                    " where the first line has ", targets_.size(),
                                    !record.empty() && record.back() == delimiter_
                                        ? "; the last one is empty, after the delimiter at its end"
                                        : ""));
}

// A quoted mark is a category of that name, but no number.
bool CsvParser::IsMissing(const CsvCell& cell, CsvType type) const {
  return cell.text.empty() ||
         ((type == CsvType::kNumeric || !cell.quoted) && missing_.contains(cell.text)) ||
         (type == CsvType::kNumeric && StandsForNone(cell));
}

absl::StatusOr<double> CsvParser::ConvertCell(size_t i, const CsvCell& cell, Index row) {
  const CsvColumn& column = layout_.columns[i];
  if (IsMissing(cell, column.type)) {
    if (!allow_missing_) {
      return column.role == ColumnRole::kTarget
                 ? CellError(row, column.name,
                             "the target is missing; nothing is learned from such rows: leave them "
                             "out")
                 : CellError(row, column.name, "the value is missing", "csv.allow_missing");
    }
    return kMissing;
  }
  return column.type == CsvType::kNumeric ? ConvertNumber(column, cell, row)
                                          : ConvertCategory(i, cell, row);
}

absl::StatusOr<double> CsvParser::ConvertNumber(const CsvColumn& column, const CsvCell& cell,
                                                Index row) const {
  double value = 0;
  if (!ParseWholeNumber(cell.text, &value)) {
    return CellError(
        row, column.name,
        absl::StrCat(
            "not a number: ", Quoted(cell.text),
            column.type_stated ? "" : "; if the column holds names, declare it categorical"),
        column.type_stated ? "" : "csv.categorical");
  }
  if (std::isinf(value)) {
    return CellError(row, column.name, absl::StrCat("not a finite number: ", Quoted(cell.text)));
  }
  return value;
}

// Categories have codes 0, 1, ... in the order of their first appearance.
absl::StatusOr<double> CsvParser::ConvertCategory(size_t i, const CsvCell& cell, Index row) {
  const std::string& name = layout_.columns[i].name;
  Dictionary& dictionary = dictionaries_[i];
  const auto found = dictionary.codes.find(cell.text);
  if (found != dictionary.codes.end()) {
    return found->second;
  }
  if (!IsCleanText(cell.text)) {
    return CellError(
        row, name,
        absl::StrCat("binary data or not UTF-8: ", Quoted(cell.text), "; save the file as UTF-8"));
  }
  if (dictionary.categories.size() == kMaxCategories) {
    return CellError(
        row, name,
        absl::StrCat("more than ", kMaxCategories,
                     " categories; if the column is no feature, give it the role ignored"));
  }
  MERCER_RETURN_IF_ERROR(CheckMemory(table_.rows()));
  const auto code = static_cast<double>(dictionary.categories.size());
  dictionary.categories.emplace_back(cell.text);
  dictionary.codes.emplace(cell.text, code);
  dictionary_bytes_ += 2 * (sizeof(std::string) + cell.text.size() + sizeof(double));
  return code;
}

ColumnSchema CsvParser::TakeSchema(size_t i) {
  CsvColumn& column = layout_.columns[i];
  const bool categorical = column.type == CsvType::kCategorical;
  return {std::move(column.name), categorical, std::move(dictionaries_[i].categories)};
}

Dataset CsvParser::Finish() && {
  Dataset dataset;
  dataset.rows = table_.rows();
  for (size_t block = 0; block < layout_.blocks.size(); ++block) {
    FeatureBlock& added = dataset.blocks.emplace_back();
    added.name = layout_.blocks[block].name;
    added.columns.resize(static_cast<size_t>(layout_.blocks[block].width));
    added.values = table_.TakeMatrix(block);
  }
  for (size_t i = 0; i < targets_.size(); ++i) {
    const CsvColumn& column = layout_.columns[i];
    if (column.role == ColumnRole::kFeature) {
      dataset.blocks[column.block].columns[static_cast<size_t>(column.position)] = TakeSchema(i);
    } else if (column.role != ColumnRole::kIgnored) {
      const ColumnRole role = column.role;
      dataset.role_columns.push_back({role, TakeSchema(i), table_.TakeColumn(targets_[i].matrix)});
    }
  }
  return dataset;
}

absl::Status CheckDelimiter(char delimiter) {
  const auto byte = static_cast<unsigned char>(delimiter);
  const bool usable = (byte >= 0x20 || delimiter == '\t') && byte < 0x7F &&
                      std::isalnum(byte) == 0 &&
                      std::string_view("\"+-.").find(delimiter) == std::string_view::npos;
  FieldViolations violations;
  violations.Check(
      usable, "delimiter",
      "must be a tab or a printable ASCII character other than letters, digits and \" + - .");
  return violations.ToStatus();
}

// Records that are rows: the blank lines at the end are left out, others refused.
class RowReader {
 public:
  explicit RowReader(RecordReader& records) : records_(records) {}

  absl::StatusOr<bool> Next(std::string_view* record) {
    MERCER_ASSIGN_OR_RETURN(bool more, records_.Next(record));
    Index blank_row = 0;
    while (more && record->empty()) {
      blank_row = blank_row == 0 ? records_.row() : blank_row;
      MERCER_ASSIGN_OR_RETURN(more, records_.Next(record));
    }
    if (more && blank_row != 0) {
      return RowError(blank_row, "blank line");
    }
    return more;
  }

 private:
  RecordReader& records_;
};

// The first rows are kept as text until they have decided the types, and then parsed with all
// others.
absl::Status ReadRows(RowReader& rows, RecordReader& records, CsvParser& parser, Sample sample) {
  std::string_view record;
  bool more = true;
  while (more && !sample.full()) {
    MERCER_ASSIGN_OR_RETURN(more, rows.Next(&record));
    if (more) {
      sample.Add(record);
    }
  }
  if (sample.size() == 0) {
    return WithReason(absl::InvalidArgumentError("the file has a header but no rows"), "NO_ROWS");
  }
  parser.DecideTypes(sample);
  for (size_t i = 0; i < sample.size(); ++i) {
    MERCER_RETURN_IF_ERROR(parser.ParseRow(sample.record(i), static_cast<Index>(i) + 1));
  }
  sample = Sample();
  while (more) {
    MERCER_ASSIGN_OR_RETURN(more, rows.Next(&record));
    if (more) {
      MERCER_RETURN_IF_ERROR(parser.ParseRow(record, records.row()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> ReadCsv(ByteSource& source, const CsvOptions& options) {
  MERCER_RETURN_IF_ERROR(CheckDelimiter(options.delimiter));
  RecordReader records(source, /*quotes=*/true, options.delimiter);
  std::string_view record;
  MERCER_ASSIGN_OR_RETURN(const bool any, records.Next(&record));
  if (!any || record.empty()) {
    return HeaderError("", any ? "the first line is blank" : "the file is empty");
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadCsvNames(record, options));
  MERCER_ASSIGN_OR_RETURN(CsvLayout layout, MakeCsvLayout(names, options));
  Sample sample;
  if (options.has_header) {
    records.set_num_header_records(1);
  } else {
    sample.Add(record);
  }
  CsvParser parser(std::move(layout), options);
  RowReader rows(records);
  MERCER_RETURN_IF_ERROR(ReadRows(rows, records, parser, std::move(sample)));
  return std::move(parser).Finish();
}

}  // namespace mercer
