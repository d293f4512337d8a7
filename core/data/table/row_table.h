// Rows of numbers that arrive one by one, spread over several row-major matrices of fixed widths.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/data/table/dataset.h"
#include "core/data/table/page_buffer.h"

namespace mercer {

// Holds every value once, also while it grows.
class RowTable {
 public:
  // One matrix for each width (>= 1).
  explicit RowTable(const std::vector<Index>& widths);

  // Makes row() point to the next row in every matrix. Errors: kResourceExhausted.
  absl::Status BeginRow();
  // The current row of matrix `i`. Valid until the next BeginRow.
  double* row(size_t i) { return matrices_[i].row; }
  Index rows() const { return rows_; }

  // Moves matrix `i` out of the table.
  SharedMatrix TakeMatrix(size_t i);
  // The same for a matrix of width 1.
  Vector TakeColumn(size_t i);

 private:
  struct GrowingMatrix {
    Index width = 0;
    PageBuffer buffer;
    double* row = nullptr;
  };

  // Makes room for the next row and points to it.
  absl::Status Grow();

  std::vector<GrowingMatrix> matrices_;
  Index rows_ = 0;
  Index capacity_ = 0;  // rows for which every matrix has room
};

}  // namespace mercer
