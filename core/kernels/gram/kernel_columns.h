// Columns and diagonal of a positive semidefinite n x n matrix that is never formed: what
// incomplete Cholesky factors ask for.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// Implementations are immutable and safe for concurrent use.
class KernelColumns {
 public:
  virtual ~KernelColumns() = default;

  Index size() const { return diagonal().size(); }
  virtual const Vector& diagonal() const = 0;
  // out(:, j) = K(:, columns[j]); n x their number. The same bits for every number of threads.
  // Errors: kCancelled.
  virtual absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                               RunContext& context) const = 0;
};

// The columns of a matrix that is at hand.
class DenseKernelColumns final : public KernelColumns {
 public:
  explicit DenseKernelColumns(Matrix gram) : gram_(std::move(gram)), diagonal_(gram_.diagonal()) {}

  const Vector& diagonal() const override { return diagonal_; }
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override;

 private:
  const Matrix gram_;
  const Vector diagonal_;
};

// Some rows and columns of another matrix, in the order given.
class SelectedKernelColumns final : public KernelColumns {
 public:
  // `kernel` must outlive it.
  SelectedKernelColumns(const KernelColumns& kernel, std::vector<Index> rows)
      : kernel_(kernel), rows_(std::move(rows)), diagonal_(kernel.diagonal()(rows_)) {}

  const Vector& diagonal() const override { return diagonal_; }
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override;

 private:
  const KernelColumns& kernel_;
  const std::vector<Index> rows_;
  const Vector diagonal_;
};

// The sum of several kernels, normalised as their specs say, between rows of some data. A column is
// computed from the data whenever it is asked for; memory grows with the rows, not with their
// square.
class KernelSumColumns final : public KernelColumns {
 public:
  // The rows `rows` of `data`, in this order (all in their own order: shares the data).
  // Normalisations by all entries of a kernel (kVariance, kCentredTrace) take the time of computing
  // them once. Errors: kInvalidArgument naming "kernels[k]" (kernels that do not fit the data;
  // reason NOT_PSD for a negative diagonal; those of square blocks), kCancelled.
  static absl::StatusOr<std::unique_ptr<KernelSumColumns>> Make(
      std::shared_ptr<const PreparedData> data, std::vector<Index> rows,
      std::vector<KernelSpec> kernels, RunContext& context);

  const Vector& diagonal() const override { return diagonal_; }
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override;

  // The factor of each kernel's normalisation (1 without), unit diagonal not included.
  const Vector& scales() const { return scales_; }

 private:
  KernelSumColumns(std::vector<Index> rows, std::vector<KernelSpec> kernels)
      : rows_(std::move(rows)), kernels_(std::move(kernels)) {}

  absl::Status CheckSources(const std::shared_ptr<const PreparedData>& data,
                            RunContext& context) const;
  absl::Status Normalize(RunContext& context);
  absl::StatusOr<Vector> KernelDiagonal(Index kernel, RunContext& context) const;
  absl::StatusOr<double> SumOfEntries(Index kernel, RunContext& context) const;
  // The kernels between any rows and the rows `columns`, which are their basis.
  absl::StatusOr<CrossKernels> Against(absl::Span<const Index> columns,
                                       std::vector<KernelSpec> kernels,
                                       const RunContext& context) const;

  const std::vector<Index> rows_;  // of the data that was given
  const std::vector<KernelSpec> kernels_;
  std::shared_ptr<const PreparedData> data_;  // these rows
  Vector scales_;
  Vector diagonal_;
};

}  // namespace mercer
