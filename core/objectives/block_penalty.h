// Norms of the block of weights of one group of features: rows are the group's columns, columns the
// tasks.
//
//   nested   N(W) = |r|_q, r(t) = |W(:, t)|_2: a group of features is selected as a whole
//   flat     N(W) = |vec(W)|_q
//
// q is 1, 2, infinity or a number in [1.01, 100]; 1/q + 1/q' = 1. What a norm treats as one, a
// column (nested) or an entry (flat), is called an atom below. Powers are taken of ratios to the
// largest atom, so that magnitudes from 1e-150 to 1e150 are harmless. Source:
// docs/mathematics/infinite_features.md, sections 1, 2 and 9.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"

namespace mercer {

enum class BlockShape { kNested, kFlat };

// Immutable, safe for concurrent use.
class BlockNorm {
 public:
  // Nested, q = 2: the Frobenius norm.
  BlockNorm() = default;
  // Makes a norm. Errors: kInvalidArgument when q is none of the above.
  static absl::StatusOr<BlockNorm> Make(BlockShape shape, double q);

  BlockShape shape() const { return shape_; }
  double q() const { return q_; }

  // The norm N of the block.
  double Value(const ConstMatrixRef& block) const;
  // The largest <block, U> of all U with N(U) <= 1: the norm of the same shape with q'.
  double DualNorm(const ConstMatrixRef& block) const;
  // block <- argmin_U 1/2 |U - block|^2 + step N(U); step >= 0.
  void Prox(double step, MatrixRef block) const;

  // Where N is smooth, for Newton's method: the entries of `block`, counted column by column, along
  // which N is twice differentiable while the other entries, which are 0, stay; none for a block
  // that is 0, and for q = infinity.
  std::vector<Index> SmoothEntries(const ConstMatrixRef& block) const;
  // The gradient of N, 0 at entries that are not smooth.
  Matrix Gradient(const ConstMatrixRef& block) const;
  // The matrix of second derivatives by the entries counted column by column, 0 at entries that are
  // not smooth.
  Matrix Hessian(const ConstMatrixRef& block) const;
  // The Hessian and an addition that makes up for N not showing how it bends at 0 across an atom
  // (q = 1) or the block: for q = 1 and 2 the function with N's value and gradient at `block` and
  // these second derivatives is nowhere below N.
  Matrix GuardedHessian(const ConstMatrixRef& block) const;
  // True when an entry of a block with so many rows must not change its sign within one step of
  // Newton's method, since N has a kink at 0 in each entry for itself.
  bool HasKinksAtZero(Index rows) const { return q_ == 1 && AtomSize(rows) == 1; }
  // True when N is a sum over the columns (the tasks) of blocks with so many rows.
  bool IsSeparable() const { return q_ == 1; }

 private:
  BlockNorm(BlockShape shape, double q) : shape_(shape), q_(q) {}

  Index AtomSize(Index rows) const { return shape_ == BlockShape::kNested ? rows : 1; }
  // The block with one atom in each column.
  Matrix Atoms(const ConstMatrixRef& block) const;

  BlockShape shape_ = BlockShape::kNested;
  double q_ = 2;
};

// The norm |v|_q, q in [1, inf].
double VectorNorm(const ConstVectorRef& v, double q);
// The conjugate exponent q / (q - 1): 1 for infinity, infinity for 1.
double ConjugateExponent(double q);
// The proximal operator argmin_u 1/2 |u - v|^2 + step |u|_q for v >= 0; q as above.
Vector ProxOfNorm(const ConstVectorRef& v, double step, double q);

}  // namespace mercer
