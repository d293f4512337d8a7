#include "core/solvers/gradients/pair_system.h"

#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr double kFirstShift = 1e-14;
constexpr double kShiftFactor = 100;
constexpr double kProductPrice = 3;     // of an operation, in operations of the factor
constexpr double kShareOfFactor = 0.5;  // of its time, that products are tried for
constexpr Index kFewProducts = 15;      // for a column, that it takes at the very least

}  // namespace

absl::StatusOr<PairSystem> PairSystem::Make(const PairKernel& kernel, const Vector& ridge,
                                            std::vector<Index> pairs, Indefinite indefinite,
                                            RunContext& context) {
  PairSystem system(kernel, ridge, std::move(pairs), indefinite);
  if (!system.pairs_.empty() && system.ProductsToTry(1, kMostSystemProducts) < kFewProducts) {
    MERCER_RETURN_IF_ERROR(system.Factor(context));
  }
  return system;
}

Index PairSystem::ProductsToTry(Index columns, Index most_products) const {
  if (is_large()) {
    return columns * most_products;
  }
  const double products = kShareOfFactor * FactorWork(columns);
  return std::min(columns * kMostSystemProducts, static_cast<Index>(products));
}

double PairSystem::FactorWork(Index columns) const {
  const auto size = static_cast<double>(pairs_.size());
  const double factor = size * size * (size / 3 + 2 * static_cast<double>(columns));
  return factor / (kProductPrice * kernel_->WorkOfProduct());
}

absl::Status PairSystem::Factor(RunContext& context) {
  const double mean = kernel_->diagonal().mean();
  absl::Status status;
  double shift = 0;
  do {
    factor_.resize(0, 0);  // never two of them
    MERCER_ASSIGN_OR_RETURN(factor_, kernel_->Block(pairs_, context));
    factor_.diagonal().array() += ridge_.array() + shift * mean;
    status = FactorCholesky(factor_, context);
    shift = shift > 0 ? shift * kShiftFactor : kFirstShift;
    factor_work_ += FactorWork(0);
  } while (absl::IsInvalidArgument(status) && indefinite_ == Indefinite::kIsShifted && shift < 1);
  return status;
}

absl::Status PairSystem::Solve(MatrixRef b, double accuracy, Index most_products,
                               RunContext& context) {
  if (pairs_.empty()) {
    return absl::OkStatus();
  }
  Index solved = 0;
  if (!has_factor()) {
    const Index before = products_;
    const Index most = ProductsToTry(b.cols(), most_products);
    bool goes_on = is_large() || most >= kFewProducts * b.cols();
    if (goes_on && !preconditioner_.has_value()) {
      MERCER_ASSIGN_OR_RETURN(preconditioner_,
                              PairPreconditioner::Make(*kernel_, ridge_, pairs_, context));
    }
    while (goes_on && solved < b.cols()) {
      const Index left = most - (products_ - before);
      MERCER_ASSIGN_OR_RETURN(goes_on, SolveByProducts(*preconditioner_, b.col(solved), accuracy,
                                                       std::min(left, most_products), context));
      solved += goes_on ? 1 : 0;
    }
    if (solved == b.cols()) {
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(Factor(context));
  }
  return SolveCholesky(factor_, b.rightCols(b.cols() - solved), context);
}

// Preconditioned conjugate gradients. What they have come to within the limit, or where the matrix
// turns out not to be positive definite, has to do where there are too many pairs for the factor.
absl::StatusOr<bool> PairSystem::SolveByProducts(const PairPreconditioner& preconditioner,
                                                 VectorRef b, double accuracy, Index most,
                                                 RunContext& context) {
  Vector residual = b;
  Vector x = Vector::Zero(b.size());
  Vector scaled = preconditioner.Apply(residual);
  Vector direction = scaled;
  double product = residual.dot(scaled);
  const double end = accuracy * accuracy * product;
  Vector whole = Vector::Zero(kernel_->size());
  Index products = 0;
  for (; products < most && product > end && product > 0; ++products) {
    whole(pairs_) = direction;
    MERCER_ASSIGN_OR_RETURN(const Vector image, kernel_->Product(whole, context));
    const Vector of_direction = image(pairs_) + ridge_.cwiseProduct(direction);
    const double curvature = direction.dot(of_direction);
    if (!(curvature > 0)) {
      break;
    }
    x += product / curvature * direction;
    residual -= product / curvature * of_direction;
    scaled = preconditioner.Apply(residual);
    const double next = residual.dot(scaled);
    direction = scaled + next / product * direction;
    product = next;
  }
  products_ += products;
  if (!(product <= end) && !is_large()) {
    return false;
  }
  b = x;
  return true;
}

}  // namespace mercer
