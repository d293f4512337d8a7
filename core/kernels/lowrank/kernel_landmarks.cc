#include "core/kernels/lowrank/kernel_landmarks.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr Index kLeastPool = 5000;
constexpr Index kDiagonalRows = 64;
constexpr double kRidge = 1e-3;  // lambda
constexpr double kPivotTolerance = 1e-12;

// The kernel sum_k weights(k) k_k over the rows of a pool.
class MeanKernel {
 public:
  static absl::StatusOr<MeanKernel> Make(PreparedData pool, const std::vector<KernelSpec>& kernels,
                                         RunContext& context) {
    MeanKernel mean(std::move(pool), kernels);
    MERCER_RETURN_IF_ERROR(mean.SetWeights(context));
    return mean;
  }

  Index rows() const { return pool_.rows; }

  // The columns of the rows `columns`: rows() x their number.
  absl::StatusOr<Matrix> Columns(const std::vector<Index>& columns, RunContext& context) const {
    MERCER_ASSIGN_OR_RETURN(const CrossKernels cross, Against(columns, context));
    Matrix values(pool_.rows, static_cast<Index>(columns.size()));
    MERCER_RETURN_IF_ERROR(cross.Combine(pool_, weights_, values, context));
    return values;
  }

  // The value of each row with itself.
  absl::StatusOr<Vector> Diagonal(RunContext& context) const {
    Vector diagonal(pool_.rows);
    for (Index begin = 0; begin < pool_.rows; begin += kDiagonalRows) {
      const std::vector<Index> block =
          IndexRange(begin, std::min(begin + kDiagonalRows, pool_.rows));
      MERCER_ASSIGN_OR_RETURN(const CrossKernels cross, Against(block, context));
      Matrix values(static_cast<Index>(block.size()), static_cast<Index>(block.size()));
      MERCER_RETURN_IF_ERROR(cross.Combine(SelectRows(pool_, block), weights_, values, context));
      diagonal.segment(begin, values.rows()) = values.diagonal();
    }
    return diagonal;
  }

 private:
  MeanKernel(PreparedData pool, const std::vector<KernelSpec>& kernels)
      : pool_(std::move(pool)), kernels_(kernels) {}

  absl::StatusOr<CrossKernels> Against(const std::vector<Index>& rows,
                                       const RunContext& context) const {
    return CrossKernels::Make(std::make_shared<PreparedData>(SelectRows(pool_, rows)), kernels_,
                              rows, context);
  }

  // Sets the weight of each kernel to one over its mean value of a row with itself, over all rows,
  // since a few may be zero; to 0 for kernels that are zero.
  absl::Status SetWeights(RunContext& context) {
    Vector sums = Vector::Zero(static_cast<Index>(kernels_.size()));
    for (Index begin = 0; begin < pool_.rows; begin += kDiagonalRows) {
      MERCER_RETURN_IF_ERROR(AddDiagonals(
          IndexRange(begin, std::min(begin + kDiagonalRows, pool_.rows)), sums, context));
    }
    const auto rows = static_cast<double>(pool_.rows);
    const auto kernels = static_cast<double>(kernels_.size());
    weights_ = sums.unaryExpr([rows, kernels](double sum) {
      const double weight = rows / sum / kernels;
      return sum > 0 && std::isfinite(weight) ? weight : 0.0;
    });
    return context.CheckCancelled();
  }

  // Adds to sums(k) kernel k's values of the rows with themselves.
  absl::Status AddDiagonals(const std::vector<Index>& rows, Vector& sums,
                            RunContext& context) const {
    const auto count = static_cast<Index>(rows.size());
    MERCER_ASSIGN_OR_RETURN(const CrossKernels cross, Against(rows, context));
    const PreparedData selected = SelectRows(pool_, rows);
    MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, cross.Bind(selected, context));
    std::vector<double> values(static_cast<size_t>(sums.size() * count * bound.stride()));
    bound.Values(0, count, values.data(), context);
    for (Index k = 0; k < sums.size(); ++k) {
      for (Index i = 0; i < count; ++i) {
        sums(k) += values[static_cast<size_t>((k * count + i) * bound.stride() + i)];
      }
    }
    return context.CheckCancelled();
  }

  const PreparedData pool_;
  const std::vector<KernelSpec>& kernels_;
  Vector weights_;
};

// The scores times n lambda: k_ii - c_i'(W + lambda N)^-1 c_i, c_i being the values at the N rows
// of the pilot and W those among them.
absl::StatusOr<Vector> LeverageScores(const MeanKernel& kernel, const std::vector<Index>& pilot,
                                      RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Matrix columns, kernel.Columns(pilot, context));
  const auto count = static_cast<Index>(pilot.size());
  Matrix system(count, count);
  for (Index i = 0; i < count; ++i) {
    system.row(i) = columns.row(pilot[static_cast<size_t>(i)]);
  }
  system.diagonal().array() += kRidge * static_cast<double>(count);
  const absl::Status factored = FactorCholesky(system, context);
  if (absl::IsInvalidArgument(factored)) {
    // The mean kernel is not positive definite: uniform scores go on, and what is wrong is said of
    // each kernel by its own factor.
    return Vector(Vector::Ones(kernel.rows()));
  }
  MERCER_RETURN_IF_ERROR(factored);
  context.ReportStage("landmarks", 0.5);
  Matrix solved = columns.transpose();
  MERCER_RETURN_IF_ERROR(SolveCholesky(system, solved, context));
  MERCER_ASSIGN_OR_RETURN(const Vector diagonal, kernel.Diagonal(context));
  return Vector(diagonal - columns.cwiseProduct(solved.transpose()).rowwise().sum());
}

// Draws `count` numbers below scores.size(), without replacement, a larger score being likelier:
// those of the largest log(u) / score, u uniform. Efraimidis, Spirakis: Weighted random sampling
// with a reservoir. Information Processing Letters 97 (2006).
std::vector<Index> DrawByScores(const Vector& scores, Index count, uint64_t seed) {
  RandomStream random(seed, "leverage");
  Vector keys(scores.size());
  for (Index i = 0; i < scores.size(); ++i) {
    keys(i) = std::log(random.Uniform()) / std::max(scores(i), 1e-300);
  }
  std::vector<Index> order = IndexRange(0, scores.size());
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return keys(a) > keys(b); });
  order.resize(static_cast<size_t>(std::min(count, scores.size())));
  return order;
}

std::vector<Index> OfPool(const std::vector<Index>& pool, const std::vector<Index>& chosen) {
  std::vector<Index> rows;
  for (const Index i : chosen) {
    rows.push_back(pool[static_cast<size_t>(i)]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

Index LandmarkPoolRows(Index rows, Index count) {
  return std::min(rows, std::max(kLeastPool, 2 * count));
}

size_t KernelLandmarkBytes(Index rows, Index count) {
  const ByteCount pilot(std::min(count, rows));
  const ByteCount pool(LandmarkPoolRows(rows, count));
  return (ByteCount(sizeof(double)) * (ByteCount(3) * pool * pilot + pilot * pilot)).value();
}

absl::StatusOr<std::vector<Index>> DrawByLeverage(const PreparedData& inputs,
                                                  const std::vector<KernelSpec>& kernels,
                                                  Index count, uint64_t seed, RunContext& context) {
  const std::vector<Index> pool =
      DrawRows(inputs.rows, LandmarkPoolRows(inputs.rows, count), seed, "landmark-pool");
  MERCER_ASSIGN_OR_RETURN(const MeanKernel kernel,
                          MeanKernel::Make(SelectRows(inputs, pool, pool), kernels, context));
  const std::vector<Index> pilot = DrawRows(kernel.rows(), count, seed, "leverage-pilot");
  context.ReportStage("landmarks", 0.0);
  MERCER_ASSIGN_OR_RETURN(const Vector scores, LeverageScores(kernel, pilot, context));
  return OfPool(pool, DrawByScores(scores, count, seed));
}

absl::StatusOr<std::vector<Index>> PickPivots(const PreparedData& inputs,
                                              const std::vector<KernelSpec>& kernels, Index count,
                                              uint64_t seed, RunContext& context) {
  const std::vector<Index> pool =
      DrawRows(inputs.rows, LandmarkPoolRows(inputs.rows, count), seed, "landmark-pool");
  MERCER_ASSIGN_OR_RETURN(const MeanKernel kernel,
                          MeanKernel::Make(SelectRows(inputs, pool, pool), kernels, context));
  MERCER_ASSIGN_OR_RETURN(Vector rest, kernel.Diagonal(context));
  const double least = kPivotTolerance * rest.maxCoeff();
  const Index most = std::min(count, kernel.rows());
  Matrix factor(kernel.rows(), most);
  std::vector<Index> pivots;
  for (Index r = 0; r < most; ++r) {
    context.ReportStage("landmarks", static_cast<double>(r) / static_cast<double>(most));
    Index pivot = 0;
    const double largest = rest.maxCoeff(&pivot);
    if (!(largest > least)) {
      break;
    }
    MERCER_ASSIGN_OR_RETURN(const Matrix column, kernel.Columns({pivot}, context));
    factor.col(r) = (column.col(0) - factor.leftCols(r) * factor.row(pivot).head(r).transpose()) /
                    std::sqrt(largest);
    rest = (rest - factor.col(r).cwiseAbs2()).cwiseMax(0.0);
    rest(pivot) = 0;
    pivots.push_back(pivot);
  }
  // Kernels that are zero leave nothing to choose by.
  if (pivots.empty()) {
    pivots.push_back(0);
  }
  return OfPool(pool, pivots);
}

}  // namespace mercer
