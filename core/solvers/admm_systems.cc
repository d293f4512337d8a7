#include "core/solvers/admm_systems.h"

#include <algorithm>
#include <utility>

#include "core/base/index_range.h"
#include "core/base/status_macros.h"
#include "core/kernels/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr Index kMostExtensions = 50;  // then factors are formed anew: rounding errors add up
constexpr double kSmallestPivotShare =
    1e-12;  // of a diagonal entry, below which a factor is not extended

// M = xi gram + eta I: the lower triangle.
Matrix SystemMatrix(const Matrix& gram, const AdmmPenalties& penalties) {
  Matrix system = penalties.scores * gram;
  system.diagonal().array() += penalties.weights;
  return system;
}

}  // namespace

void AdmmSystems::AssignDesigns(const MasterProblem& problem) {
  const std::vector<std::vector<Index>> groups = problem.TasksByColumns();
  design_of_task_.assign(static_cast<size_t>(problem.num_tasks()), 0);
  for (size_t k = 0; k < groups.size(); ++k) {
    for (const Index t : groups[k]) {
      design_of_task_[static_cast<size_t>(t)] = k;
    }
  }
  designs_.assign(groups.size(), {});
}

absl::Status AdmmSystems::ExtendGram(const MasterProblem& problem, const FeatureColumns& columns,
                                     Index known, Design& design, RunContext& context) const {
  const Index d = problem.num_columns();
  const auto rows = static_cast<double>(columns.rows());
  if (known == 0) {
    const std::vector<Index> all = IndexRange(0, columns.rows());
    design.gram = Matrix::Zero(d, d);
    design.column_sums.resize(d);
    MERCER_RETURN_IF_ERROR(
        columns.AddGram(all, Vector::Ones(columns.rows()), 1, design.gram, context));
    MERCER_RETURN_IF_ERROR(
        columns.MultiplyTransposed(Vector::Ones(columns.rows()), design.column_sums, context));
    if (problem.bias) {
      design.gram.noalias() -= design.column_sums * (design.column_sums / rows).transpose();
    }
    return absl::OkStatus();
  }
  const Matrix appended = columns.Columns(known, d);
  Matrix products(d, d - known);
  MERCER_RETURN_IF_ERROR(columns.MultiplyTransposed(appended, products, context));
  design.column_sums.conservativeResize(d);
  design.column_sums.tail(d - known) = appended.colwise().sum().transpose();
  if (problem.bias) {
    products.noalias() -=
        design.column_sums * (design.column_sums.tail(d - known) / rows).transpose();
  }
  design.gram.conservativeResize(d, d);
  design.gram.rightCols(d - known).setZero();
  design.gram.bottomRows(d - known) = products.transpose();
  return absl::OkStatus();
}

absl::Status AdmmSystems::Extend(const MasterProblem& problem, Index known, RunContext& context) {
  if (known == 0) {
    AssignDesigns(problem);
    factored_ = false;
  }
  std::vector<Design> designs = designs_;
  for (size_t k = 0; k < designs.size(); ++k) {
    const auto task = std::find(design_of_task_.begin(), design_of_task_.end(), k);
    const auto& columns = *problem.task(task - design_of_task_.begin()).columns;
    MERCER_RETURN_IF_ERROR(ExtendGram(problem, columns, known, designs[k], context));
  }
  designs_ = std::move(designs);
  return absl::OkStatus();
}

double AdmmSystems::MeanSquare() const {
  double sum = 0;
  double count = 0;
  for (const Design& design : designs_) {
    sum += design.gram.diagonal().sum();
    count += static_cast<double>(design.gram.rows());
  }
  return sum > 0 ? sum / count : 1.0;
}

absl::Status AdmmSystems::FactorDesign(Design& design, RunContext& context) const {
  design.factor = SystemMatrix(design.gram, penalties_);
  return FactorCholesky(design.factor, context);
}

// With L L' = M of the old columns: the new rows are B L'^-1 for their products B with the old ones, and the factor of what is left.
absl::StatusOr<bool> AdmmSystems::ExtendFactor(Design& design, RunContext& context) const {
  const Index old = design.factor.rows();
  const Index d = design.gram.rows();
  if (old == d) {
    return true;
  }
  const Matrix system = SystemMatrix(design.gram, penalties_);
  Matrix border = system.bottomLeftCorner(d - old, old).transpose();
  design.factor.topLeftCorner(old, old).triangularView<Eigen::Lower>().solveInPlace(border);
  Matrix corner = system.bottomRightCorner(d - old, d - old);
  const Vector whole = corner.diagonal();
  corner.noalias() -= border.transpose() * border;
  if ((corner.diagonal().array() <= kSmallestPivotShare * whole.array()).any()) {
    return false;
  }
  const absl::Status factored = FactorCholesky(corner, context);
  if (!factored.ok()) {
    return absl::IsCancelled(factored) ? absl::StatusOr<bool>(factored) : false;
  }
  Matrix factor = Matrix::Zero(d, d);
  factor.topLeftCorner(old, old) = design.factor;
  factor.bottomLeftCorner(d - old, old) = border.transpose();
  factor.bottomRightCorner(d - old, d - old) = corner;
  design.factor = std::move(factor);
  return true;
}

// The shared weights' own system, with the tasks' weights minimised out: A - A M^-1 A = eta I - eta^2 M^-1.
absl::Status AdmmSystems::FactorShared(const MasterProblem& problem, RunContext& context) {
  shared_factor_.resize(0, 0);
  if (!problem.has_shared()) {
    return absl::OkStatus();
  }
  const Index d = problem.num_columns();
  const double eta = penalties_.weights;
  std::vector<double> tasks(designs_.size(), 0.0);
  for (const size_t k : design_of_task_) {
    tasks[k] += 1;
  }
  Matrix system = eta * Matrix::Identity(d, d);
  for (size_t k = 0; k < designs_.size(); ++k) {
    if (!problem.has_specific()) {
      system += tasks[k] * penalties_.scores * designs_[k].gram;
      continue;
    }
    Matrix inverse = Matrix::Identity(d, d);
    MERCER_RETURN_IF_ERROR(SolveCholesky(designs_[k].factor, inverse, context));
    system -= tasks[k] * eta * eta * inverse;
    system.diagonal().array() += tasks[k] * eta;
  }
  MERCER_RETURN_IF_ERROR(FactorCholesky(system, context));
  shared_factor_ = std::move(system);
  return absl::OkStatus();
}

absl::Status AdmmSystems::Factor(const MasterProblem& problem, const AdmmPenalties& penalties,
                                 RunContext& context) {
  const bool same = factored_ && penalties == penalties_;
  if (same && designs_.front().factor.rows() == problem.num_columns()) {
    return absl::OkStatus();
  }
  AdmmSystems next = *this;  // so that cancellation changes nothing
  const bool extend = same && appended_ < kMostExtensions;
  next.penalties_ = penalties;
  next.appended_ = extend ? appended_ + 1 : 0;
  for (Design& design : next.designs_) {
    bool extended = false;
    if (extend) {
      MERCER_ASSIGN_OR_RETURN(extended, next.ExtendFactor(design, context));
    }
    if (!extended) {
      MERCER_RETURN_IF_ERROR(next.FactorDesign(design, context));
    }
  }
  MERCER_RETURN_IF_ERROR(next.FactorShared(problem, context));
  next.factored_ = true;
  *this = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<MasterPoint> AdmmSystems::Solve(const MasterProblem& problem, const Matrix& products,
                                               const Vector& sums, const MasterPoint& pull,
                                               RunContext& context) const {
  const Index tasks = problem.num_tasks();
  MasterPoint solution = MasterPoint::Zero(problem.num_columns(), tasks);
  Matrix right = products;
  for (Index t = 0; problem.bias && t < tasks; ++t) {
    const auto rows = static_cast<double>(problem.task(t).targets.size());
    right.col(t) -= DesignOf(t).column_sums * (sums(t) / rows);
  }
  // M^-1 of the tasks' right-hand sides.
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
      // w_t = M^-1 (p_t - A w), and M^-1 A = I - eta M^-1.
      Vector back = solution.shared;
      MERCER_RETURN_IF_ERROR(SolveCholesky(DesignOf(t).factor, back, context));
      solution.specific.col(t) = solved.col(t) - solution.shared + penalties_.weights * back;
    }
    if (problem.bias) {
      const auto rows = static_cast<double>(problem.task(t).targets.size());
      const Vector weights = solution.specific.col(t) + solution.shared;
      solution.bias(t) =
          (sums(t) / penalties_.scores - DesignOf(t).column_sums.dot(weights)) / rows;
    }
  }
  return solution;
}

void AdmmSystems::Save(ByteWriter& writer) const {
  writer.WriteDouble(penalties_.scores);
  writer.WriteDouble(penalties_.weights);
  writer.WriteBool(factored_);
  writer.WriteInt64(appended_);
  writer.WriteMatrix(shared_factor_);
  for (const Design& design : designs_) {
    writer.WriteMatrix(design.gram);
    writer.WriteVector(design.column_sums);
    writer.WriteMatrix(design.factor);
  }
}

bool AdmmSystems::Load(const MasterProblem& problem, ByteReader& reader) {
  const Index d = problem.num_columns();
  AssignDesigns(problem);
  penalties_ = {reader.ReadDouble(), reader.ReadDouble()};
  factored_ = reader.ReadBool();
  appended_ = reader.ReadInt64();
  shared_factor_ = reader.ReadMatrix();
  for (Design& design : designs_) {
    design.gram = reader.ReadMatrix();
    design.column_sums = reader.ReadVector();
    design.factor = reader.ReadMatrix();
    if (design.gram.rows() != d || design.gram.cols() != d || design.column_sums.size() != d ||
        design.factor.rows() != design.factor.cols() || design.factor.rows() > d) {
      return false;
    }
  }
  const Index shared = factored_ && problem.has_shared() ? designs_.front().factor.rows() : -1;
  return reader.ok() &&
         (shared < 0 || (shared_factor_.rows() == shared && shared_factor_.cols() == shared));
}

}  // namespace mercer
