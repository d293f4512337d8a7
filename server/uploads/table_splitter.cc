#include "server/uploads/table_splitter.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/blobs/file_system.h"
#include "server/uploads/upload_files.h"

namespace mercer::server {
namespace {

// A table up to here stays in memory, which is faster.
constexpr int64_t kInMemoryBytes = int64_t{32} << 20;
constexpr Index kPieceBytes = Index{1} << 20;  // of the table, at once

// The numbers of a block, row after row, on their way into a matrix.
class BlockNumbers {
 public:
  // `path` empty: in memory.
  BlockNumbers(Index rows, Index width, std::string path)
      : rows_(rows), width_(width), path_(std::move(path)) {}
  ~BlockNumbers() {
    file_.reset();
    if (made_) {
      PosixFileSystem().Remove(path_).IgnoreError();  // its mapping stays
    }
  }
  BlockNumbers(const BlockNumbers&) = delete;
  BlockNumbers& operator=(const BlockNumbers&) = delete;

  absl::Status Begin() {
    if (path_.empty()) {
      matrix_ = std::make_shared<RowMatrix>(rows_, width_);
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(file_, PosixFileSystem().Create(path_));
    made_ = true;
    return absl::OkStatus();
  }

  absl::Status Append(const std::vector<double>& numbers) {
    if (path_.empty()) {
      std::copy(numbers.begin(), numbers.end(), matrix_->data() + written_);
      written_ += static_cast<Index>(numbers.size());
      return absl::OkStatus();
    }
    return file_->Append(std::string_view(reinterpret_cast<const char*>(numbers.data()),
                                          numbers.size() * sizeof(double)));
  }

  absl::StatusOr<SharedMatrix> Finish() {
    if (path_.empty()) {
      return SharedMatrix(matrix_, matrix_->data(), rows_, width_);
    }
    MERCER_RETURN_IF_ERROR(file_->Close());
    MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                            PosixFileSystem().Map(path_));
    return SharedMatrix(file, reinterpret_cast<const double*>(file->contents().data()), rows_,
                        width_);
  }

 private:
  const Index rows_;
  const Index width_;
  const std::string path_;
  std::shared_ptr<RowMatrix> matrix_;
  Index written_ = 0;
  std::unique_ptr<WritableFile> file_;
  bool made_ = false;
};

void FillRoleColumns(const SharedMatrix& table, const CsvLayout& layout, Index begin, Index end,
                     Dataset& dataset) {
  size_t next = 0;
  for (size_t c = 0; c < layout.columns.size(); ++c) {
    const ColumnRole role = layout.columns[c].role;
    if (role != ColumnRole::kFeature && role != ColumnRole::kIgnored) {
      dataset.role_columns[next++].values.segment(begin, end - begin) =
          table.view().col(static_cast<Index>(c)).segment(begin, end - begin);
    }
  }
}

// Rows [begin, end) of these columns.
void Gather(const SharedMatrix& table, const std::vector<Index>& columns, Index begin, Index end,
            std::vector<double>& numbers) {
  numbers.clear();
  const auto values = table.view();
  for (Index row = begin; row < end; ++row) {
    for (const Index column : columns) {
      numbers.push_back(values(row, column));
    }
  }
}

}  // namespace

Dataset ShapeOfTable(const CsvLayout& layout, std::vector<ColumnSchema> schemas, Index rows,
                     std::vector<std::vector<Index>>* order) {
  Dataset dataset;
  dataset.rows = rows;
  for (const CsvBlock& block : layout.blocks) {
    FeatureBlock& added = dataset.blocks.emplace_back();
    added.name = block.name;
    added.columns.resize(static_cast<size_t>(block.width));
    order->emplace_back(static_cast<size_t>(block.width), 0);
  }
  for (size_t c = 0; c < layout.columns.size(); ++c) {
    const CsvColumn& column = layout.columns[c];
    if (column.role == ColumnRole::kFeature) {
      const auto position = static_cast<size_t>(column.position);
      (*order)[column.block][position] = static_cast<Index>(c);
      dataset.blocks[column.block].columns[position] = std::move(schemas[c]);
    } else if (column.role != ColumnRole::kIgnored) {
      dataset.role_columns.push_back({column.role, std::move(schemas[c]), Vector(rows)});
    }
  }
  return dataset;
}

absl::StatusOr<Dataset> SplitTable(const SharedMatrix& table, const CsvLayout& layout,
                                   std::vector<ColumnSchema> schemas, const std::string& path,
                                   const std::function<bool()>& is_cancelled) {
  const auto row_bytes = static_cast<Index>(sizeof(double)) * table.cols();
  const bool in_memory = table.rows() * row_bytes <= kInMemoryBytes;
  std::vector<std::vector<Index>> order;
  Dataset dataset = ShapeOfTable(layout, std::move(schemas), table.rows(), &order);
  std::vector<std::unique_ptr<BlockNumbers>> blocks;
  for (size_t b = 0; b < order.size(); ++b) {
    blocks.push_back(
        std::make_unique<BlockNumbers>(table.rows(), static_cast<Index>(order[b].size()),
                                       in_memory ? "" : absl::StrCat(path, ".block", b)));
    MERCER_RETURN_IF_ERROR(blocks.back()->Begin());
  }
  const Index rows_at_once = std::max<Index>(1, kPieceBytes / row_bytes);
  std::vector<double> numbers;
  for (Index begin = 0; begin < table.rows(); begin += rows_at_once) {
    MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
    const Index end = std::min(table.rows(), begin + rows_at_once);
    for (size_t b = 0; b < order.size(); ++b) {
      Gather(table, order[b], begin, end, numbers);
      MERCER_RETURN_IF_ERROR(blocks[b]->Append(numbers));
    }
    FillRoleColumns(table, layout, begin, end, dataset);
  }
  for (size_t b = 0; b < order.size(); ++b) {
    MERCER_ASSIGN_OR_RETURN(dataset.blocks[b].values, blocks[b]->Finish());
  }
  return dataset;
}

absl::StatusOr<SharedMatrix> WidenNumbers(const float* numbers, Index rows, Index columns,
                                          const std::string& path,
                                          const std::function<bool()>& is_cancelled) {
  const auto row_bytes = static_cast<Index>(sizeof(double)) * columns;
  const bool in_memory = rows * row_bytes <= kInMemoryBytes;
  BlockNumbers wide(rows, columns, in_memory ? "" : absl::StrCat(path, ".wide"));
  MERCER_RETURN_IF_ERROR(wide.Begin());
  const Index rows_at_once = std::max<Index>(1, kPieceBytes / row_bytes);
  for (Index begin = 0; begin < rows; begin += rows_at_once) {
    MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
    const Index end = std::min(rows, begin + rows_at_once);
    MERCER_RETURN_IF_ERROR(
        wide.Append(std::vector<double>(numbers + begin * columns, numbers + end * columns)));
  }
  return wide.Finish();
}

int64_t WidenBytes(int64_t float_bytes) { return std::min(2 * float_bytes, kInMemoryBytes); }

int64_t SplitBytes(int64_t table_bytes, int64_t columns, int64_t role_columns) {
  constexpr int64_t kDouble = sizeof(double);
  // For each row: the copy of a column that is described, the class, the hash and its place among the sorted ones.
  constexpr int64_t kPerRow = 64;
  const int64_t rows = table_bytes / (kDouble * std::max<int64_t>(1, columns));
  return std::min(table_bytes, kInMemoryBytes) + rows * (kPerRow + kDouble * role_columns);
}

}  // namespace mercer::server
