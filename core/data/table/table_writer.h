// A table of numbers that is written row by row, in memory or, when it is too large, in a run's
// scratch space.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "core/base/memory/scratch_space.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

// Bytes of a table of numbers.
inline size_t TableBytes(Index rows, Index columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns) * sizeof(double);
}

// Whether a table of so many bytes is kept in a file by a run. What is taken from a table is kept
// where the table is, so that estimates know where.
inline bool IsKeptInFile(const RunContext& context, size_t table_bytes) {
  return context.scratch() != nullptr && context.scratch()->Takes(table_bytes);
}

// Not thread-safe. Move-only.
class TableWriter {
 public:
  // `space` holds the table's file; null: the table is kept in memory. Errors: those of
  // ScratchSpace::Create.
  static absl::StatusOr<TableWriter> Make(Index rows, Index columns, const ScratchSpace* space);

  // Where the next row is to be written; valid until the next call. At most so often as there are
  // rows. Errors: those of ScratchWriter::Append.
  absl::StatusOr<double*> NextRow();
  // The table, after all rows were written. Only the destructor may be called afterwards. Errors:
  // as above.
  absl::StatusOr<SharedMatrix> Finish();

 private:
  TableWriter(Index rows, Index columns) : rows_(rows), columns_(columns) {}

  absl::Status WriteBuffer();

  Index rows_;
  Index columns_;
  RowMatrix buffer_;    // the whole table, or the rows that the file does not have yet
  Index buffered_ = 0;  // rows of it that are in use
  std::optional<ScratchWriter> file_;
};

}  // namespace mercer
