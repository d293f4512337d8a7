#include "core/io/store/dataset_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/page_buffer.h"
#include "core/io/store/mapped_file.h"

// Layout: magic, version, size of the header, size of the file (8 bytes each); the header; then the
// sections in the order of the header, every one at a multiple of 64 bytes with zeros between. A
// dense block, a square block and a column are one section (row-major doubles); a sparse block is
// three: row starts, values, column indices.
namespace mercer {
namespace {

constexpr std::string_view kMagic = "MERCERDS";
constexpr uint64_t kVersion = 1;
constexpr size_t kPrefixBytes = 32;
constexpr size_t kAlignment = 64;

size_t Aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

std::string EncodeHeader(const Dataset& dataset) {
  ByteWriter writer;
  writer.WriteInt64(dataset.rows);
  writer.WriteUint64(dataset.blocks.size());
  for (const FeatureBlock& block : dataset.blocks) {
    writer.WriteString(block.name);
    writer.WriteBool(block.is_sparse);
    writer.WriteInt64(block.num_columns());
    writer.WriteUint64(block.sparse.values.size());
    WriteFields(block.columns, writer);
  }
  writer.WriteUint64(dataset.squares.size());
  for (const SquareBlock& square : dataset.squares) {
    writer.WriteString(square.name);
    writer.WriteUint8(static_cast<uint8_t>(square.kind));
    writer.WriteInt64(square.values.cols());
  }
  writer.WriteUint64(dataset.role_columns.size());
  for (const RoleColumn& column : dataset.role_columns) {
    writer.WriteUint8(static_cast<uint8_t>(column.role));
    WriteFields(column.schema, writer);
  }
  return std::move(writer).Take();
}

// Calls visit(bytes, size in bytes, holds doubles) for every section.
template <typename Visitor>
absl::Status ForEachSection(const Dataset& dataset, const Visitor& visit) {
  const auto visit_matrix = [&](const SharedMatrix& values) {
    const auto view = values.view();
    return visit(view.data(), static_cast<size_t>(view.size()) * sizeof(double), true);
  };
  for (const FeatureBlock& block : dataset.blocks) {
    if (!block.is_sparse) {
      MERCER_RETURN_IF_ERROR(visit_matrix(block.values));
      continue;
    }
    const SparseRows& sparse = block.sparse;
    MERCER_RETURN_IF_ERROR(
        visit(sparse.row_starts.data(), sparse.row_starts.size() * sizeof(int64_t), false));
    MERCER_RETURN_IF_ERROR(
        visit(sparse.values.data(), sparse.values.size() * sizeof(double), true));
    MERCER_RETURN_IF_ERROR(
        visit(sparse.column_indices.data(), sparse.column_indices.size() * sizeof(int32_t), false));
  }
  for (const SquareBlock& square : dataset.squares) {
    MERCER_RETURN_IF_ERROR(visit_matrix(square.values));
  }
  for (const RoleColumn& column : dataset.role_columns) {
    MERCER_RETURN_IF_ERROR(visit(column.values.data(),
                                 static_cast<size_t>(column.values.size()) * sizeof(double), true));
  }
  return absl::OkStatus();
}

absl::Status WriteZeros(size_t count, ByteSink& sink) {
  static constexpr char kZeros[kAlignment] = {};
  return count == 0 ? absl::OkStatus() : sink.Write(std::string_view(kZeros, count));
}

// Doubles with every NaN in one form, so that equal data sets give equal bytes.
absl::Status WriteDoubles(const double* values, size_t count, ByteSink& sink) {
  constexpr size_t kPiece = 8192;
  std::vector<double> piece;
  for (size_t begin = 0; begin < count; begin += kPiece) {
    piece.assign(values + begin, values + std::min(count, begin + kPiece));
    MakeMissingAlike(piece.data(), piece.size());
    MERCER_RETURN_IF_ERROR(sink.Write(std::string_view(reinterpret_cast<const char*>(piece.data()),
                                                       piece.size() * sizeof(double))));
  }
  return absl::OkStatus();
}

// Writes one section and the zeros that fill it up to the next boundary.
absl::Status WriteSection(const void* data, size_t size, bool doubles, ByteSink& sink) {
  if (doubles) {
    MERCER_RETURN_IF_ERROR(
        WriteDoubles(static_cast<const double*>(data), size / sizeof(double), sink));
  } else if (size > 0) {
    MERCER_RETURN_IF_ERROR(sink.Write(std::string_view(static_cast<const char*>(data), size)));
  }
  return WriteZeros(Aligned(size) - size, sink);
}

// An encoded file.
struct FileBytes {
  const char* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
  bool mapped = false;  // else in memory
};

// Walks over the sections of an encoded file.
class SectionReader {
 public:
  SectionReader(const FileBytes& file, size_t position)
      : data_(file.data), size_(file.size), position_(Aligned(position)), file_(file) {}

  // The next section of rows x columns elements, or null when it does not fit into the file.
  template <typename T>
  const T* Next(Index rows, Index columns) {
    if (position_ > size_ || rows < 0 || columns < 0) {
      return nullptr;
    }
    const size_t available = (size_ - position_) / sizeof(T);
    const auto height = static_cast<size_t>(rows);
    const auto width = static_cast<size_t>(columns);
    if (width > 0 && height > available / width) {
      return nullptr;
    }
    const char* begin = data_ + position_;
    position_ = Aligned(position_ + height * width * sizeof(T));
    return reinterpret_cast<const T*>(begin);
  }

  bool NextMatrix(Index rows, Index columns, SharedMatrix* matrix) {
    const auto* values = Next<double>(rows, columns);
    if (values != nullptr) {
      *matrix = file_.mapped ? SharedMatrix::InFile(file_.owner, values, rows, columns)
                             : SharedMatrix(file_.owner, values, rows, columns);
    }
    return values != nullptr;
  }

  template <typename T>
  bool NextArray(Index count, std::vector<T>* array) {
    const auto* values = Next<T>(count, 1);
    if (values != nullptr) {
      array->assign(values, values + count);
    }
    return values != nullptr;
  }

  bool AtEnd() const { return position_ == size_; }

 private:
  const char* data_;
  size_t size_;
  size_t position_;
  const FileBytes file_;
};

bool ReadBlock(ByteReader& header, SectionReader& sections, Index rows, FeatureBlock* block) {
  block->name = header.ReadString();
  block->is_sparse = header.ReadBool();
  const Index columns = header.ReadInt64();
  const auto num_entries = static_cast<Index>(header.ReadUint64());
  if (!ReadFields(header, block->columns)) {
    return false;
  }
  if (!block->is_sparse) {
    return num_entries == 0 && sections.NextMatrix(rows, columns, &block->values);
  }
  block->sparse.columns = columns;
  return columns >= 0 && columns <= std::numeric_limits<int32_t>::max() &&
         sections.NextArray(rows + 1, &block->sparse.row_starts) &&
         sections.NextArray(num_entries, &block->sparse.values) &&
         sections.NextArray(num_entries, &block->sparse.column_indices);
}

bool ReadSquare(ByteReader& header, SectionReader& sections, Index rows, SquareBlock* square) {
  square->name = header.ReadString();
  const uint8_t kind = header.ReadUint8();
  const Index columns = header.ReadInt64();
  if (!header.ok() || kind > static_cast<uint8_t>(SquareKind::kDistance)) {
    return false;
  }
  square->kind = static_cast<SquareKind>(kind);
  return sections.NextMatrix(rows, columns, &square->values);
}

bool ReadRoleColumn(ByteReader& header, SectionReader& sections, Index rows, RoleColumn* column) {
  const uint8_t role = header.ReadUint8();
  ReadFields(header, column->schema);
  if (!header.ok() || role > static_cast<uint8_t>(ColumnRole::kIgnored)) {
    return false;
  }
  column->role = static_cast<ColumnRole>(role);
  const auto* values = sections.Next<double>(rows, 1);
  if (values != nullptr) {
    column->values = Eigen::Map<const Vector>(values, rows);
  }
  return values != nullptr;
}

// Reads a count from the header, then that many items, each of which takes at least one byte of the
// header.
template <typename Item, typename ReadItem>
bool ReadItems(ByteReader& header, std::vector<Item>* items, const ReadItem& read_item) {
  const uint64_t count = header.ReadUint64();
  for (uint64_t i = 0; i < count; ++i) {
    if (!header.ok() || !read_item(&items->emplace_back())) {
      return false;
    }
  }
  return header.ok();
}

bool ReadContent(ByteReader& header, SectionReader& sections, Dataset* dataset) {
  constexpr Index kMaxRows = Index{1} << 40;
  const Index rows = header.ReadInt64();
  if (rows < 0 || rows > kMaxRows) {
    return false;
  }
  dataset->rows = rows;
  return ReadItems(header, &dataset->blocks,
                   [&](FeatureBlock* block) { return ReadBlock(header, sections, rows, block); }) &&
         ReadItems(
             header, &dataset->squares,
             [&](SquareBlock* square) { return ReadSquare(header, sections, rows, square); }) &&
         ReadItems(
             header, &dataset->role_columns,
             [&](RoleColumn* column) { return ReadRoleColumn(header, sections, rows, column); }) &&
         header.AtEnd() && sections.AtEnd();
}

absl::StatusOr<Dataset> Decode(const FileBytes& file) {
  const size_t size = file.size;
  const std::string_view bytes(file.data, size);
  if (size < kPrefixBytes || bytes.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("not a data set file");
  }
  ByteReader prefix(bytes.substr(kMagic.size(), kPrefixBytes - kMagic.size()));
  const uint64_t version = prefix.ReadUint64();
  const uint64_t header_size = prefix.ReadUint64();
  const uint64_t file_size = prefix.ReadUint64();
  if (version != kVersion) {
    return absl::DataLossError(
        absl::StrCat("data set file of version ", version, ", this program reads ", kVersion));
  }
  if (file_size != size || header_size > size - kPrefixBytes) {
    return absl::DataLossError(absl::StrCat("data set file of ", file_size, " bytes has ", size));
  }
  ByteReader header(bytes.substr(kPrefixBytes, header_size));
  SectionReader sections(file, kPrefixBytes + header_size);
  Dataset dataset;
  if (!ReadContent(header, sections, &dataset)) {
    return absl::DataLossError("the header of the data set file is damaged");
  }
  const absl::Status valid = ValidateDataset(dataset);
  if (!valid.ok()) {
    return absl::DataLossError(absl::StrCat("the data set file is damaged: ", valid.message()));
  }
  return dataset;
}

}  // namespace

absl::Status EncodeDataset(const Dataset& dataset, ByteSink& sink) {
  MERCER_RETURN_IF_ERROR(EncodeBeginning(dataset, sink));
  return ForEachSection(dataset, [&](const void* data, size_t size, bool doubles) {
    return WriteSection(data, size, doubles, sink);
  });
}

absl::Status EncodeBeginning(const Dataset& dataset, ByteSink& sink) {
  const std::string header = EncodeHeader(dataset);
  const size_t start = kPrefixBytes + header.size();
  size_t file_size = Aligned(start);
  MERCER_RETURN_IF_ERROR(ForEachSection(dataset, [&](const void*, size_t size, bool) {
    file_size += Aligned(size);
    return absl::OkStatus();
  }));
  ByteWriter prefix;
  prefix.WriteUint64(kVersion);
  prefix.WriteUint64(header.size());
  prefix.WriteUint64(file_size);
  MERCER_RETURN_IF_ERROR(sink.Write(absl::StrCat(std::string(kMagic), prefix.bytes(), header)));
  return WriteZeros(Aligned(start) - start, sink);
}

absl::Status EncodeRest(const Dataset& dataset, ByteSink& sink) {
  bool is_first = true;
  return ForEachSection(dataset, [&](const void* data, size_t size, bool doubles) {
    return std::exchange(is_first, false) ? WriteZeros(Aligned(size) - size, sink)
                                          : WriteSection(data, size, doubles, sink);
  });
}

void MakeMissingAlike(double* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    values[i] = std::isnan(values[i]) ? std::numeric_limits<double>::quiet_NaN() : values[i];
  }
}

absl::StatusOr<Dataset> OpenDataset(const std::string& path) {
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  return Decode({file->data(), file->size(), file, true});
}

absl::StatusOr<Dataset> DecodeDataset(std::string_view bytes) {
  auto buffer = std::make_shared<PageBuffer>();
  MERCER_RETURN_IF_ERROR(buffer->Reserve(bytes.size() + 1));
  std::memcpy(buffer->data(), bytes.data(), bytes.size());
  const char* data = buffer->data();
  return Decode({data, bytes.size(), std::move(buffer), false});
}

}  // namespace mercer
