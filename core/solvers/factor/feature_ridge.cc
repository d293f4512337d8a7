#include "core/solvers/factor/feature_ridge.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/row_products.h"
#include "core/objectives/dual_ray.h"

namespace mercer {
namespace {

constexpr int kMostTrials = 40;  // of the line search
constexpr double kFlat = 0.1;    // of the first slope along the direction: where the search ends
// A step that lowers neither the gap nor the objective by this share is a stall.
constexpr double kRidgeProgress = 1e-3;
constexpr double kRidgeRounding = 1e-14;

// out = X x.
absl::Status RidgeScores(const Matrix& features, const Vector& x, Vector& out,
                         RunContext& context) {
  out.resize(features.rows());
  return ForRowBlocks(features.rows(), kPassRows, context, [&](Index begin, Index count) {
    out.segment(begin, count).noalias() = features.middleRows(begin, count) * x;
  });
}

// X'x.
absl::StatusOr<Vector> RidgeProducts(const Matrix& features, const Vector& x, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Matrix product, ProductOverRows(features, x, context));
  return Vector(product.col(0));
}

}  // namespace

absl::Status FeatureRidge::Start(FeatureRidgeProblem problem, RunContext& context) {
  problem_ = std::move(problem);
  State state;
  state.point.weights = Vector::Zero(problem_.features->cols());
  const Vector scores = Vector::Zero(problem_.features->rows());
  MERCER_ASSIGN_OR_RETURN(
      const BiasInterval bias,
      problem_.loss->ExactBias(problem_.targets, problem_.costs, scores, context));
  state.point.bias = bias.chosen;
  MERCER_RETURN_IF_ERROR(Evaluate(state, scores, context));
  state_ = std::move(state);
  return absl::OkStatus();
}

absl::Status FeatureRidge::Scores(const Point& point, Vector& scores, RunContext& context) const {
  return RidgeScores(*problem_.features, point.weights, scores, context);
}

// The slopes of the loss at the point: minus a feasible dual, up to its best scale.
absl::Status FeatureRidge::Slopes(const Point& point, Vector& slopes, RunContext& context) const {
  Vector scores;
  MERCER_RETURN_IF_ERROR(Scores(point, scores, context));
  scores.array() += point.bias;
  slopes.resize(scores.size());
  problem_.loss->ValueAndSlopes(problem_.targets, problem_.costs, scores, slopes);
  slopes = -slopes;
  problem_.loss->RepairDual(problem_.targets, problem_.costs, /*balanced=*/true, slopes);
  return absl::OkStatus();
}

absl::Status FeatureRidge::Dual(Vector& dual, RunContext& context) const {
  MERCER_RETURN_IF_ERROR(Slopes(state_.dual_point, dual, context));
  dual *= state_.dual_scale;
  return absl::OkStatus();
}

// Computes the bounds at the point of `state`; a dual that is no better leaves the one before.
absl::Status FeatureRidge::Evaluate(State& state, const Vector& scores, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const double risk,
                          problem_.loss->TotalValue(problem_.targets, problem_.costs, scores,
                                                    state.point.bias, context));
  state.primal = 0.5 * state.point.weights.squaredNorm() + risk;
  Vector dual;
  MERCER_RETURN_IF_ERROR(Slopes(state.point, dual, context));
  MERCER_ASSIGN_OR_RETURN(const Vector reduced, RidgeProducts(*problem_.features, dual, context));
  MERCER_ASSIGN_OR_RETURN(const DualRay ray,
                          MaximizeOnDualRay(*problem_.loss, problem_.targets, problem_.costs, dual,
                                            reduced.squaredNorm(), context));
  if (ray.value > state.dual_value) {
    state.dual_point = state.point;
    state.dual_scale = ray.scale;
    state.dual_value = ray.value;
  }
  return absl::OkStatus();
}

absl::Status FeatureRidge::Step(RunContext& context) {
  if (stuck()) {
    return absl::OkStatus();
  }
  Vector scores;
  MERCER_RETURN_IF_ERROR(Scores(state_.point, scores, context));
  Direction direction;
  MERCER_RETURN_IF_ERROR(FindDirection(scores, direction, context));
  Vector change;
  MERCER_RETURN_IF_ERROR(RidgeScores(*problem_.features, direction.weights, change, context));
  change.array() += direction.bias;
  const double length = FindLength(direction, scores, change, context);
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  State next = state_;
  next.point.weights += length * direction.weights;
  MERCER_RETURN_IF_ERROR(Scores(next.point, scores, context));
  MERCER_ASSIGN_OR_RETURN(
      const BiasInterval bias,
      problem_.loss->ExactBias(problem_.targets, problem_.costs, scores, context));
  next.point.bias = bias.chosen;
  MERCER_RETURN_IF_ERROR(Evaluate(next, scores, context));
  ++next.iterations;
  const double gap = state_.primal - state_.dual_value;
  const bool falls = next.primal < state_.primal - kRidgeRounding * std::abs(state_.primal);
  const bool stalls = !falls && !(next.primal - next.dual_value < (1 - kRidgeProgress) * gap);
  next.stalls = stalls ? next.stalls + 1 : 0;
  if (!(next.primal <= state_.primal)) {  // rounding: the point before is as good
    next.point = state_.point;
    next.primal = state_.primal;
  }
  state_ = std::move(next);
  return absl::OkStatus();
}

// X'DX, D >= 0.
absl::StatusOr<Matrix> FeatureRidge::Curvature(const Vector& curvatures,
                                               RunContext& context) const {
  std::vector<Index> active;
  for (Index row = 0; row < curvatures.size(); ++row) {
    if (curvatures(row) > 0) {
      active.push_back(row);
    }
  }
  return GramOverRows(*problem_.features, active, curvatures.cwiseSqrt(), context);
}

// The Newton direction. With s = 1'D1, m = X'D1, g = w + X'slopes and z = 1'slopes, the bias
// minimised out:
//   (I + X'DX - m m'/s) dw = -(g - m z / s),  db = -(z + m'dw) / s.
absl::Status FeatureRidge::FindDirection(const Vector& scores, Direction& direction,
                                         RunContext& context) const {
  Vector shifted = scores.array() + state_.point.bias;
  Vector slopes(scores.size());
  Vector curvatures(scores.size());
  problem_.loss->ValueAndSlopes(problem_.targets, problem_.costs, shifted, slopes);
  problem_.loss->Curvatures(problem_.targets, problem_.costs, shifted, curvatures);
  MERCER_ASSIGN_OR_RETURN(Vector gradient, RidgeProducts(*problem_.features, slopes, context));
  gradient += state_.point.weights;
  MERCER_ASSIGN_OR_RETURN(Matrix system, Curvature(curvatures, context));
  MERCER_ASSIGN_OR_RETURN(const Vector sums,
                          RidgeProducts(*problem_.features, curvatures, context));
  const double total = curvatures.sum();
  const double slope_sum = slopes.sum();
  Matrix solved = -gradient;
  if (total > 0) {
    system.selfadjointView<Eigen::Lower>().rankUpdate(sums, -1 / total);
    solved.col(0) += (slope_sum / total) * sums;
  }
  system.diagonal().array() += 1;
  if (system.rows() > 0) {
    absl::Status factored = FactorCholesky(system, context);
    if (absl::IsInvalidArgument(factored)) {
      solved = -gradient;  // rounding of huge costs: a step along the gradient
    } else {
      MERCER_RETURN_IF_ERROR(factored);
      MERCER_RETURN_IF_ERROR(SolveCholesky(system, solved, context));
    }
  }
  direction.weights = solved.col(0);
  direction.bias = total > 0 ? -(slope_sum + sums.dot(direction.weights)) / total : 0.0;
  direction.slope = gradient.dot(direction.weights) + slope_sum * direction.bias;
  return absl::OkStatus();
}

// The length of the step: 1, unless the objective rises again before that; then it ends where the
// objective is nearly flat.
double FeatureRidge::FindLength(const Direction& direction, const Vector& scores,
                                const Vector& change, const RunContext& context) const {
  Vector slopes(scores.size());
  const auto slope_at = [&](double length) {
    const Vector moved = scores.array() + state_.point.bias + length * change.array();
    problem_.loss->ValueAndSlopes(problem_.targets, problem_.costs, moved, slopes);
    return (state_.point.weights + length * direction.weights).dot(direction.weights) +
           slopes.dot(change);
  };
  const double flat = kFlat * std::abs(direction.slope);
  double low = 0;
  double high = 1;
  double length = 1;
  for (int trial = 0; trial < kMostTrials && !context.cancelled(); ++trial) {
    const double slope = slope_at(length);
    if (std::abs(slope) <= flat || (slope < 0 && length == 1)) {
      break;
    }
    (slope < 0 ? low : high) = length;
    length = 0.5 * (low + high);
  }
  return length;
}

double FeatureRidge::StepOperations() const {
  const auto rows = static_cast<double>(problem_.features->rows());
  const auto columns = static_cast<double>(problem_.features->cols());
  return rows * (0.5 * columns * columns + 6 * columns + 100) + columns * columns * columns / 3;
}

void FeatureRidge::Save(ByteWriter& writer) const {
  WriteFields(state_, writer, problem_.features->cols());
}

bool FeatureRidge::Load(FeatureRidgeProblem problem, ByteReader& reader) {
  State state;
  if (!ReadFields(reader, state, problem.features->cols())) {
    return false;
  }
  problem_ = std::move(problem);
  state_ = std::move(state);
  return true;
}

size_t FeatureRidgeBytes(Index rows, Index columns) {
  constexpr Index kVectors = 10;
  const ByteCount n(rows);
  return (ByteCount(sizeof(double)) * n * ByteCount(kVectors) +
          ByteCount(GramOverRowsBytes(columns)))
      .value();
}

}  // namespace mercer
