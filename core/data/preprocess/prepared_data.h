// Numeric features after preprocessing: what kernels and feature maps read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

struct PreparedBlock {
  std::string name;
  std::vector<std::string> sources;  // for each column the data set's column that it comes from
                                     // (one-hot: several share one)
  SharedMatrix values;               // rows x columns, finite

  static void VisitFields(auto& visit, auto& self) {
    visit(self.name, self.sources,
          Custom(
              self.values,
              [](const SharedMatrix& matrix, ByteWriter& writer) {
                writer.WriteRowMatrix(matrix.view());
              },
              [](ByteReader& reader) { return SharedMatrix(reader.ReadRowMatrix()); }));
  }
};

struct PreparedData {
  Index rows = 0;
  std::vector<PreparedBlock> blocks;
  // The square blocks: rows x basis rows of the training set (while training: rows x rows).
  std::vector<SquareBlock> squares;
  // Names the content for caches: equal keys mean equal values. Empty when the content is not to be
  // cached.
  std::string cache_key;
  // The row of the data set (from 0) that each row was taken from; empty when they are the same.
  // Errors name that row.
  std::vector<Index> row_numbers;
  // The task of each row, where the rows are of several; else empty.
  std::vector<int> tasks;

  Index RowNumber(Index row) const {
    return row_numbers.empty() ? row : row_numbers[static_cast<size_t>(row)];
  }
  const PreparedBlock* FindBlock(std::string_view name) const;
  const SquareBlock* FindSquare(std::string_view name) const;

  // What is saved are the rows of a basis, which have no more than this.
  static void VisitFields(auto& visit, auto& self) { visit(self.rows, self.blocks); }
};

// The rows `rows` as data of their own; square blocks keep the columns `square_columns` (training
// rows of a sub-problem; empty keeps all).
PreparedData SelectRows(const PreparedData& data, const std::vector<Index>& rows,
                        const std::vector<Index>& square_columns = {});

// The same of as many rows as a run trains on, all columns of square blocks: what is taken from a
// table that the run keeps in its scratch space is kept there. Errors: those of
// ScratchSpace::Create; kCancelled.
absl::StatusOr<PreparedData> SelectRows(const PreparedData& data, const std::vector<Index>& rows,
                                        const RunContext& context);

// The rows of all `parts`, one part after the other. At least one part; all have the same blocks
// with the same columns. Rows are numbered within their own part.
PreparedData ConcatenateRows(absl::Span<const PreparedData* const> parts);

}  // namespace mercer
