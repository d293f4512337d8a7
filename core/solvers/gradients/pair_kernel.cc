#include "core/solvers/gradients/pair_kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/symmetric_eigen.h"

namespace mercer {
namespace {

constexpr Index kPairColumns = 64;  // of a block, for one task
constexpr Index kPairsOfTask = 4096;
constexpr Index kMomentColumns = 16;      // of z
constexpr double kRankTolerance = 1e-15;  // of the largest eigenvalue

// The columns of positive weight, times the root of it.
Matrix WeightedColumns(const GradientProblem& problem, const Vector& weights) {
  const auto count = static_cast<Index>((weights.array() > 0).count());
  Matrix columns(problem.num_rows(), count);
  Index next = 0;
  for (Index l = 0; l < weights.size(); ++l) {
    if (weights(l) > 0) {
      columns.col(next++) = std::sqrt(weights(l)) * problem.rows.col(l);
    }
  }
  return columns;
}

// Z with ZZ' = CC' and no more columns than rows.
absl::StatusOr<Matrix> ShortColumns(const Matrix& columns, RunContext& context) {
  const Matrix transposed = columns.transpose();
  Matrix products(columns.rows(), columns.rows());
  MERCER_RETURN_IF_ERROR(TransposedProduct(transposed, transposed, products, context));
  MERCER_ASSIGN_OR_RETURN(const SymmetricEigen eigen,
                          SymmetricEigen::Make(std::move(products), context));
  const Vector& values = eigen.values();
  const double least = kRankTolerance * std::max(values(values.size() - 1), 0.0);
  const auto rank = static_cast<Index>((values.array() > least).count());
  MERCER_ASSIGN_OR_RETURN(Matrix vectors, eigen.Largest(rank, context));
  return Matrix(vectors * values.tail(rank).reverse().cwiseSqrt().asDiagonal());
}

}  // namespace

absl::StatusOr<Vector> MatrixPairKernel::Product(const ConstVectorRef& v,
                                                 RunContext& context) const {
  Vector out(v.size());
  MERCER_RETURN_IF_ERROR(TransposedProduct(values_, v, out, context));
  return out;
}

absl::StatusOr<Matrix> MatrixPairKernel::Block(const std::vector<Index>& pairs,
                                               RunContext& /*context*/) const {
  return Matrix(values_(pairs, pairs));
}

absl::StatusOr<std::unique_ptr<DiagonalPairKernel>> DiagonalPairKernel::Make(
    const GradientProblem& problem, const Vector& weights, RunContext& context) {
  std::unique_ptr<DiagonalPairKernel> kernel(new DiagonalPairKernel(problem));
  kernel->z_ = WeightedColumns(problem, weights);
  if (kernel->z_.cols() > problem.num_rows()) {
    MERCER_ASSIGN_OR_RETURN(kernel->z_, ShortColumns(kernel->z_, context));
  }
  const GradientPairs& pairs = problem.pairs;
  kernel->diagonal_.resize(pairs.size());
  const RowMatrix z = kernel->z_;
  context.parallel().ForBlocks(pairs.size(), kPairsOfTask, [&](Index begin, Index end) {
    for (Index p = begin; p < end && !context.cancelled(); ++p) {
      const Index i = pairs.targets[static_cast<size_t>(p)];
      const Index j = pairs.anchors[static_cast<size_t>(p)];
      kernel->diagonal_(p) = problem.gram(j, j) * (1 + (z.row(i) - z.row(j)).squaredNorm());
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return kernel;
}

absl::StatusOr<Vector> DiagonalPairKernel::Product(const ConstVectorRef& v,
                                                   RunContext& context) const {
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  const GradientPairs& pairs = problem_.pairs;
  const Index rows = problem_.num_rows();
  Matrix moments = Matrix::Zero(rows, z_.cols() + 1);
  const Vector sums = AnchorSums(pairs, v);
  moments.col(0).head(sums.size()) = sums;
  context.parallel().ForBlocks(z_.cols(), kMomentColumns, [&](Index begin, Index end) {
    for (Index c = begin; c < end && !context.cancelled(); ++c) {
      AnchorMoments(pairs, v, z_.col(c), moments.col(c + 1));
    }
  });
  Matrix values = Matrix::Zero(rows, z_.cols() + 1);
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, problem_.gram, moments, values, context));
  Vector out = values.col(0)(pairs.anchors);
  for (Index c = 0; c < z_.cols() && !context.cancelled(); ++c) {
    AddPairValues(pairs, z_.col(c), values.col(c + 1), out);
  }
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return out;
}

double DiagonalPairKernel::WorkOfProduct() const {
  const auto rows = static_cast<double>(problem_.num_rows());
  const auto pairs = static_cast<double>(problem_.num_pairs());
  return static_cast<double>(1 + z_.cols()) * (2 * rows * rows + 6 * pairs);
}

absl::StatusOr<Matrix> DiagonalPairKernel::Block(const std::vector<Index>& pairs,
                                                 RunContext& context) const {
  const auto size = static_cast<Index>(pairs.size());
  const Matrix z = z_.transpose();
  Matrix differences(z_.cols(), size);
  for (Index k = 0; k < size; ++k) {
    const auto p = static_cast<size_t>(pairs[static_cast<size_t>(k)]);
    differences.col(k) = z.col(problem_.pairs.targets[p]) - z.col(problem_.pairs.anchors[p]);
  }
  const auto anchor = [&](Index k) {
    return problem_.pairs.anchors[static_cast<size_t>(pairs[static_cast<size_t>(k)])];
  };
  Matrix block(size, size);
  context.parallel().ForBlocks(size, kPairColumns, [&](Index begin, Index end) {
    auto columns = block.block(begin, begin, size - begin, end - begin);
    TransposedProductOfTask(differences.rightCols(size - begin),
                            differences.middleCols(begin, end - begin), columns, context);
    for (Index c = begin; c < end && !context.cancelled(); ++c) {
      const auto gram = problem_.gram.col(anchor(c));
      for (Index r = c; r < size; ++r) {
        block(r, c) = gram(anchor(r)) * (1 + block(r, c));
      }
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return block;
}

absl::StatusOr<Matrix> HessianPairMatrix(const GradientProblem& problem, double width,
                                         RunContext& context) {
  const GradientPairs& pairs = problem.pairs;
  const Matrix transposed = problem.rows.transpose();
  Matrix products(problem.num_rows(), problem.num_rows());
  MERCER_RETURN_IF_ERROR(TransposedProduct(transposed, transposed, products, context));
  const double s2 = width * width;
  Matrix values(pairs.size(), pairs.size());
  context.parallel().ForBlocks(pairs.size(), kPairColumns, [&](Index begin, Index end) {
    for (Index q = begin; q < end && !context.cancelled(); ++q) {
      const Index i2 = pairs.targets[static_cast<size_t>(q)];
      const Index j2 = pairs.anchors[static_cast<size_t>(q)];
      for (Index p = 0; p < pairs.size(); ++p) {
        const Index i = pairs.targets[static_cast<size_t>(p)];
        const Index j = pairs.anchors[static_cast<size_t>(p)];
        // (x_a - x_b)'(x_c - x_e).
        const auto inner = [&](Index a, Index b, Index c, Index e) {
          return products(a, c) - products(a, e) - products(b, c) + products(b, e);
        };
        const double of_p = inner(i, j, j, j2);
        const double of_q = inner(i2, j2, j, j2);
        values(p, q) = problem.gram(j, j2) * (1 + (of_q - of_p) / s2 + inner(i, j, i2, j2) / s2 -
                                              of_p * of_q / (s2 * s2));
      }
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return values;
}

}  // namespace mercer
