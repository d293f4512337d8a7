#include "server/uploads/upload_files.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "core/io/text/csv_layout.h"
#include "server/translation/dataset_translator.h"
#include "server/uploads/image_files.h"
#include "server/uploads/table_splitter.h"

namespace mercer::server {
namespace {

// A kind of numbers in files.
struct NumberFormat {
  size_t bytes = 0;  // of a number
  const char* plural = "";
};
constexpr NumberFormat kDoubles = {sizeof(double), "doubles"};
constexpr NumberFormat kSingles = {sizeof(float), "numbers of single precision"};

// The number of rows of a file of numbers. `stated_rows` 0: unknown.
absl::StatusOr<Index> CountRows(size_t bytes, const NumberFormat& format, Index columns,
                                Index stated_rows, const std::string& what) {
  // Compared by division: the product of an absurd number of columns would wrap round.
  const bool fits =
      columns > 0 && (bytes == 0 || static_cast<size_t>(columns) <= bytes / format.bytes);
  const size_t row_bytes = fits ? static_cast<size_t>(columns) * format.bytes : 0;
  if (row_bytes == 0 || (bytes > 0 && bytes % row_bytes != 0)) {
    return BadSize(absl::StrCat(what, ": ", bytes, " bytes are no whole number of rows of ",
                                columns, " ", format.plural));
  }
  const Index rows = static_cast<Index>(bytes / row_bytes);
  if (stated_rows != 0 && rows != stated_rows) {
    return BadSize(absl::StrCat(what, ": ", stated_rows, " rows of ", columns, " ", format.plural,
                                " were announced, ", rows, " came"));
  }
  return rows;
}

// The file's doubles where they are mapped; they need no memory of the process.
absl::StatusOr<SharedMatrix> MapDoubles(const std::string& path, Index columns, Index stated_rows,
                                        const std::string& what) {
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                          PosixFileSystem().Map(path));
  const std::string_view bytes = file->contents();
  MERCER_ASSIGN_OR_RETURN(const Index rows,
                          CountRows(bytes.size(), kDoubles, columns, stated_rows, what));
  return SharedMatrix(file, reinterpret_cast<const double*>(bytes.data()), rows, columns);
}

absl::StatusOr<SharedMatrix> ReadSquare(const v1::SquareFormat& format, const std::string& path,
                                        Index rows, const std::function<bool()>& is_cancelled) {
  const Index columns = format.columns() == 0 ? rows : format.columns();
  const std::string what = absl::StrCat("the square '", format.name(), "'");
  if (!format.single_precision()) {
    return MapDoubles(path, columns, rows, what);
  }
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                          PosixFileSystem().Map(path));
  const std::string_view bytes = file->contents();
  MERCER_ASSIGN_OR_RETURN(const Index counted,
                          CountRows(bytes.size(), kSingles, columns, rows, what));
  return WidenNumbers(reinterpret_cast<const float*>(bytes.data()), counted, columns, path,
                      is_cancelled);
}

absl::Status RefuseMissing(const SharedMatrix& table, const v1::DenseFormat& format) {
  const auto values = table.view();
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      if (std::isnan(values(r, c))) {
        const v1::DenseColumn& column = format.columns(static_cast<int>(c));
        const bool is_target = column.role() == v1::COLUMN_ROLE_TARGET;
        ErrorMetadata metadata = {{"row", absl::StrCat(r + 1)}, {"column", column.name()}};
        if (!is_target) {
          metadata.emplace_back("remedy", "dense.allow_missing");
        }
        return WithReason(
            absl::InvalidArgumentError(absl::StrCat(
                "row ", r + 1, ", column '", column.name(), "': the ",
                is_target ? "target is missing; nothing is learned from such rows: leave them out"
                          : "value is missing")),
            "BAD_CELL", metadata);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> ReadDense(const v1::DenseFormat& format, const std::string& path,
                                  const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(const SharedMatrix table,
                          MapDoubles(path, format.columns_size(), format.rows(), "the table"));
  if (!format.allow_missing()) {
    MERCER_RETURN_IF_ERROR(RefuseMissing(table, format));
  }
  MERCER_ASSIGN_OR_RETURN(const CsvLayout layout, ReadDenseLayout(format));
  return SplitTable(table, layout, ReadDenseSchemas(format), path, is_cancelled);
}

// Passes bytes on until the client has gone.
class CancellableSource final : public ByteSource {
 public:
  CancellableSource(std::unique_ptr<ByteSource> inner, const std::function<bool()>& is_cancelled)
      : inner_(std::move(inner)), is_cancelled_(is_cancelled) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled_));
    return inner_->Read(buffer, capacity);
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  const std::function<bool()>& is_cancelled_;
};

absl::StatusOr<Dataset> ReadText(const v1::UploadPart& part, ByteSource& source, size_t max_bytes) {
  FieldViolations violations;
  if (part.has_csv()) {
    CsvOptions csv = ReadCsvFormat(part.csv(), "", violations);
    csv.max_bytes = max_bytes;
    return ReadCsv(source, csv);
  }
  SvmlightOptions svmlight = ReadSvmlightFormat(part.svmlight(), "", violations);
  svmlight.max_bytes = max_bytes;
  return ReadSvmlight(source, svmlight);
}

absl::StatusOr<Dataset> ReadTable(const v1::UploadPart& part, const std::string& path,
                                  int64_t max_bytes, const std::function<bool()>& is_cancelled) {
  if (part.has_dense()) {
    return ReadDense(part.dense(), path, is_cancelled);
  }
  if (part.has_images()) {
    return ReadImages(part.images(), path, max_bytes, is_cancelled);
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenFileSource(path));
  CancellableSource source(MakeInflatingSource(std::move(file), static_cast<size_t>(max_bytes)),
                           is_cancelled);
  absl::StatusOr<Dataset> dataset = ReadText(part, source, static_cast<size_t>(max_bytes));
  const bool too_large = dataset.status().code() == absl::StatusCode::kResourceExhausted &&
                         GetReason(dataset.status()).empty();
  return too_large ? DatasetTooLarge("the table, inflated or as numbers in memory,", max_bytes)
                   : std::move(dataset);
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
  } else if (part.has_images()) {
    CheckImagesFormat(part.images(), path + ".images", violations);
  } else {
    violations.Add(path, "must be a table: csv, svmlight, dense or images");
  }
}

}  // namespace

absl::Status CheckWanted(const std::function<bool()>& is_cancelled) {
  return is_cancelled() ? absl::CancelledError("the client has gone") : absl::OkStatus();
}

absl::Status BadSize(const std::string& message) {
  return WithReason(absl::InvalidArgumentError(message), "BAD_SIZE");
}

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
  MERCER_RETURN_IF_ERROR(CheckAnnouncedImages(parts[0].images(), limit_bytes));
  const v1::DenseFormat& table = parts[0].dense();
  if (exceeds(table.rows(), table.columns_size())) {
    return DatasetTooLarge(
        absl::StrCat("the table of ", table.rows(), " x ", table.columns_size(), " numbers"),
        limit_bytes);
  }
  for (int i = 1; i < parts.size(); ++i) {
    const v1::SquareFormat& square = parts[i].square();
    if (square.columns() == 0 && exceeds(table.rows(), table.rows())) {
      return DatasetTooLarge(absl::StrCat("the square '", Shorten(square.name(), kQuotedBytes),
                                          "' of ", table.rows(), " x ", table.rows(), " numbers"),
                             limit_bytes);
    }
  }
  return absl::OkStatus();
}

namespace {

absl::StatusOr<int64_t> TableParseBytes(
    const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts, const UploadFiles& files,
    int64_t max_bytes) {
  // A cell of two bytes that makes a category of its own, and more.
  constexpr int64_t kMostPerByte = 64;
  if (parts[0].has_dense()) {
    const v1::DenseFormat& dense = parts[0].dense();
    const auto role_columns = std::count_if(dense.columns().begin(), dense.columns().end(),
                                            [](const v1::DenseColumn& column) {
                                              return column.role() > v1::COLUMN_ROLE_FEATURE &&
                                                     column.role() != v1::COLUMN_ROLE_IGNORED;
                                            });
    return std::min(max_bytes, SplitBytes(files.sizes()[0], dense.columns_size(), role_columns));
  }
  if (parts[0].has_images()) {
    return ImageParseBytes(parts[0].images(), files.path(0), max_bytes);
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file,
                          PosixFileSystem().Map(files.path(0)));
  const std::string_view bytes = file->contents();
  const bool is_gzip = bytes.substr(0, 2) == "\x1F\x8B";
  const auto size = static_cast<int64_t>(bytes.size());
  return is_gzip || size > max_bytes / kMostPerByte ? max_bytes : size * kMostPerByte;
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                                   const UploadFiles& files, int64_t max_bytes) {
  MERCER_ASSIGN_OR_RETURN(int64_t bytes, TableParseBytes(parts, files, max_bytes));
  for (int i = 1; i < parts.size(); ++i) {
    if (parts[i].square().single_precision()) {
      bytes += WidenBytes(files.sizes()[static_cast<size_t>(i)]);
    }
  }
  return bytes;
}

absl::StatusOr<Dataset> ReadUploadedParts(
    const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts, const UploadFiles& files,
    int64_t max_bytes, const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(Dataset dataset,
                          ReadTable(parts[0], files.path(0), max_bytes, is_cancelled));
  for (int i = 1; i < parts.size(); ++i) {
    MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
    const v1::SquareFormat& format = parts[i].square();
    MERCER_ASSIGN_OR_RETURN(SharedMatrix values,
                            ReadSquare(format, files.path(i), dataset.rows, is_cancelled));
    dataset.squares.push_back(
        {format.name(), static_cast<SquareKind>(format.kind() - 1), std::move(values)});
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
