// Exact kernels, evaluated tile by tile from the distances of their sources. What
// MakeExactKernelFamily returns.
//
// Every operation is a loop over tiles (tile_source.h); within a tile, strips of rows that fit the
// first-level cache are read once and all kernels of the source are evaluated from them. Sums over
// tiles run in tile order, so bits do not depend on the number of threads, and a kernel's or a
// row's result not on what else is asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/tile_source.h"
#include "core/linalg/exponential_table.h"

namespace mercer {

// Kernels that read the same values of pairs.
struct KernelGroup {
  Index source = 0;                 // into ExactKernels::sources
  bool square_root = false;         // kernels of the root of the source's value
  std::vector<Index> exponentials;  // exp(-rate t)
  std::vector<Index> others;
  // For the search operations, when there are enough exponentials for a table to be faster; else
  // null.
  std::shared_ptr<const ExponentialGrid> grid;
};

// The parts of an exact family, as its builder makes them.
struct ExactKernels {
  std::vector<KernelSpec> specs;
  std::vector<double> rates;  // of the exponential kernels
  std::vector<TileSource> sources;
  std::vector<KernelGroup> groups;
  std::vector<Index> group_of;  // per kernel
  // For each kernel with unit diagonal the factors 1 / sqrt(k(x_i, x_i)); empty for the others.
  std::vector<Vector> diagonal_factors;
  Vector scales;
  Index size = 0;
};

class ExactKernelFamily : public KernelFamily {
 public:
  explicit ExactKernelFamily(ExactKernels parts) : parts_(std::move(parts)) {}

  Index size() const override { return parts_.size; }
  Index num_kernels() const override { return static_cast<Index>(parts_.specs.size()); }
  const Vector& scales() const override { return parts_.scales; }

  absl::Status QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels, MatrixRef out,
                              RunContext& context) const override;
  absl::Status Products(ConstVectorRef a, absl::Span<const Index> kernels,
                        absl::Span<const Index> rows, MatrixRef out,
                        RunContext& context) const override;
  absl::Status CombinedProduct(ConstVectorRef weights, ConstMatrixRef a, MatrixRef out,
                               RunContext& context) const override;
  absl::StatusOr<std::unique_ptr<KernelOperator>> Combine(ConstVectorRef weights,
                                                          RunContext& context) const override;
  absl::Status QuadraticFormsForSearch(ConstMatrixRef a, absl::Span<const Index> kernels,
                                       MatrixRef out, RunContext& context) const override;
  absl::StatusOr<std::unique_ptr<KernelOperator>> CombineForSearch(
      ConstVectorRef weights, RunContext& context) const override;
  absl::Status Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                         RunContext& context) const override;

 private:
  ExactKernels parts_;
};

}  // namespace mercer
