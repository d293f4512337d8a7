#include "core/solvers/gradients/pair_system.h"

#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr double kFirstShift = 1e-14;
constexpr double kShiftFactor = 100;
constexpr int kMostSystemProducts = 1000;

}  // namespace

absl::StatusOr<PairSystem> PairSystem::Make(const PairKernel& kernel, const Vector& ridge,
                                            std::vector<Index> pairs, double shift,
                                            RunContext& context) {
  PairSystem system(kernel, std::move(pairs));
  system.ridge_ = ridge(system.pairs_);
  if (shift > 0) {
    system.ridge_.array() += shift * kernel.diagonal().mean();
  }
  if (static_cast<Index>(system.pairs_.size()) <= kMostFactoredPairs) {
    MERCER_ASSIGN_OR_RETURN(system.factor_, kernel.Block(system.pairs_, context));
    system.factor_.diagonal() += system.ridge_;
    MERCER_RETURN_IF_ERROR(FactorCholesky(system.factor_, context));
  }
  return system;
}

absl::StatusOr<PairSystem> PairSystem::MakeShifted(const PairKernel& kernel, const Vector& ridge,
                                                   const std::vector<Index>& pairs,
                                                   RunContext& context) {
  absl::StatusOr<PairSystem> system = Make(kernel, ridge, pairs, 0, context);
  for (double shift = kFirstShift; absl::IsInvalidArgument(system.status()) && shift < 1;
       shift *= kShiftFactor) {
    system = Make(kernel, ridge, pairs, shift, context);
  }
  return system;
}

absl::Status PairSystem::Solve(MatrixRef b, double accuracy, RunContext& context) const {
  if (pairs_.empty()) {
    return absl::OkStatus();
  }
  if (factor_.size() > 0) {
    return SolveCholesky(factor_, b, context);
  }
  for (Index c = 0; c < b.cols(); ++c) {
    MERCER_RETURN_IF_ERROR(SolveByProducts(b.col(c), accuracy, context));
  }
  return absl::OkStatus();
}

// Preconditioned by the diagonal.
absl::Status PairSystem::SolveByProducts(VectorRef b, double accuracy, RunContext& context) const {
  const Vector inverse = (kernel_->diagonal()(pairs_) + ridge_).cwiseInverse();
  Vector residual = b;
  Vector x = Vector::Zero(b.size());
  Vector scaled = inverse.cwiseProduct(residual);
  Vector direction = scaled;
  double product = residual.dot(scaled);
  const double end = accuracy * accuracy * product;
  Vector whole = Vector::Zero(kernel_->size());
  for (int step = 0; step < kMostSystemProducts && product > end && product > 0; ++step) {
    whole(pairs_) = direction;
    MERCER_ASSIGN_OR_RETURN(const Vector image, kernel_->Product(whole, context));
    const Vector of_direction = image(pairs_) + ridge_.cwiseProduct(direction);
    const double curvature = direction.dot(of_direction);
    if (!(curvature > 0)) {
      break;
    }
    x += product / curvature * direction;
    residual -= product / curvature * of_direction;
    scaled = inverse.cwiseProduct(residual);
    const double next = residual.dot(scaled);
    direction = scaled + next / product * direction;
    product = next;
  }
  b = x;
  return absl::OkStatus();
}

}  // namespace mercer
