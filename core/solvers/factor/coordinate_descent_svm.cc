#include "core/solvers/factor/coordinate_descent_svm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr int64_t kEpochsOfABias = 3;     // between steps of the bias, each with a certificate
constexpr int64_t kEpochsOfAReturn = 20;  // between returns of all variables
constexpr Index kVisitsOfACheck = 1000;   // of cancellation

}  // namespace

absl::Status CoordinateDescentSvmSolver::Prepare(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(FactorRows features,
                          kernel().rows.TimesTriangular(kernel().root, context));
  features_ = std::make_unique<const FactorRows>(std::move(features));
  diagonal_.resize(num_samples());
  for (Index i = 0; i < num_samples(); ++i) {
    diagonal_(i) =
        Eigen::Map<const Eigen::VectorXf>(features_->row(i), rank()).cast<double>().squaredNorm();
  }
  const double mean = SumOfRows(diagonal_) / static_cast<double>(num_samples());
  penalty_ = mean > 0 ? mean : 1.0;
  return context.CheckCancelled();
}

absl::Status CoordinateDescentSvmSolver::Begin(RunContext& context) {
  State next;
  next.dual = best().dual;
  next.coefficients = Vector::Zero(features_->stride());
  MERCER_RETURN_IF_ERROR(
      features_->MultiplyTransposed(next.dual, next.coefficients.head(rank()), context));
  next.bias = best().certificate.bias.chosen;
  next.sum = SumOfRows(next.dual);
  next.active = IndexRange(0, num_samples());
  state_ = std::move(next);
  return absl::OkStatus();
}

// Minimises the objective in one variable: a parabola plus epsilon |dual(i)|, whose minimum in the
// box is a soft threshold of the Newton step, clipped. Returns how far the variable was from
// optimal, and in `slack` by how much the slope keeps it at its kink or bound.
double CoordinateDescentSvmSolver::Visit(Index i, State& next, double* slack) const {
  const double value = next.dual(i);
  const double lower = box().lower(i);
  const double upper = box().upper(i);
  const double slope = features_->DotRow(i, next.coefficients.data()) + next.bias +
                       penalty_ * next.sum - box().targets(i);
  const double curvature = diagonal_(i) + penalty_;
  const double flat = box().epsilon / curvature;
  double point = value - slope / curvature;
  point = point > flat ? point - flat : (point < -flat ? point + flat : 0.0);
  point = std::clamp(point, lower, upper);
  const double change = point - value;
  *slack = 0;
  if (change != 0) {
    next.dual(i) = point;
    next.sum += change;
    features_->AddRow(i, change, next.coefficients.data());
    return curvature * std::abs(change);
  }
  // The variable did not move, so it sits where the slope changes its sign. By how much the slopes
  // to the right and to the left hold it there says how unlikely it is to move in the next epochs:
  // it is set aside when that exceeds the largest violation of the epoch before.
  const double right = slope + (value >= 0 ? box().epsilon : -box().epsilon);
  const double left = slope + (value > 0 ? box().epsilon : -box().epsilon);
  const double holds_above = value < upper ? right : kInfinity;
  const double holds_below = value > lower ? -left : kInfinity;
  *slack = std::min(holds_above, holds_below);
  return 0;
}

absl::Status CoordinateDescentSvmSolver::RunEpoch(State& next, RunContext& context) const {
  std::vector<Index> order = next.active;
  RandomStream(0, "coordinate descent", static_cast<uint64_t>(iterations())).Shuffle(order);
  double violation = 0;
  std::vector<Index> kept;
  kept.reserve(order.size());
  for (size_t j = 0; j < order.size(); ++j) {
    if (j % kVisitsOfACheck == 0) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    }
    double slack = 0;
    violation = std::max(violation, Visit(order[j], next, &slack));
    if (slack <= next.last_violation) {
      kept.push_back(order[j]);
    }
  }
  std::sort(kept.begin(), kept.end());
  next.active = std::move(kept);
  next.last_violation = violation;
  return absl::OkStatus();
}

absl::Status CoordinateDescentSvmSolver::Advance(RunContext& context) {
  State next = state_;
  MERCER_RETURN_IF_ERROR(RunEpoch(next, context));
  const int64_t epoch = iterations() + 1;
  if (epoch % kEpochsOfAReturn == 0 || next.active.empty()) {
    next.active = IndexRange(0, num_samples());
    next.last_violation = kInfinity;
  }
  if (epoch % kEpochsOfABias != 0) {
    state_ = std::move(next);
    return absl::OkStatus();
  }
  next.bias += penalty_ * next.sum;
  // The step of the method of multipliers on sum dual = 0 was made above; v and the sum are formed
  // anew, so that the rounding of thousands of updates does not pile up.
  MERCER_RETURN_IF_ERROR(
      features_->MultiplyTransposed(next.dual, next.coefficients.head(rank()), context));
  next.sum = SumOfRows(next.dual);
  MERCER_ASSIGN_OR_RETURN(Point point, Certify(next.dual, context));
  state_ = std::move(next);
  Consider(std::move(point));
  return absl::OkStatus();
}

double CoordinateDescentSvmSolver::NextCost() const {
  constexpr double kOfMemory = 6;  // times slower than products of matrices
  return kOfMemory * static_cast<double>(rank() + 50) *
         (4.0 * static_cast<double>(state_.active.size()) +
          4.0 / kEpochsOfABias * static_cast<double>(num_samples()));
}

void CoordinateDescentSvmSolver::SaveIterate(ByteWriter& writer) const {
  WriteFields(state_, writer, Sizes{box(), kernel().rows.stride()});
}

bool CoordinateDescentSvmSolver::LoadIterate(ByteReader& reader) {
  return ReadFields(reader, state_, Sizes{box(), kernel().rows.stride()});
}

}  // namespace mercer
