#include "core/solvers/feature_ridge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/byte_count.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/kernels/blocked_cholesky.h"
#include "core/objectives/dual_ray.h"

namespace mercer {
namespace {

constexpr Index kRidgeBlockRows = 2048;
constexpr Index kGramParts = 8;    // partial sums of X'DX, each of m x m numbers
constexpr Index kChunkRows = 256;  // of one product: short enough for cancellation
constexpr int kMostTrials = 40;    // of the line search
constexpr double kFlat = 0.1;      // of the first slope along the direction: where the search ends
// A step that takes less of the gap, and of the objective, is a stall.
constexpr double kRidgeProgress = 1e-3;
constexpr double kRidgeRounding = 1e-14;

absl::Status ForRidgeRows(Index rows, Index block, RunContext& context,
                          const std::function<void(Index begin, Index count)>& body) {
  context.parallel().ForBlocks(rows, block, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      body(begin, end - begin);
    }
  });
  return context.CheckCancelled();
}

// out = X x.
absl::Status RidgeScores(const Matrix& features, const Vector& x, Vector& out,
                         RunContext& context) {
  out.resize(features.rows());
  return ForRidgeRows(features.rows(), kRidgeBlockRows, context, [&](Index begin, Index count) {
    out.segment(begin, count).noalias() = features.middleRows(begin, count) * x;
  });
}

// X'x, summed in the order of the rows.
absl::Status RidgeProducts(const Matrix& features, const Vector& x, Vector& out,
                           RunContext& context) {
  std::vector<Vector> parts(
      static_cast<size_t>((features.rows() + kRidgeBlockRows - 1) / kRidgeBlockRows));
  MERCER_RETURN_IF_ERROR(
      ForRidgeRows(features.rows(), kRidgeBlockRows, context, [&](Index begin, Index count) {
        parts[static_cast<size_t>(begin / kRidgeBlockRows)].noalias() =
            features.middleRows(begin, count).transpose() * x.segment(begin, count);
      }));
  out.setZero(features.cols());
  for (const Vector& part : parts) {
    out += part;
  }
  return absl::OkStatus();
}

void SaveRidgePoint(const FeatureRidge::Point& point, ByteWriter& writer) {
  writer.WriteVector(point.weights);
  writer.WriteDouble(point.bias);
}

FeatureRidge::Point LoadRidgePoint(ByteReader& reader) {
  FeatureRidge::Point point;
  point.weights = reader.ReadVector();
  point.bias = reader.ReadDouble();
  return point;
}

bool Fits(const FeatureRidge::Point& point, Index columns) {
  return point.weights.size() == columns && point.weights.allFinite() && std::isfinite(point.bias);
}

}  // namespace

absl::Status FeatureRidge::Start(FeatureRidgeProblem problem, RunContext& context) {
  problem_ = std::move(problem);
  State state;
  state.point.weights = Vector::Zero(problem_.features->cols());
  const Vector scores = Vector::Zero(problem_.features->rows());
  state.point.bias = problem_.loss->ExactBias(problem_.targets, problem_.costs, scores).chosen;
  MERCER_RETURN_IF_ERROR(Evaluate(state, scores, context));
  state_ = std::move(state);
  return absl::OkStatus();
}

absl::Status FeatureRidge::Scores(const Point& point, Vector& scores, RunContext& context) const {
  return RidgeScores(*problem_.features, point.weights, scores, context);
}

// As a feasible dual, up to its scale.
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

// The bounds at the point of `state`; a dual that is no better leaves the one before.
absl::Status FeatureRidge::Evaluate(State& state, const Vector& scores, RunContext& context) const {
  state.primal =
      0.5 * state.point.weights.squaredNorm() +
      problem_.loss->TotalValue(problem_.targets, problem_.costs, scores, state.point.bias);
  Vector dual;
  Vector reduced;
  MERCER_RETURN_IF_ERROR(Slopes(state.point, dual, context));
  MERCER_RETURN_IF_ERROR(RidgeProducts(*problem_.features, dual, reduced, context));
  const DualRay ray = MaximizeOnDualRay(*problem_.loss, problem_.targets, problem_.costs, dual,
                                        reduced.squaredNorm());
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
  const double length = FindLength(direction, scores, change);
  State next = state_;
  next.point.weights += length * direction.weights;
  MERCER_RETURN_IF_ERROR(Scores(next.point, scores, context));
  next.point.bias = problem_.loss->ExactBias(problem_.targets, problem_.costs, scores).chosen;
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

// X'DX and X'D1, D >= 0.
absl::Status FeatureRidge::Curvature(const Vector& curvatures, Matrix& gram, Vector& sums,
                                     RunContext& context) const {
  const Matrix& features = *problem_.features;
  const Index chunks = (features.rows() + kChunkRows - 1) / kChunkRows;
  const Index chunks_per_part = (chunks + kGramParts - 1) / kGramParts;
  const Index part_rows = chunks_per_part * kChunkRows;
  const Vector roots = curvatures.cwiseSqrt();
  std::vector<Matrix> parts(static_cast<size_t>((features.rows() + part_rows - 1) / part_rows));
  MERCER_RETURN_IF_ERROR(
      ForRidgeRows(features.rows(), part_rows, context, [&](Index begin, Index count) {
        Matrix& part = parts[static_cast<size_t>(begin / part_rows)];
        part.setZero(features.cols(), features.cols());
        std::vector<Index> active;
        for (Index row = begin; row < begin + count && !context.cancelled(); ++row) {
          if (roots(row) > 0) {
            active.push_back(row);
          }
          if (static_cast<Index>(active.size()) == kChunkRows || row + 1 == begin + count) {
            const Matrix chunk = roots(active).asDiagonal() * features(active, Eigen::all);
            part.selfadjointView<Eigen::Lower>().rankUpdate(chunk.transpose());
            active.clear();
          }
        }
      }));
  gram.setZero(features.cols(), features.cols());
  for (const Matrix& part : parts) {
    gram += part;
  }
  return RidgeProducts(features, curvatures, sums, context);
}

// With s = 1'D1, m = X'D1, g = w + X'slopes and z = 1'slopes, where the bias is minimised out:
//   (I + X'DX - m m'/s) dw = -(g - m z / s),   db = -(z + m'dw) / s.
absl::Status FeatureRidge::FindDirection(const Vector& scores, Direction& direction,
                                         RunContext& context) const {
  Vector shifted = scores.array() + state_.point.bias;
  Vector slopes(scores.size());
  Vector curvatures(scores.size());
  problem_.loss->ValueAndSlopes(problem_.targets, problem_.costs, shifted, slopes);
  problem_.loss->Curvatures(problem_.targets, problem_.costs, shifted, curvatures);
  Vector gradient;
  MERCER_RETURN_IF_ERROR(RidgeProducts(*problem_.features, slopes, gradient, context));
  gradient += state_.point.weights;
  Matrix system;
  Vector sums;
  MERCER_RETURN_IF_ERROR(Curvature(curvatures, system, sums, context));
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

// The whole step, unless the objective rises again before its end: then where it is nearly flat.
double FeatureRidge::FindLength(const Direction& direction, const Vector& scores,
                                const Vector& change) const {
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
  for (int trial = 0; trial < kMostTrials; ++trial) {
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
  SaveRidgePoint(state_.point, writer);
  SaveRidgePoint(state_.dual_point, writer);
  for (const double value : {state_.primal, state_.dual_scale, state_.dual_value}) {
    writer.WriteDouble(value);
  }
  writer.WriteInt64(state_.iterations);
  writer.WriteInt64(state_.stalls);
}

bool FeatureRidge::Load(FeatureRidgeProblem problem, ByteReader& reader) {
  State state;
  state.point = LoadRidgePoint(reader);
  state.dual_point = LoadRidgePoint(reader);
  for (double* value : {&state.primal, &state.dual_scale, &state.dual_value}) {
    *value = reader.ReadDouble();
  }
  state.iterations = reader.ReadInt64();
  state.stalls = reader.ReadInt64();
  const Index columns = problem.features->cols();
  if (!reader.ok() || !Fits(state.point, columns) || !Fits(state.dual_point, columns) ||
      !IsStepCount(state.iterations) || !IsStepCount(state.stalls)) {
    return false;
  }
  problem_ = std::move(problem);
  state_ = std::move(state);
  return true;
}

size_t FeatureRidgeBytes(Index rows, Index columns) {
  constexpr Index kVectors = 10;
  const ByteCount n(rows);
  const ByteCount m(columns);
  return (ByteCount(sizeof(double)) * (n * ByteCount(kVectors) + ByteCount(kGramParts + 2) * m * m))
      .value();
}

}  // namespace mercer
