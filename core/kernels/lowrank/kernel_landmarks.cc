#include "core/kernels/lowrank/kernel_landmarks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/incomplete_cholesky.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr double kRidge = 1e-3;  // lambda
constexpr double kPivotTolerance = 1e-12;
constexpr Index kScoredNumbers = Index{1} << 21;  // of the kernel, in memory at a time
constexpr Index kLeastScoredRows = 256;

Index ScoredRows(Index count) {
  return std::max(kLeastScoredRows, kScoredNumbers / std::max<Index>(count, 1));
}

// A draw of rows with chances that grow with their scores: those of the smallest arrival times
// -log(u) / score, u uniform; all others are later than `threshold`. Given it, row i is drawn with
// the probability 1 - exp(-score(i) threshold). Efraimidis, Spirakis: Weighted random sampling with
// a reservoir. Information Processing Letters 97 (2006).
LeverageSketch DrawByScores(const Vector& scores, Index count, uint64_t seed,
                            std::string_view purpose) {
  RandomStream random(seed, purpose);
  const auto least = [&](Index i) { return std::max(scores(i), 1e-300); };
  Vector times(scores.size());
  for (Index i = 0; i < scores.size(); ++i) {
    times(i) = -std::log(random.Uniform()) / least(i);
  }
  LeverageSketch sketch;
  sketch.rows = IndexRange(0, scores.size());
  const bool all = count >= scores.size();
  if (!all) {
    std::nth_element(
        sketch.rows.begin(), sketch.rows.begin() + count, sketch.rows.end(),
        [&](Index a, Index b) { return times(a) < times(b) || (times(a) == times(b) && a < b); });
  }
  const double threshold = all ? std::numeric_limits<double>::infinity()
                               : times(sketch.rows[static_cast<size_t>(count)]);
  sketch.rows.resize(static_cast<size_t>(std::min(count, scores.size())));
  std::sort(sketch.rows.begin(), sketch.rows.end());
  sketch.probabilities.resize(static_cast<Index>(sketch.rows.size()));
  for (Index j = 0; j < sketch.probabilities.size(); ++j) {
    sketch.probabilities(j) = -std::expm1(-least(sketch.rows[static_cast<size_t>(j)]) * threshold);
  }
  return sketch;
}

// Adds pivots, each time the first of the rows of which most is left. NOT_PSD where the factor says
// so; kCancelled.
absl::Status AppendPivots(Index count, double threshold, IncompleteCholesky& factor,
                          RunContext& context) {
  const Index most = std::min(count, factor.rows());
  double least = 0;
  while (factor.rank() < most) {
    context.ReportStage("landmarks",
                        static_cast<double>(factor.rank()) / static_cast<double>(most));
    const Vector& rest = factor.diagonal();
    const double* pivot = std::max_element(rest.data(), rest.data() + rest.size());
    if (factor.rank() == 0) {
      least = threshold * *pivot;
    }
    if (!(*pivot > least)) {
      break;
    }
    MERCER_RETURN_IF_ERROR(factor.Append(pivot - rest.data(), context));
  }
  return absl::OkStatus();
}

// T^-T for the lower triangular rows T that the pivots have in the factor.
absl::StatusOr<Matrix> MapOf(const IncompleteCholesky& factor, RunContext& context) {
  const Index rank = factor.rank();
  Matrix triangle(rank, rank);
  for (Index j = 0; j < rank; ++j) {
    triangle.row(j) = factor.factor().row(factor.pivots()[static_cast<size_t>(j)]);
  }
  Matrix map = Matrix::Identity(rank, rank);
  MERCER_RETURN_IF_ERROR(SubstituteRows(triangle, map, context));
  return map;
}

}  // namespace

absl::StatusOr<Vector> LeverageScores(const MeanKernel& kernel, const LeverageSketch& sketch,
                                      RunContext& context) {
  const Index n = kernel.size();
  const auto count = static_cast<Index>(sketch.rows.size());
  Matrix factor(count, count);
  MERCER_RETURN_IF_ERROR(kernel.Square(sketch.rows, factor, context));
  factor.diagonal() += kRidge * static_cast<double>(n) * sketch.probabilities;
  const absl::Status factored = FactorCholesky(factor, context);
  if (absl::IsInvalidArgument(factored)) {
    return Vector(Vector::Ones(n));
  }
  MERCER_RETURN_IF_ERROR(factored);
  Vector scores(n);
  const Index most = ScoredRows(count);
  Matrix values(std::min(most, n), count);
  for (Index begin = 0; begin < n; begin += most) {
    context.ReportStage("landmarks", static_cast<double>(begin) / static_cast<double>(n));
    const Index rows = std::min(most, n - begin);
    auto block = values.topRows(rows);
    MERCER_RETURN_IF_ERROR(kernel.Values(sketch.rows, begin, begin + rows, block, context));
    MERCER_RETURN_IF_ERROR(SubstituteRows(factor, block, context));
    scores.segment(begin, rows) =
        kernel.diagonal().segment(begin, rows) - block.cwiseAbs2().rowwise().sum();
  }
  return scores;
}

absl::StatusOr<std::vector<Index>> DrawByLeverage(const PreparedData& inputs,
                                                  const std::vector<KernelSpec>& kernels,
                                                  Index count, uint64_t seed, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const MeanKernel kernel, MeanKernel::Make(inputs, kernels, context));
  LeverageSketch sketch{DrawRows(kernel.size(), count, seed, "leverage-pilot"), {}};
  sketch.probabilities =
      Vector::Constant(static_cast<Index>(sketch.rows.size()),
                       static_cast<double>(sketch.rows.size()) /
                           static_cast<double>(std::max<Index>(kernel.size(), 1)));
  for (const std::string_view purpose : {"leverage-sketch", "leverage"}) {
    MERCER_ASSIGN_OR_RETURN(const Vector scores, LeverageScores(kernel, sketch, context));
    sketch = DrawByScores(scores, count, seed, purpose);
  }
  return std::move(sketch.rows);
}

absl::StatusOr<std::vector<Index>> PickPivots(const PreparedData& inputs,
                                              const std::vector<KernelSpec>& kernels, Index count,
                                              RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const MeanKernel kernel, MeanKernel::Make(inputs, kernels, context));
  IncompleteCholesky factor(kernel, std::min(count, kernel.size()));
  const absl::Status appended = AppendPivots(count, kPivotTolerance, factor, context);
  // Of kernels that are not positive semidefinite, those so far go on, and what is wrong is said of
  // each kernel by its own factor.
  if (!appended.ok() && !absl::IsInvalidArgument(appended)) {
    return appended;
  }
  std::vector<Index> rows = factor.pivots();
  // Kernels that are zero leave nothing to choose by.
  if (rows.empty()) {
    rows.push_back(0);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

absl::StatusOr<PivotedFactor> FactorByPivots(const PreparedData& inputs,
                                             const std::vector<KernelSpec>& kernels, size_t kernel,
                                             Index count, double threshold, RunContext& context) {
  const KernelSpec& spec = kernels[kernel];
  MERCER_ASSIGN_OR_RETURN(const MeanKernel mean, MeanKernel::Make(inputs, {spec}, context));
  if (!std::isfinite(mean.mean_diagonals()(0))) {
    return NameKernel(
        kernel, spec,
        WithReason(absl::InvalidArgumentError("the kernel of a row with itself is not finite"),
                   "NOT_PSD"));
  }
  IncompleteCholesky factor(mean, std::min(count, mean.size()));
  const absl::Status appended = AppendPivots(count, threshold, factor, context);
  if (!appended.ok()) {
    return NameKernel(kernel, spec, appended);
  }
  MERCER_ASSIGN_OR_RETURN(Matrix map, MapOf(factor, context));
  // T is that of the kernel times its weight.
  map *= std::sqrt(mean.weights()(0));
  if (factor.rank() == 0) {
    return PivotedFactor{{0}, Matrix(1, 0)};
  }
  return PivotedFactor{factor.pivots(), std::move(map)};
}

size_t LeverageBytes(Index rows, Index count, Index unit_diagonals) {
  const ByteCount n(rows);
  const ByteCount pilot(std::min(count, rows));
  const ByteCount scored(std::min(rows, ScoredRows(count)));
  return (ByteCount(sizeof(double)) *
          (ByteCount(unit_diagonals + 8) * n + pilot * pilot + scored * pilot))
      .value();
}

size_t PivotBytes(Index rows, Index count, Index unit_diagonals) {
  const ByteCount n(rows);
  const ByteCount most(std::min(count, rows));
  return (ByteCount(sizeof(double)) *
          (n * (ByteCount(unit_diagonals + 8) + most) + ByteCount(3) * most * most))
      .value();
}

}  // namespace mercer
