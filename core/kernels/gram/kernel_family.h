// The base kernels K_1 .. K_m of one problem over its n rows. Operations are fused over kernels
// because layout decides their cost: kernels that read the same columns share one distance
// computation.
//
// Normalisation is inside: K_k here is the normalised kernel; scales()(k) is its factor, which a
// model folds into its weights.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/linalg/vector_math.h"

namespace mercer {

// Implementations are immutable after construction and safe for concurrent use. A subset of kernels
// or rows is a list of indices; an empty list means all of them. Errors of all operations:
// kCancelled.
class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  // Number of rows n (of items, for learners whose kernels live on pairs of rows).
  virtual Index size() const = 0;
  virtual Index num_kernels() const = 0;
  // Normalisation factor of each kernel (1 without normalisation), unit diagonal not included.
  virtual const Vector& scales() const = 0;

  // out(k, j) = a_j' K_k a_j for the columns a_j of `a` (n x c). Rows where a is zero cost nothing.
  // Never negative by more than rounding for positive semidefinite kernels.
  virtual absl::Status QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels,
                                      MatrixRef out, RunContext& context) const = 0;

  // out(i, k) = (K_k a)(rows[i]). Rows where a is zero cost nothing.
  virtual absl::Status Products(ConstVectorRef a, absl::Span<const Index> kernels,
                                absl::Span<const Index> rows, MatrixRef out,
                                RunContext& context) const = 0;

  // out = sum_k weights(k) K_k a for each column of `a` (n x c); weights of zero cost nothing.
  // Double precision throughout, computed from the data: what a certificate uses.
  virtual absl::Status CombinedProduct(ConstVectorRef weights, ConstMatrixRef a, MatrixRef out,
                                       RunContext& context) const = 0;

  // sum_k weights(k) K_k as an operator. Weights of zero cost nothing.
  virtual absl::StatusOr<std::unique_ptr<KernelOperator>> Combine(ConstVectorRef weights,
                                                                  RunContext& context) const = 0;

  // out(i, k) = K_k(i, i).
  virtual absl::Status Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                                 RunContext& context) const = 0;

  // The same quantities for the search between certificates: entries of K_k are within 1e-12 max
  // |K_k| of the exact ones, so sums within 1e-12 sum_ij |a_i| |K_k(i, j)| |a_j| and the like. With
  // many kernels of one distance they cost little more than one kernel. Their bits obey the same
  // rules, but differ from those of the exact operations.
  virtual absl::Status QuadraticFormsForSearch(ConstMatrixRef a, absl::Span<const Index> kernels,
                                               MatrixRef out, RunContext& context) const {
    return QuadraticForms(a, kernels, out, context);
  }
  virtual absl::StatusOr<std::unique_ptr<KernelOperator>> CombineForSearch(
      ConstVectorRef weights, RunContext& context) const {
    return Combine(weights, context);
  }
};

// How often the kernels of a family are computed for all pairs of rows.
enum class KernelPasses {
  kMany,  // distances are stored, within bounds
  kOne,   // large ones are stored only where the cache of the context keeps them for others
};

// Exact kernels on the rows `rows` of `data` (empty: all). Checks the data that the kernels read:
// symmetry of square blocks to 1e-8 of the largest entry (then symmetrised), negative diagonals,
// negative entries under chi-square and, beyond 4e-8 of the largest entry of their row, among
// distances. `passes` changes time and memory only. Errors: kInvalidArgument naming "kernels[k]"
// and the row of `data` (from 1); kCancelled.
absl::StatusOr<std::unique_ptr<KernelFamily>> MakeExactKernelFamily(
    std::shared_ptr<const PreparedData> data, std::vector<Index> rows,
    std::vector<KernelSpec> kernels, RunContext& context,
    KernelPasses passes = KernelPasses::kMany);
// The same with these factors > 0, one for each kernel, in place of those that the rows give.
absl::StatusOr<std::unique_ptr<KernelFamily>> MakeExactKernelFamily(
    std::shared_ptr<const PreparedData> data, std::vector<Index> rows,
    std::vector<KernelSpec> kernels, Vector scales, RunContext& context);

// out = K a for the matrix `gram` that Combine of an exact family has formed: the bits of its
// CombinedProduct with the same weights. Errors: kCancelled.
absl::Status GramProduct(const Matrix& gram, ConstMatrixRef a, MatrixRef out, RunContext& context);

// What the memory of an exact family depends on.
struct ExactFamilyShape {
  Index rows = 0;
  Index kernels = 0;
  Index unit_diagonals = 0;      // kernels that keep a number per row
  Index stored_sources = 0;      // distinct column sets and square blocks worth storing
  Index recomputed_sources = 0;  // and the others (IsWorthStoring)
  Index columns = 0;             // of all column sets together
};

// Upper bound on the bytes of an exact family, one Combine included.
size_t ExactKernelFamilyBytes(const ExactFamilyShape& shape);

// The part of it that a family holds before anything is asked of it: what a verifier's own family
// adds to a learner's.
size_t ExactKernelSourceBytes(const ExactFamilyShape& shape);

class StripCoefficients;

// Kernels between rows and the basis of a model, bound to these rows.
class BoundCrossKernels;

// Kernels between rows to predict and the basis of a model.
class CrossKernels {
 public:
  // `basis` holds the basis rows; its square blocks are not needed. `kernels[k]` of a square type
  // reads the columns `square_columns` of the block of the rows to predict (empty: all, in order).
  // What the kernels read of the basis is gathered here, once. Errors: those of AddProducts.
  static absl::StatusOr<CrossKernels> Make(std::shared_ptr<const PreparedData> basis,
                                           std::vector<KernelSpec> kernels,
                                           std::vector<Index> square_columns,
                                           const RunContext& context = RunContext());

  Index num_basis() const;
  // The bytes that it takes beyond those of the basis.
  size_t MemoryBytes() const;

  // Adds K(x_i, z) times the coefficients of each output, K = sum_k weights(k) k_k, unit diagonal
  // included, scaling not, to the row i of `values`. Weights of zero cost nothing. What is added
  // to a row does not depend on the rows beside it. Errors: kInvalidArgument (block or column
  // missing, wrong width, or reason NEGATIVE_VALUE or ZERO_DIAGONAL with the row of the data set,
  // from 1), kCancelled.
  absl::Status AddProducts(const PreparedData& x, ConstVectorRef weights,
                           const StripCoefficients& coefficients, MatrixRef values,
                           RunContext& context) const;

  // Prepares the evaluation of all kernels one by one, block of rows by block of rows. The result
  // shares the memory of `x` and keeps no copy of what the kernels read of its feature blocks.
  // Errors: those of AddProducts.
  absl::StatusOr<BoundCrossKernels> Bind(const PreparedData& x, RunContext& context) const;

 private:
  friend class BoundCrossKernels;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

// Kernels between given rows and the basis. Immutable and safe for concurrent use.
class BoundCrossKernels {
 public:
  // Distance between the values of neighbouring rows, at least the rows of the basis.
  Index stride() const { return stride_; }
  // out[(k * rows + r) * stride() + j] = k_k(x_(begin + r), z_j) for rows = end - begin rows and
  // all kernels k; entries from the rows of the basis up to the stride are arbitrary but finite.
  // The entries of a row do not depend on the rows beside it.
  void Values(Index begin, Index end, double* out, const RunContext& context) const;

  // Calls visit(k, values) for every kernel k: values[r * stride() + j] = k_k(x_(begin + r), z_j),
  // with the bits of Values. Kernels of one source come one after the other and share its values of
  // pairs; those of one kernel are in memory at a time. No more calls once cancelled.
  void ForEachKernel(Index begin, Index end, const RunContext& context,
                     const std::function<void(Index kernel, const double* values)>& visit) const;

 private:
  friend class CrossKernels;
  // Calls visit(s, pairs) with the values of pairs of each source s.
  void ForEachSource(Index begin, Index end, const RunContext& context,
                     const std::function<void(size_t source, const Strip& pairs)>& visit) const;

  std::shared_ptr<const CrossKernels::Parts> parts_;
  Index stride_ = 0;
  std::vector<SourceRows> features_;  // of each source
  std::vector<Vector> row_factors_;   // of each kernel with unit diagonal; else empty
};

}  // namespace mercer
