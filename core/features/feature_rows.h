// The inputs of one task as one table: all feature blocks side by side, for some of the rows. Rows
// are read in chunks, so that tables in files are never copied whole.
#pragma once

#include <memory>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/data/preprocess/prepared_data.h"

namespace mercer {

// Immutable, safe for concurrent use.
class FeatureRows {
 public:
  using Chunk = Eigen::Map<const RowMatrix>;

  // The rows `rows` of `inputs`, in that order.
  FeatureRows(std::shared_ptr<const PreparedData> inputs, std::vector<Index> rows);
  // All rows.
  explicit FeatureRows(std::shared_ptr<const PreparedData> inputs);

  Index size() const { return size_; }
  Index num_inputs() const { return num_inputs_; }
  const PreparedData& inputs() const { return *inputs_; }
  // The row of inputs() that row i is.
  Index source_row(Index i) const { return rows_.empty() ? i : rows_[static_cast<size_t>(i)]; }

  // Rows [begin, end), from `buffer` unless they lie side by side in memory already. Valid until
  // the buffer changes.
  Chunk Read(Index begin, Index end, RowMatrix& buffer) const;
  // How many rows to read at once: 256 of a few columns, fewer of many, at least 16.
  static Index ChunkRows(Index num_inputs);
  Index chunk_rows() const { return ChunkRows(num_inputs_); }

 private:
  // Whether rows [begin, end) follow each other in the only block.
  bool Contiguous(Index begin, Index end) const;

  std::shared_ptr<const PreparedData> inputs_;
  std::vector<Index> rows_;  // empty: all
  Index size_ = 0;
  Index num_inputs_ = 0;
};

}  // namespace mercer
