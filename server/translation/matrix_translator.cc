#include "server/translation/matrix_translator.h"

#include <cstring>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "server/translation/resource_names.h"

namespace mercer::server {
namespace {

// A template, so that columns and rows side by side are copied without a temporary.
template <typename MatrixRefType>
absl::Status Write(const MatrixRefType& matrix, v1::Matrix* message) {
  if (matrix.size() > kMaxMatrixEntries) {
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat("a matrix of ", matrix.rows(), " x ",
                                                  matrix.cols(), " is too large for a message")),
        "RESPONSE_TOO_LARGE",
        {{"rows", absl::StrCat(matrix.rows())}, {"columns", absl::StrCat(matrix.cols())}});
  }
  message->set_rows(matrix.rows());
  message->set_columns(matrix.cols());
  message->mutable_values()->Resize(static_cast<int>(matrix.size()), 0.0);
  Eigen::Map<RowMatrix>(message->mutable_values()->mutable_data(), matrix.rows(), matrix.cols()) =
      matrix;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RowMatrix> ReadMatrix(const v1::Matrix& message, const std::string& path) {
  const int64_t rows = message.rows();
  const int64_t columns = message.columns();
  if (rows < 0 || columns < 0) {
    return BadField(path,
                    absl::StrCat("rows and columns must be >= 0, are ", rows, " and ", columns));
  }
  if (message.values_size() > 0 && !message.raw().empty()) {
    return BadField(path, "values and raw must not both be set");
  }
  if (message.raw().size() % sizeof(double) != 0) {
    return BadField(absl::StrCat(path, ".raw"), absl::StrCat("must be 8 bytes per entry, are ",
                                                             message.raw().size(), " bytes"));
  }
  const size_t entries = message.raw().empty() ? static_cast<size_t>(message.values_size())
                                               : message.raw().size() / sizeof(double);
  // Compared by division: rows * columns may not fit.
  const bool agrees = rows == 0 || columns == 0
                          ? entries == 0
                          : entries % static_cast<size_t>(columns) == 0 &&
                                entries / static_cast<size_t>(columns) == static_cast<size_t>(rows);
  if (!agrees) {
    return BadField(path,
                    absl::StrCat("must have ", rows, " x ", columns, " entries, has ", entries));
  }
  RowMatrix matrix(rows, columns);
  if (entries > 0) {
    const void* source = message.raw().empty() ? static_cast<const void*>(message.values().data())
                                               : static_cast<const void*>(message.raw().data());
    std::memcpy(matrix.data(), source, entries * sizeof(double));
  }
  return matrix;
}

absl::Status WriteMatrix(const ConstMatrixRef& matrix, v1::Matrix* message) {
  return Write(matrix, message);
}

absl::Status WriteRowMatrix(const ConstRowMatrixRef& matrix, v1::Matrix* message) {
  return Write(matrix, message);
}

}  // namespace mercer::server
