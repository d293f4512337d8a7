#include "tests/fuzz/support/datasets.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/io/store/dataset_file.h"
#include "tests/fuzz/support/checks.h"

namespace mercer::fuzz {
namespace {

class StringSink final : public ByteSink {
 public:
  absl::Status Write(std::string_view bytes) override {
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class PieceSource final : public ByteSource {
 public:
  PieceSource(std::string text, size_t piece_bytes)
      : text_(std::move(text)), piece_bytes_(piece_bytes) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    const size_t count = std::min({capacity, piece_bytes_, text_.size() - position_});
    std::memcpy(buffer, text_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  std::string text_;
  size_t piece_bytes_;
  size_t position_ = 0;
};

}  // namespace

std::string EncodedDataset(const Dataset& dataset) {
  StringSink sink;
  Require(EncodeDataset(dataset, sink).ok(), "a data set can be stored");
  return sink.Take();
}

std::unique_ptr<ByteSource> MakePieceSource(std::string text, size_t piece_bytes) {
  return std::make_unique<PieceSource>(std::move(text), piece_bytes);
}

Dataset RowsFor(const Preprocessing& preprocessing, Index rows) {
  Dataset dataset;
  dataset.rows = rows;
  for (const BlockTransform& transform : preprocessing.blocks()) {
    FeatureBlock& block = dataset.blocks.emplace_back();
    block.name = transform.name;
    for (const ColumnTransform& column : transform.columns) {
      block.columns.push_back({column.name, column.categorical, column.categories});
    }
    RowMatrix values(rows, static_cast<Index>(transform.columns.size()));
    for (Index row = 0; row < values.rows(); ++row) {
      for (Index column = 0; column < values.cols(); ++column) {
        const bool categorical = transform.columns[static_cast<size_t>(column)].categorical;
        values(row, column) = categorical ? 0.0 : 0.5 * static_cast<double>(row - column);
      }
    }
    block.values = SharedMatrix(std::move(values));
  }
  return dataset;
}

}  // namespace mercer::fuzz
