#include "core/data/table/table_writer.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr Index kBufferedCells = Index{1} << 19;  // 4 MiB

}  // namespace

absl::StatusOr<TableWriter> TableWriter::Make(Index rows, Index columns,
                                              const ScratchSpace* space) {
  TableWriter writer(rows, columns);
  Index buffered = rows;
  // A table without cells stays in memory: a file has at least one byte.
  if (space != nullptr && rows > 0 && columns > 0) {
    MERCER_ASSIGN_OR_RETURN(ScratchWriter file, space->Create(TableBytes(rows, columns)));
    writer.file_.emplace(std::move(file));
    buffered = std::min(rows, std::max<Index>(1, kBufferedCells / columns));
  }
  writer.buffer_.resize(buffered, columns);
  return writer;
}

absl::StatusOr<double*> TableWriter::NextRow() {
  if (file_.has_value() && buffered_ == buffer_.rows()) {
    MERCER_RETURN_IF_ERROR(WriteBuffer());
  }
  return buffer_.data() + buffered_++ * columns_;
}

absl::Status TableWriter::WriteBuffer() {
  const size_t size = TableBytes(buffered_, columns_);
  buffered_ = 0;
  return file_->Append(reinterpret_cast<const char*>(buffer_.data()), size);
}

absl::StatusOr<SharedMatrix> TableWriter::Finish() {
  if (!file_.has_value()) {
    return SharedMatrix(std::move(buffer_));
  }
  MERCER_RETURN_IF_ERROR(WriteBuffer());
  MERCER_ASSIGN_OR_RETURN(ScratchBytes bytes, file_->Finish());
  return SharedMatrix::InFile(std::move(bytes.owner), reinterpret_cast<const double*>(bytes.data),
                              rows_, columns_);
}

}  // namespace mercer
