#include "core/solvers/group/admm_systems.h"

#include <algorithm>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr Index kMostExtensions = 50;  // then factors are formed anew: rounding errors add up
// A factor is not extended when a pivot is below this share of the diagonal entry: the new columns
// nearly depend on the old ones, and rounding would rule.
constexpr double kSmallestPivotShare = 1e-12;

// The lower triangle of M = xi gram + eta I.
Matrix SystemMatrix(const ConstMatrixRef& gram, const AdmmPenalties& penalties) {
  Matrix system = penalties.scores * gram;
  system.diagonal().array() += penalties.weights;
  return system;
}

}  // namespace

void AdmmSystems::AssignDesigns(const GroupProblem& problem) {
  const std::vector<std::vector<Index>> groups = problem.TasksByColumns();
  design_of_task_.assign(static_cast<size_t>(problem.num_tasks()), 0);
  for (size_t k = 0; k < groups.size(); ++k) {
    for (const Index t : groups[k]) {
      design_of_task_[static_cast<size_t>(t)] = k;
    }
  }
  designs_.assign(groups.size(), {});
}

absl::Status AdmmSystems::ExtendProducts(const GroupProblem& problem, const FeatureColumns& columns,
                                         Index known, Products& products, RunContext& context) {
  const Index d = problem.num_columns();
  const auto rows = static_cast<double>(columns.rows());
  if (known == 0) {
    const std::vector<Index> all = IndexRange(0, columns.rows());
    products.gram = Matrix::Zero(d, d);
    products.column_sums.resize(d);
    MERCER_RETURN_IF_ERROR(
        columns.AddGram(all, Vector::Ones(columns.rows()), 1, products.gram, context));
    MERCER_RETURN_IF_ERROR(
        columns.MultiplyTransposed(Vector::Ones(columns.rows()), products.column_sums, context));
    if (problem.bias) {
      products.gram.noalias() -= products.column_sums * (products.column_sums / rows).transpose();
    }
    return absl::OkStatus();
  }
  Matrix border(d, d - known);
  products.column_sums.conservativeResize(d);
  for (Index first = known; first < d; first += FeatureColumns::kColumnsAtOnce) {
    const Index count = std::min(FeatureColumns::kColumnsAtOnce, d - first);
    const Matrix appended = columns.Columns(first, first + count);
    MERCER_RETURN_IF_ERROR(
        columns.MultiplyTransposed(appended, border.middleCols(first - known, count), context));
    for (Index c = 0; c < count; ++c) {
      products.column_sums(first + c) = SumOfRows(appended.col(c));
    }
  }
  if (problem.bias) {
    border.noalias() -=
        products.column_sums * (products.column_sums.tail(d - known) / rows).transpose();
  }
  products.gram.conservativeResize(d, d);
  products.gram.rightCols(d - known).setZero();
  products.gram.bottomRows(d - known) = border.transpose();
  return absl::OkStatus();
}

absl::Status AdmmSystems::Extend(const GroupProblem& problem, Index known, RunContext& context) {
  if (known == 0) {
    AssignDesigns(problem);
    factored_ = false;
  }
  std::vector<Products> products(designs_.size());
  for (size_t k = 0; k < designs_.size(); ++k) {
    const auto task = std::find(design_of_task_.begin(), design_of_task_.end(), k);
    const auto& columns = *problem.task(task - design_of_task_.begin()).columns;
    if (known > 0) {
      products[k] = designs_[k].products;
    }
    MERCER_RETURN_IF_ERROR(ExtendProducts(problem, columns, known, products[k], context));
  }
  for (size_t k = 0; k < designs_.size(); ++k) {
    designs_[k].products = std::move(products[k]);
  }
  return absl::OkStatus();
}

double AdmmSystems::MeanSquare() const {
  double sum = 0;
  double count = 0;
  for (const Design& design : designs_) {
    sum += design.products.gram.diagonal().sum();
    count += static_cast<double>(design.products.gram.rows());
  }
  return sum > 0 ? sum / count : 1.0;
}

// Extends the factor by columns. With L L' = M of the old columns, the new rows of the factor are
// B L'^-1 for the new columns' entries B of M with the old ones, and the factor of what is left of
// their own block.
absl::StatusOr<bool> AdmmSystems::ExtendFactor(const Design& design, const AdmmPenalties& penalties,
                                               Matrix& factor, RunContext& context) {
  const Index old = design.factor.rows();
  const Matrix& gram = design.products.gram;
  const Index d = gram.rows();
  if (old == d) {
    factor = design.factor;
    return true;
  }
  Matrix border = penalties.scores * gram.bottomLeftCorner(d - old, old).transpose();
  design.factor.triangularView<Eigen::Lower>().solveInPlace(border);
  Matrix corner = SystemMatrix(gram.bottomRightCorner(d - old, d - old), penalties);
  const Vector whole = corner.diagonal();
  corner.noalias() -= border.transpose() * border;
  if ((corner.diagonal().array() <= kSmallestPivotShare * whole.array()).any()) {
    return false;
  }
  const absl::Status factored = FactorCholesky(corner, context);
  if (!factored.ok()) {
    return absl::IsCancelled(factored) ? absl::StatusOr<bool>(factored) : false;
  }
  factor = Matrix::Zero(d, d);
  factor.topLeftCorner(old, old) = design.factor;
  factor.bottomLeftCorner(d - old, old) = border.transpose();
  factor.bottomRightCorner(d - old, d - old) = corner;
  return true;
}

// The factor of the shared weights' own system, with the tasks' weights minimised out: eta I plus
// the sum over tasks of A - A M^-1 A = eta I - eta^2 M^-1.
absl::StatusOr<Matrix> AdmmSystems::SharedFactor(const GroupProblem& problem,
                                                 const AdmmPenalties& penalties,
                                                 const std::vector<Matrix>& factors,
                                                 RunContext& context) const {
  if (!problem.has_shared()) {
    return Matrix();
  }
  const Index d = problem.num_columns();
  const double eta = penalties.weights;
  std::vector<double> tasks(designs_.size(), 0.0);
  for (const size_t k : design_of_task_) {
    tasks[k] += 1;
  }
  Matrix system = eta * Matrix::Identity(d, d);
  for (size_t k = 0; k < designs_.size(); ++k) {
    if (!problem.has_specific()) {
      system += tasks[k] * penalties.scores * designs_[k].products.gram;
      continue;
    }
    Matrix inverse = Matrix::Identity(d, d);
    MERCER_RETURN_IF_ERROR(SolveCholesky(factors[k], inverse, context));
    system -= tasks[k] * eta * eta * inverse;
    system.diagonal().array() += tasks[k] * eta;
  }
  MERCER_RETURN_IF_ERROR(FactorCholesky(system, context));
  return system;
}

absl::Status AdmmSystems::Factor(const GroupProblem& problem, const AdmmPenalties& penalties,
                                 RunContext& context) {
  const bool same = factored_ && penalties == penalties_;
  if (same && designs_.front().factor.rows() == problem.num_columns()) {
    return absl::OkStatus();
  }
  const bool extend = same && appended_ < kMostExtensions;
  // The new factors are kept apart from those that there are, so that cancellation changes nothing.
  std::vector<Matrix> factors(designs_.size());
  for (size_t k = 0; k < designs_.size(); ++k) {
    bool extended = false;
    if (extend) {
      MERCER_ASSIGN_OR_RETURN(extended, ExtendFactor(designs_[k], penalties, factors[k], context));
    }
    if (!extended) {
      factors[k] = SystemMatrix(designs_[k].products.gram, penalties);
      MERCER_RETURN_IF_ERROR(FactorCholesky(factors[k], context));
    }
  }
  MERCER_ASSIGN_OR_RETURN(shared_factor_, SharedFactor(problem, penalties, factors, context));
  for (size_t k = 0; k < designs_.size(); ++k) {
    designs_[k].factor = std::move(factors[k]);
  }
  penalties_ = penalties;
  appended_ = extend ? appended_ + 1 : 0;
  factored_ = true;
  return absl::OkStatus();
}

absl::StatusOr<GroupPoint> AdmmSystems::Solve(const GroupProblem& problem, const Matrix& products,
                                              const Vector& sums, const GroupPoint& pull,
                                              RunContext& context) const {
  const Index tasks = problem.num_tasks();
  GroupPoint solution = GroupPoint::Zero(problem.num_columns(), tasks);
  Matrix right = products;
  for (Index t = 0; problem.bias && t < tasks; ++t) {
    const auto rows = static_cast<double>(problem.task(t).targets.size());
    right.col(t) -= DesignOf(t).products.column_sums * (sums(t) / rows);
  }
  // M^-1 times the tasks' right-hand sides.
  Matrix solved = right + pull.specific;
  for (Index t = 0; problem.has_specific() && t < tasks; ++t) {
    MERCER_RETURN_IF_ERROR(SolveCholesky(DesignOf(t).factor, solved.col(t), context));
  }
  if (problem.has_shared()) {
    solution.shared = right.rowwise().sum() + pull.shared;
    for (Index t = 0; problem.has_specific() && t < tasks; ++t) {
      solution.shared -= right.col(t) + pull.specific.col(t) - penalties_.weights * solved.col(t);
    }
    MERCER_RETURN_IF_ERROR(SolveCholesky(shared_factor_, solution.shared, context));
  }
  for (Index t = 0; t < tasks; ++t) {
    if (problem.has_specific()) {
      // The tasks' weights follow from the shared ones: w_t = M^-1 (p_t - A w), where
      // M^-1 A = I - eta M^-1.
      Vector back = solution.shared;
      MERCER_RETURN_IF_ERROR(SolveCholesky(DesignOf(t).factor, back, context));
      solution.specific.col(t) = solved.col(t) - solution.shared + penalties_.weights * back;
    }
    if (problem.bias) {
      const auto rows = static_cast<double>(problem.task(t).targets.size());
      const Vector weights = solution.specific.col(t) + solution.shared;
      solution.bias(t) =
          (sums(t) / penalties_.scores - DesignOf(t).products.column_sums.dot(weights)) / rows;
    }
  }
  return solution;
}

}  // namespace mercer
