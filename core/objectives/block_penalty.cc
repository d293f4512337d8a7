#include "core/objectives/block_penalty.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace mercer {

absl::StatusOr<BlockNorm> BlockNorm::Make(BlockShape shape, double q) {
  if (q == 1 || (q >= 1.01 && q <= 100) || q == kInfinity) {
    return BlockNorm(shape, q);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("q must be 1, infinity, or in [1.01, 100], is ", q));
}

Matrix BlockNorm::Atoms(const ConstMatrixRef& block) const {
  Matrix atoms = block;
  const Index size = AtomSize(block.rows());
  atoms.resize(size, block.size() / std::max<Index>(size, 1));
  return atoms;
}

double BlockNorm::Value(const ConstMatrixRef& block) const {
  return VectorNorm(Atoms(block).colwise().stableNorm().transpose(), q_);
}

double BlockNorm::DualNorm(const ConstMatrixRef& block) const {
  return VectorNorm(Atoms(block).colwise().stableNorm().transpose(), ConjugateExponent(q_));
}

void BlockNorm::Prox(double step, MatrixRef block) const {
  Matrix atoms = Atoms(block);
  const Vector norms = atoms.colwise().stableNorm().transpose();
  const Vector shrunk = ProxOfNorm(norms, step, q_);
  for (Index a = 0; a < atoms.cols(); ++a) {
    atoms.col(a) *= norms(a) > 0 ? shrunk(a) / norms(a) : 0.0;
  }
  atoms.resize(block.rows(), block.cols());
  block = atoms;
}

std::vector<Index> BlockNorm::SmoothEntries(const ConstMatrixRef& block) const {
  std::vector<Index> entries;
  if (std::isinf(q_) || (block.array() == 0).all()) {
    return entries;
  }
  const Matrix atoms = Atoms(block);
  for (Index a = 0; a < atoms.cols(); ++a) {
    if (q_ < 2 && (atoms.col(a).array() == 0).all()) {
      continue;
    }
    for (Index i = 0; i < atoms.rows(); ++i) {
      entries.push_back(a * atoms.rows() + i);
    }
  }
  return entries;
}

// With N = |r|_q and u the direction of an atom, dN/dr = (r/N)^(q-1).
Matrix BlockNorm::Gradient(const ConstMatrixRef& block) const {
  Matrix atoms = Atoms(block);
  const Vector norms = atoms.colwise().stableNorm().transpose();
  const double norm = VectorNorm(norms, q_);
  for (Index a = 0; a < atoms.cols(); ++a) {
    atoms.col(a) *= norms(a) > 0 ? std::pow(norms(a) / norm, q_ - 1) / norms(a) : 0.0;
  }
  atoms.resize(block.rows(), block.cols());
  return atoms;
}

// The second derivative of N by r(a), r(b) is (q-1)/N (delta_ab (r(a)/N)^(q-2) - z(a) z(b)),
// z = dN/dr, and that of r by the atom itself (I - uu')/r.
Matrix BlockNorm::Hessian(const ConstMatrixRef& block) const {
  const Matrix atoms = Atoms(block);
  const Index size = atoms.rows();
  const Vector norms = atoms.colwise().stableNorm().transpose();
  const double norm = VectorNorm(norms, q_);
  Matrix hessian = Matrix::Zero(block.size(), block.size());
  if (!(norm > 0)) {
    return hessian;
  }
  const Matrix gradient = Gradient(block);
  const Eigen::Map<const Vector> slopes(gradient.data(), gradient.size());
  if (q_ > 1) {
    hessian.noalias() = -(q_ - 1) / norm * slopes * slopes.transpose();
  }
  for (Index a = 0; a < atoms.cols(); ++a) {
    if (norms(a) == 0 && q_ != 2) {
      continue;
    }
    const double curvature = (q_ == 2 ? 1.0 : std::pow(norms(a) / norm, q_ - 2)) / norm;
    auto own = hessian.block(a * size, a * size, size, size);
    own.diagonal().array() += curvature;
    if (norms(a) > 0) {
      const Vector direction = atoms.col(a) / norms(a);
      own += (q_ - 2) * curvature * direction * direction.transpose();
    }
  }
  return hessian;
}

// The Hessian of N^2 / (2 N0), N0 the norm at the block: it has N's value and slope there and bends
// across the block, too. For q = 1, atom by atom.
Matrix BlockNorm::GuardedHessian(const ConstMatrixRef& block) const {
  Matrix hessian = Hessian(block);
  const Matrix gradient = Gradient(block);
  const Eigen::Map<const Vector> slopes(gradient.data(), gradient.size());
  if (q_ != 1) {
    const double norm = Value(block);
    if (norm > 0) {
      hessian.noalias() += slopes * (slopes / norm).transpose();
    }
    return hessian;
  }
  const Matrix atoms = Atoms(block);
  const Index size = atoms.rows();
  for (Index a = 0; a < atoms.cols(); ++a) {
    const double norm = atoms.col(a).stableNorm();
    const auto own = slopes.segment(a * size, size);
    if (norm > 0) {
      hessian.block(a * size, a * size, size, size) += own * (own / norm).transpose();
    }
  }
  return hessian;
}

}  // namespace mercer
