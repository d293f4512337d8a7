// The mean of several kernels between the rows of some data, each kernel scaled to mean value 1 of
// a row with itself: one kernel in which all of them count the same.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/gram/kernel_columns.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// Values are computed from the data whenever they are asked for, block of rows by block of rows:
// memory grows with the rows, and with nothing but a number for each row and kernel of unit
// diagonal.
class MeanKernel final : public KernelColumns {
 public:
  // For kernels of feature columns; normalisations but the unit diagonal change nothing. Shares the
  // blocks of `data`. Errors: kInvalidArgument naming "kernels[k]" (kernels that do not fit the
  // data), or with reason NEGATIVE_VALUE or ZERO_DIAGONAL and the row; kCancelled.
  static absl::StatusOr<MeanKernel> Make(const PreparedData& data,
                                         const std::vector<KernelSpec>& kernels,
                                         RunContext& context);

  const Vector& diagonal() const override { return diagonal_; }
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override {
    return Values(columns, 0, size(), out, context);
  }
  // out(i, j) = K(rows[i], rows[j]). Errors: kCancelled.
  absl::Status Square(absl::Span<const Index> rows, MatrixRef out, RunContext& context) const;
  // out(i, j) = K(begin + i, columns[j]) of the rows [begin, end). Errors: kCancelled.
  absl::Status Values(absl::Span<const Index> columns, Index begin, Index end, MatrixRef out,
                      RunContext& context) const;

  // What each kernel's values count: one over their mean on the diagonal and over the number of
  // kernels; 0 for a kernel that is zero, or of which that is not a number in range.
  const Vector& weights() const { return weights_; }
  // The mean value of each kernel of a row with itself.
  const Vector& mean_diagonals() const { return mean_diagonals_; }

 private:
  struct Source {
    PairValue value = PairValue::kSquaredDistance;
    Index columns = 0;
    SourceRows rows;
    std::vector<size_t> kernels;
  };

  MeanKernel(const PreparedData& data, const std::vector<KernelSpec>& kernels)
      : rows_(data.rows), kernels_(kernels) {}

  absl::Status FindSources(const PreparedData& data, RunContext& context);
  absl::StatusOr<Vector> KernelDiagonal(const Source& source, size_t kernel,
                                        RunContext& context) const;
  absl::Status SetDiagonals(const PreparedData& data, RunContext& context);
  absl::StatusOr<std::vector<RowMatrix>> Gather(absl::Span<const Index> rows,
                                                const RunContext& context) const;
  // Some rows: what a source has of them, and what is picked of a number for each row.
  struct SourcePart {
    ConstRowMatrixRef values;
    std::function<Vector(const Vector&)> pick;
  };
  void AddValues(const Source& source, const SourcePart& rows, const SourcePart& columns,
                 MatrixRef out, const RunContext& context) const;

  Index rows_;
  std::vector<KernelSpec> kernels_;
  std::vector<Source> sources_;
  std::vector<Vector>
      unit_factors_;  // of each kernel of unit diagonal, 1 / sqrt(k(x, x)); else empty
  Vector mean_diagonals_;
  Vector weights_;
  Vector diagonal_;
};

}  // namespace mercer
