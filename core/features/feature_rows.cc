#include "core/features/feature_rows.h"

#include <algorithm>
#include <utility>

namespace mercer {
namespace {

Index TotalColumns(const PreparedData& data) {
  Index columns = 0;
  for (const PreparedBlock& block : data.blocks) {
    columns += block.values.cols();
  }
  return columns;
}

}  // namespace

FeatureRows::FeatureRows(std::shared_ptr<const PreparedData> inputs, std::vector<Index> rows)
    : inputs_(std::move(inputs)),
      rows_(std::move(rows)),
      size_(static_cast<Index>(rows_.size())),
      num_inputs_(TotalColumns(*inputs_)) {}

FeatureRows::FeatureRows(std::shared_ptr<const PreparedData> inputs)
    : inputs_(std::move(inputs)), size_(inputs_->rows), num_inputs_(TotalColumns(*inputs_)) {}

bool FeatureRows::Contiguous(Index begin, Index end) const {
  if (inputs_->blocks.size() != 1) {
    return false;
  }
  for (Index i = begin; i < end; ++i) {
    if (source_row(i) != source_row(begin) + (i - begin)) {
      return false;
    }
  }
  return true;
}

FeatureRows::Chunk FeatureRows::Read(Index begin, Index end, RowMatrix& buffer) const {
  const Index count = end - begin;
  if (count > 0 && Contiguous(begin, end)) {
    const double* values = inputs_->blocks[0].values.view().data();
    return Chunk(values + source_row(begin) * num_inputs_, count, num_inputs_);
  }
  if (buffer.rows() < count || buffer.cols() != num_inputs_) {
    buffer.resize(count, num_inputs_);
  }
  Index first = 0;
  for (const PreparedBlock& block : inputs_->blocks) {
    const Index columns = block.values.cols();
    const double* values = block.values.view().data();
    for (Index i = 0; i < count; ++i) {
      std::copy_n(values + source_row(begin + i) * columns, columns,
                  buffer.data() + i * num_inputs_ + first);
    }
    first += columns;
  }
  return Chunk(buffer.data(), count, num_inputs_);
}

Index FeatureRows::ChunkRows(Index num_inputs) {
  constexpr Index kCells = Index{1} << 16;  // half a megabyte
  constexpr Index kFewest = 16;
  constexpr Index kMost = 256;
  const Index rows = kCells / std::max<Index>(1, num_inputs) / kFewest * kFewest;
  return std::clamp(rows, kFewest, kMost);
}

}  // namespace mercer
