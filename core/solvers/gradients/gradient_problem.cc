#include "core/solvers/gradients/gradient_problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_sums.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

constexpr Index kMostPassColumns = 256;
constexpr double kPassWork = 2e8;  // operations of a block of columns: some milliseconds

// Depends on the shape only.
Index PassColumns(const GradientProblem& problem) {
  const auto rows = static_cast<double>(problem.num_rows());
  const double columns = kPassWork / (2 * rows * rows + 4 * double(problem.num_pairs()));
  return std::clamp(static_cast<Index>(columns), Index{4}, kMostPassColumns);
}

// S_l and, of columns that have a weight, their parts of t_p. Ends early when it is cancelled.
void PassOverColumns(const GradientProblem& problem, Index begin, Index end, GradientPoint& point,
                     Vector& predictions, const RunContext& context) {
  Matrix moments(problem.num_rows(), end - begin);
  for (Index l = begin; l < end && !context.cancelled(); ++l) {
    AnchorMoments(problem.pairs, point.dual, problem.rows.col(l), moments.col(l - begin));
  }
  Matrix values = ProductOfBlock(problem.gram, moments);
  predictions = Vector::Zero(problem.num_pairs());
  for (Index l = begin; l < end && !context.cancelled(); ++l) {
    point.energies(l) = std::max(0.0, 0.5 * moments.col(l - begin).dot(values.col(l - begin)));
    if (point.weights(l) > 0) {
      values.col(l - begin) *= point.weights(l);
      AddPairValues(problem.pairs, problem.rows.col(l), values.col(l - begin), predictions);
    }
  }
}

}  // namespace

absl::Status CheckGradientData(const Loss& loss, double cost, const ConstMatrixRef& rows,
                               const ConstVectorRef& targets) {
  FieldViolations violations;
  violations.Check(cost > 0 && std::isfinite(cost), "C",
                   absl::StrCat("must be > 0 and finite, is ", cost));
  violations.Check(rows.rows() >= 2 && rows.cols() >= 1, "X", "must have 2 rows and a column");
  violations.Check(rows.allFinite(), "X", "must be finite");
  violations.Check(
      targets.size() == rows.rows(), "y",
      absl::StrCat("must have a number for each of ", rows.rows(), " rows, has ", targets.size()));
  violations.Check(targets.allFinite(), "y", "must be finite");
  violations.Check(!loss.is_margin_loss() || (targets.array().abs() == 1).all(), "y",
                   "must be -1 or +1");
  return violations.ToStatus();
}

absl::StatusOr<GradientProblem> MakeGradientProblem(std::shared_ptr<const Loss> loss, double cost,
                                                    Matrix rows, const Vector& targets,
                                                    GradientPairs pairs, Matrix gram) {
  MERCER_RETURN_IF_ERROR(CheckGradientData(*loss, cost, rows, targets));
  if (loss->kind() != LossKind::kSquare && loss->kind() != LossKind::kHinge &&
      loss->kind() != LossKind::kSquaredHinge) {
    return absl::InvalidArgumentError("the loss must be square, hinge or squared_hinge");
  }
  const Index count = rows.rows();
  const auto fits = [count](Index i) { return i >= 0 && i < count; };
  if (gram.rows() != count || gram.cols() != count || !gram.allFinite() || pairs.size() == 0 ||
      static_cast<Index>(pairs.targets.size()) != pairs.size() ||
      static_cast<Index>(pairs.anchors.size()) != pairs.size() ||
      !std::all_of(pairs.targets.begin(), pairs.targets.end(), fits) ||
      !std::all_of(pairs.anchors.begin(), pairs.anchors.end(), fits) ||
      !(pairs.weights.array() > 0).all() || !pairs.weights.allFinite()) {
    return absl::InvalidArgumentError("pairs and the kernel matrix must be those of the rows");
  }
  GradientProblem problem;
  problem.loss = std::move(loss);
  problem.means = rows.colwise().mean();
  rows.rowwise() -= problem.means.transpose();
  problem.rows = std::move(rows);
  problem.pair_targets = targets(pairs.targets);
  problem.pair_costs = cost * pairs.weights;
  problem.pairs = std::move(pairs);
  problem.gram = std::move(gram);
  return problem;
}

Vector AnchorSums(const GradientPairs& pairs, const ConstVectorRef& dual) {
  Index anchors = 0;
  for (const Index j : pairs.anchors) {
    anchors = std::max(anchors, j + 1);
  }
  Vector sums = Vector::Zero(anchors);
  for (size_t p = 0; p < pairs.anchors.size(); ++p) {
    sums(pairs.anchors[p]) += dual(static_cast<Index>(p));
  }
  return sums;
}

void AnchorMoments(const GradientPairs& pairs, const ConstVectorRef& dual,
                   const ConstVectorRef& column, VectorRef out) {
  out.setZero();
  const double* x = column.data();
  double* sums = out.data();
  for (size_t p = 0; p < pairs.anchors.size(); ++p) {
    const Index j = pairs.anchors[p];
    sums[j] += dual.data()[p] * (x[pairs.targets[p]] - x[j]);
  }
}

void AddPairValues(const GradientPairs& pairs, const ConstVectorRef& column,
                   const ConstVectorRef& values, VectorRef out) {
  const double* x = column.data();
  for (size_t p = 0; p < pairs.anchors.size(); ++p) {
    const Index j = pairs.anchors[p];
    out.data()[p] += (x[pairs.targets[p]] - x[j]) * values.data()[j];
  }
}

double RelativeGradientGap(double upper, double lower) {
  return (upper - lower) / std::max(std::abs(upper), 1e-300);
}

absl::StatusOr<GradientPoint> EvaluateGradients(const GradientProblem& problem,
                                                CoordinateWeights kind, Vector weights, Vector dual,
                                                RunContext& context) {
  GradientPoint point;
  point.dual = std::move(dual);
  point.weights = std::move(weights);
  point.energies = Vector::Zero(problem.num_columns());
  problem.loss->RepairDual(problem.pair_targets, problem.pair_costs, /*balanced=*/false,
                           point.dual);
  const Index block = PassColumns(problem);
  std::vector<Vector> parts(static_cast<size_t>((problem.num_columns() + block - 1) / block));
  context.parallel().ForBlocks(problem.num_columns(), block, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      PassOverColumns(problem, begin, end, point, parts[static_cast<size_t>(begin / block)],
                      context);
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  Vector sums = Vector::Zero(problem.num_rows());
  const Vector anchor_sums = AnchorSums(problem.pairs, point.dual);
  sums.head(anchor_sums.size()) = anchor_sums;
  const Vector base = problem.gram * sums;
  point.base_norm = std::max(0.0, sums.dot(base));
  point.predictions = base(problem.pairs.anchors);
  for (const Vector& part : parts) {
    point.predictions += part;
  }
  const double risk = problem.loss->TotalValue(problem.pair_targets, problem.pair_costs,
                                               point.predictions, /*bias=*/0);
  point.linear = problem.loss->DualValue(problem.pair_targets, problem.pair_costs, point.dual);
  const double half_base = 0.5 * point.base_norm;
  if (kind == CoordinateWeights::kFixed) {
    const double half_norm = half_base + point.weights.dot(point.energies);
    point.upper = risk + half_norm;
    point.lower = point.linear - half_norm;
  } else {
    const double norms = point.Norms().sum();
    point.upper = risk + half_base + 0.5 * norms * norms;
    point.lower = point.linear - half_base - point.energies.maxCoeff();
  }
  return point;
}

}  // namespace mercer
