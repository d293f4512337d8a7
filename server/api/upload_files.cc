#include "server/api/upload_files.h"

#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/shorten.h"
#include "core/base/status_macros.h"
#include "core/data/csv_layout.h"
#include "server/api/dataset_translator.h"

namespace mercer::server {
namespace {

absl::Status BadSize(const std::string& message) {
  return WithReason(absl::InvalidArgumentError(message), "BAD_SIZE");
}

// The number of rows of a file of doubles. `stated_rows` 0: unknown.
absl::StatusOr<Index> CountRows(size_t bytes, Index columns, Index stated_rows,
                                const std::string& what) {
  // Compared by division: the product of an absurd number of columns would wrap round.
  const bool fits =
      columns > 0 && (bytes == 0 || static_cast<size_t>(columns) <= bytes / sizeof(double));
  const size_t row_bytes = fits ? static_cast<size_t>(columns) * sizeof(double) : 0;
  if (row_bytes == 0 || (bytes > 0 && bytes % row_bytes != 0)) {
    return BadSize(absl::StrCat(what, ": ", bytes, " bytes are no whole number of rows of ",
                                columns, " doubles"));
  }
  const Index rows = static_cast<Index>(bytes / row_bytes);
  if (stated_rows != 0 && rows != stated_rows) {
    return BadSize(absl::StrCat(what, ": ", stated_rows, " rows of ", columns,
                                " doubles were announced, ", rows, " came"));
  }
  return rows;
}

// Copies the file's doubles into aligned memory.
absl::StatusOr<RowMatrix> ReadDoubles(const std::string& path, Index columns, Index stated_rows,
                                      const std::string& what) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, PosixFileSystem().Map(path));
  const std::string_view bytes = file->contents();
  MERCER_ASSIGN_OR_RETURN(const Index rows, CountRows(bytes.size(), columns, stated_rows, what));
  RowMatrix values(rows, columns);
  if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

absl::Status RefuseMissing(const RowMatrix& values, const std::vector<std::string>& names) {
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      if (std::isnan(values(r, c))) {
        const std::string& name = names[static_cast<size_t>(c)];
        return WithReason(absl::InvalidArgumentError(absl::StrCat("row ", r + 1, ", column '", name,
                                                                  "': the value is missing")),
                          "BAD_CELL", {{"row", absl::StrCat(r + 1)}, {"column", name}});
      }
    }
  }
  return absl::OkStatus();
}

CsvOptions LayoutOptions(const v1::DenseFormat& format) {
  CsvOptions options;
  for (const v1::DenseColumn& column : format.columns()) {
    if (column.role() > v1::COLUMN_ROLE_FEATURE) {
      options.roles[column.name()] = static_cast<ColumnRole>(column.role() - 1);
    }
  }
  for (const v1::BlockColumns& block : format.blocks()) {
    options.blocks.push_back({block.name(), {block.columns().begin(), block.columns().end()}});
  }
  return options;
}

ColumnSchema SchemaOf(const v1::DenseColumn& column) {
  return {column.name(),
          !column.categories().empty(),
          {column.categories().begin(), column.categories().end()}};
}

absl::StatusOr<Dataset> ReadDense(const v1::DenseFormat& format, const std::string& path) {
  MERCER_ASSIGN_OR_RETURN(const RowMatrix values,
                          ReadDoubles(path, format.columns_size(), format.rows(), "the table"));
  std::vector<std::string> names;
  for (const v1::DenseColumn& column : format.columns()) {
    names.push_back(column.name());
  }
  if (!format.allow_missing()) {
    MERCER_RETURN_IF_ERROR(RefuseMissing(values, names));
  }
  MERCER_ASSIGN_OR_RETURN(const CsvLayout layout, MakeCsvLayout(names, LayoutOptions(format)));
  Dataset dataset;
  dataset.rows = values.rows();
  std::vector<RowMatrix> blocks;
  for (const CsvBlock& block : layout.blocks) {
    blocks.emplace_back(values.rows(), block.width);
    FeatureBlock feature_block;
    feature_block.name = block.name;
    feature_block.columns.resize(static_cast<size_t>(block.width));
    dataset.blocks.push_back(std::move(feature_block));
  }
  for (size_t c = 0; c < layout.columns.size(); ++c) {
    const CsvColumn& column = layout.columns[c];
    const ColumnSchema schema = SchemaOf(format.columns(static_cast<int>(c)));
    if (column.role == ColumnRole::kFeature) {
      blocks[column.block].col(column.position) = values.col(static_cast<Index>(c));
      dataset.blocks[column.block].columns[static_cast<size_t>(column.position)] = schema;
    } else if (column.role != ColumnRole::kIgnored) {
      dataset.role_columns.push_back({column.role, schema, values.col(static_cast<Index>(c))});
    }
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    dataset.blocks[b].values = SharedMatrix(std::move(blocks[b]));
  }
  return dataset;
}

// Passes a text table on and counts its cells: two bytes of text are a number of eight, so that the
// memory must be limited besides the bytes.
class CellLimit final : public ByteSource {
 public:
  // Cells end with `separator` or a line, unless they are within quotes.
  CellLimit(std::unique_ptr<ByteSource> inner, char separator, bool has_quotes, int64_t limit_bytes)
      : inner_(std::move(inner)),
        separator_(separator),
        has_quotes_(has_quotes),
        limit_bytes_(limit_bytes) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    MERCER_ASSIGN_OR_RETURN(const size_t count, inner_->Read(buffer, capacity));
    for (size_t i = 0; i < count; ++i) {
      // A quote within quotes is written twice, which leaves the state as it was.
      quoted_ = quoted_ != (has_quotes_ && buffer[i] == '"');
      cells_ += !quoted_ && (buffer[i] == separator_ || buffer[i] == '\n') ? 1 : 0;
    }
    if (cells_ > limit_bytes_ / static_cast<int64_t>(sizeof(double))) {
      return DatasetTooLarge(absl::StrCat("the table of more than ", cells_, " cells"),
                             limit_bytes_);
    }
    return count;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  const char separator_;
  const bool has_quotes_;
  const int64_t limit_bytes_;
  bool quoted_ = false;
  int64_t cells_ = 0;
};

absl::StatusOr<Dataset> ReadTable(const v1::UploadPart& part, const std::string& path,
                                  int64_t max_bytes) {
  if (part.has_dense()) {
    return ReadDense(part.dense(), path);
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenFileSource(path));
  FieldViolations violations;
  CsvOptions csv;
  if (part.has_csv()) {
    csv = ReadCsvFormat(part.csv(), "", violations);
  }
  CellLimit source(MakeInflatingSource(std::move(file), static_cast<size_t>(max_bytes)),
                   part.has_csv() ? csv.delimiter : ':', part.has_csv(), max_bytes);
  absl::StatusOr<Dataset> dataset =
      part.has_csv() ? ReadCsv(source, csv)
                     : ReadSvmlight(source, ReadSvmlightFormat(part.svmlight(), "", violations));
  const bool too_long = dataset.status().code() == absl::StatusCode::kResourceExhausted &&
                        GetReason(dataset.status()).empty();
  return too_long ? DatasetTooLarge("the inflated table", max_bytes) : std::move(dataset);
}

void CheckTable(const v1::UploadPart& part, FieldViolations& violations) {
  const std::string path = "header.parts[0]";
  if (part.has_csv()) {
    ReadCsvFormat(part.csv(), path + ".csv", violations);
  } else if (part.has_svmlight()) {
    ReadSvmlightFormat(part.svmlight(), path + ".svmlight", violations);
  } else if (part.has_dense()) {
    violations.Check(part.dense().columns_size() > 0, path + ".dense.columns", "is missing");
    violations.Check(part.dense().rows() >= 0, path + ".dense.rows", "must be >= 0");
  } else {
    violations.Add(path, "must be a table: csv, svmlight or dense");
  }
}

}  // namespace

absl::Status DatasetTooLarge(const std::string& what, int64_t limit_bytes) {
  return WithReason(absl::ResourceExhaustedError(
                        absl::StrCat(what, " exceeds the server's limit of ", limit_bytes,
                                     " bytes for a data set (mercer-server --max-upload)")),
                    "DATASET_TOO_LARGE", {{"limit_bytes", absl::StrCat(limit_bytes)}});
}

absl::Status CheckAnnouncedSize(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                                int64_t limit_bytes) {
  const auto exceeds = [limit_bytes](int64_t rows, int64_t columns) {
    // As real numbers: the product may not fit.
    return static_cast<double>(rows) * static_cast<double>(columns) * sizeof(double) >
           static_cast<double>(limit_bytes);
  };
  const v1::DenseFormat& table = parts[0].dense();
  if (exceeds(table.rows(), table.columns_size())) {
    return DatasetTooLarge(
        absl::StrCat("the table of ", table.rows(), " x ", table.columns_size(), " numbers"),
        limit_bytes);
  }
  for (int i = 1; i < parts.size(); ++i) {
    const v1::SquareFormat& square = parts[i].square();
    if (square.columns() == 0 && exceeds(table.rows(), table.rows())) {
      return DatasetTooLarge(absl::StrCat("the square '", Shorten(square.name(), 100), "' of ",
                                          table.rows(), " x ", table.rows(), " numbers"),
                             limit_bytes);
    }
  }
  return absl::OkStatus();
}

UploadFiles::~UploadFiles() {
  file_.reset();
  for (const std::string& path : paths_) {
    PosixFileSystem().Remove(path).IgnoreError();
  }
}

absl::Status UploadFiles::BeginPart() {
  MERCER_RETURN_IF_ERROR(Close());
  const std::string path = absl::StrCat(stem_, ".", paths_.size());
  MERCER_ASSIGN_OR_RETURN(file_, PosixFileSystem().Create(path));
  paths_.push_back(path);
  return absl::OkStatus();
}

absl::Status UploadFiles::Append(std::string_view bytes) { return file_->Append(bytes); }

absl::Status UploadFiles::Close() {
  if (file_ == nullptr) {
    return absl::OkStatus();
  }
  const absl::Status status = file_->Close();
  file_.reset();
  return status;
}

absl::StatusOr<Dataset> ReadUploadedParts(
    const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts, const UploadFiles& files,
    int64_t max_bytes) {
  MERCER_ASSIGN_OR_RETURN(Dataset dataset, ReadTable(parts[0], files.path(0), max_bytes));
  for (int i = 1; i < parts.size(); ++i) {
    const v1::SquareFormat& format = parts[i].square();
    const Index columns = format.columns() == 0 ? dataset.rows : format.columns();
    MERCER_ASSIGN_OR_RETURN(RowMatrix values,
                            ReadDoubles(files.path(i), columns, dataset.rows,
                                        absl::StrCat("the square '", format.name(), "'")));
    dataset.squares.push_back({format.name(), static_cast<SquareKind>(format.kind() - 1),
                               SharedMatrix(std::move(values))});
  }
  MERCER_RETURN_IF_ERROR(ValidateDataset(dataset));
  return dataset;
}

void CheckUploadParts(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                      FieldViolations& violations) {
  if (parts.empty()) {
    violations.Add("header.parts", "is missing; the first part is the table");
    return;
  }
  constexpr int kMaxParts = 1000;
  if (parts.size() > kMaxParts) {
    violations.Add("header.parts",
                   absl::StrCat("must be at most ", kMaxParts, ", are ", parts.size()));
    return;
  }
  CheckTable(parts[0], violations);
  for (int i = 1; i < parts.size(); ++i) {
    const std::string path = absl::StrCat("header.parts[", i, "]");
    if (!parts[i].has_square()) {
      violations.Add(path, "must be a square; only the first part is a table");
      continue;
    }
    const v1::SquareFormat& square = parts[i].square();
    violations.Check(!square.name().empty(), path + ".square.name", "is missing");
    violations.Check(square.kind() != v1::SQUARE_KIND_UNSPECIFIED, path + ".square.kind",
                     "is missing");
    violations.Check(square.columns() >= 0, path + ".square.columns", "must be >= 0");
  }
}

}  // namespace mercer::server
