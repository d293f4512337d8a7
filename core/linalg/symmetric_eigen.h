// Eigenvalues and eigenvectors of a symmetric matrix, in pieces small enough that no single call is
// long: cancellation is checked between them.
//
//   MERCER_ASSIGN_OR_RETURN(const SymmetricEigen eigen,
//                           SymmetricEigen::Make(std::move(a), context));
//   MERCER_ASSIGN_OR_RETURN(const Matrix vectors, eigen.Largest(10, context));
//
// Householder's reduction to a tridiagonal matrix, then Cuppen's divide and conquer; small matrices
// are Eigen's. One thread: callers have several matrices. Source: Gu, Eisenstat: A
// divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem. SIAM J. Matrix Anal.
// Appl. 16 (1995) 172-191.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Immutable and safe for concurrent use.
class SymmetricEigen {
 public:
  // Decomposes `a`, whose lower triangle alone is read; its values are finite. Errors: kCancelled,
  // kInternal (no convergence).
  static absl::StatusOr<SymmetricEigen> Make(Matrix a, const RunContext& context);

  // The eigenvalues, ascending. Errors relative to the largest magnitude are a few roundings. Not
  // finite where out of range.
  const Vector& values() const { return values_; }
  // Orthonormal eigenvectors of the `count` largest eigenvalues, the largest one's first. Errors:
  // kCancelled.
  absl::StatusOr<Matrix> Largest(Index count, const RunContext& context) const;

 private:
  SymmetricEigen() = default;

  // a = H T H' up to its scale, H = H_0 H_1 ..., H_j = I - scales(j) v v', v(0 .. j) = 0,
  // v(j + 1) = 1, v(j + 2 ..) = reflectors(j + 2 .., j).
  Matrix reflectors_;
  Vector scales_;
  Vector values_;
  Matrix of_tridiagonal_;  // the eigenvectors of T, in the order of places_
  std::vector<Index> places_;
};

}  // namespace mercer
