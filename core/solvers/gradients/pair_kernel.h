// The matrix Q of inner products of pairs, Q(p, q) = u_p'K(x_j, x_j')u_q with u_p = (1, x_i - x_j),
// for the matrix kernels K of gradient learning. A solver asks for products and blocks; of many
// pairs the whole is never formed.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/gradient_problem.h"

namespace mercer {

// What Q(p, q) = G(j, j') (1 + (z_i - z_j)'(z_i' - z_j')) is made of.
struct PairParts {
  const GradientPairs& pairs;
  const Matrix& leading;  // L, G is near L L'; may be empty
  const Matrix& z;
};

// Immutable and safe for concurrent use. Errors of all operations: kCancelled.
class PairKernel {
 public:
  virtual ~PairKernel() = default;
  virtual const Vector& diagonal() const = 0;
  // Q v.
  virtual absl::StatusOr<Vector> Product(const ConstVectorRef& v, RunContext& context) const = 0;
  // Floating-point operations of a product, about.
  virtual double WorkOfProduct() const = 0;
  // Its parts, if it has them; null: it has none.
  virtual const PairParts* parts() const { return nullptr; }
  // The lower triangle of Q among these pairs; the strict upper one is arbitrary.
  virtual absl::StatusOr<Matrix> Block(const std::vector<Index>& pairs,
                                       RunContext& context) const = 0;

  Index size() const { return diagonal().size(); }
};

// A matrix that is formed.
class MatrixPairKernel : public PairKernel {
 public:
  explicit MatrixPairKernel(Matrix values)
      : values_(std::move(values)), diagonal_(values_.diagonal()) {}

  const Vector& diagonal() const override { return diagonal_; }
  absl::StatusOr<Vector> Product(const ConstVectorRef& v, RunContext& context) const override;
  double WorkOfProduct() const override { return 2.0 * static_cast<double>(values_.size()); }
  absl::StatusOr<Matrix> Block(const std::vector<Index>& pairs, RunContext& context) const override;

 private:
  Matrix values_;
  Vector diagonal_;
};

// The kernel diag(1, beta) G: Q(p, q) = G(j, j') (1 + (z_i - z_j)'(z_i' - z_j')), where the rows z
// have the inner products X diag(beta) X'. They are the columns of positive weight times
// sqrt(beta_l) or, where these are more than rows, a factor of that matrix. A product takes
// 2 m^2 (1 + columns of z) operations whatever the number of pairs.
class DiagonalPairKernel : public PairKernel {
 public:
  // Of a problem that must outlive this. Errors: kCancelled, kInternal.
  static absl::StatusOr<std::unique_ptr<DiagonalPairKernel>> Make(const GradientProblem& problem,
                                                                  const Vector& weights,
                                                                  RunContext& context);

  const Vector& diagonal() const override { return diagonal_; }
  absl::StatusOr<Vector> Product(const ConstVectorRef& v, RunContext& context) const override;
  double WorkOfProduct() const override;
  const PairParts* parts() const override { return &parts_; }
  absl::StatusOr<Matrix> Block(const std::vector<Index>& pairs, RunContext& context) const override;

 private:
  explicit DiagonalPairKernel(const GradientProblem& problem) : problem_(problem) {}
  DiagonalPairKernel(const DiagonalPairKernel&) = delete;
  DiagonalPairKernel& operator=(const DiagonalPairKernel&) = delete;

  const GradientProblem& problem_;
  Matrix z_;
  Vector diagonal_;
  PairParts parts_{problem_.pairs, problem_.leading, z_};
};

// The matrix kernel of a function and its own gradient, of the Gaussian G of this width:
// Q(p, q) = G(j, j') [1 + (d_q'r - d_p'r) / s^2 + d_p'd_q / s^2 - (d_p'r)(d_q'r) / s^4] with
// r = x_j - x_j', d_p = x_i - x_j. Errors: kCancelled.
absl::StatusOr<Matrix> HessianPairMatrix(const GradientProblem& problem, double width,
                                         RunContext& context);

}  // namespace mercer
