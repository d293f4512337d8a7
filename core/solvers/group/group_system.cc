#include "core/solvers/group/group_system.h"

#include <algorithm>
#include <utility>

#include <cblas.h>

#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr Index kMostFactored = 400;  // unknowns; a dense factor of them takes a millisecond
constexpr Index kMostOfTask = 2500;   // a dense factor takes about a second
constexpr double kRidge = 1e-12;
constexpr double kResidual = 1e-5;  // that conjugate gradients leave, as a share
constexpr int kMostIterations = 500;

// The product hessian * weights, where many rows of `weights` may be 0.
Matrix ProductWithSparseRows(const Matrix& hessian, const Matrix& weights) {
  std::vector<Index> rows;
  for (Index j = 0; j < weights.rows(); ++j) {
    if ((weights.row(j).array() != 0).any()) {
      rows.push_back(j);
    }
  }
  const bool sparse = 4 * static_cast<Index>(rows.size()) < 3 * weights.rows();
  const Matrix columns = sparse ? Matrix(hessian(Eigen::all, rows)) : Matrix();
  const Matrix some = sparse ? Matrix(weights(rows, Eigen::all)) : Matrix();
  const Matrix& left = sparse ? columns : hessian;
  const Matrix& right = sparse ? some : weights;
  Matrix products = Matrix::Zero(hessian.rows(), weights.cols());
  if (right.size() > 0) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, BlasInt(left.rows()),
                BlasInt(right.cols()), BlasInt(left.cols()), 1.0, left.data(),
                BlasInt(left.outerStride()), right.data(), BlasInt(right.outerStride()), 0.0,
                products.data(), BlasInt(products.outerStride()));
  }
  return products;
}

}  // namespace

// The preconditioner of conjugate gradients: one factor for each task and one for the shared
// weights, without what ties them together. Tasks that move the same columns with the same second
// derivatives have one in common.
class GroupSystem::Preconditioner {
 public:
  // Errors: kCancelled.
  static absl::StatusOr<Preconditioner> Make(const GroupSystem& system, RunContext& context) {
    Preconditioner made;
    std::vector<std::vector<Index>> members(static_cast<size_t>(system.num_tasks()) + 1);
    for (Index a = 0; a < system.size(); ++a) {
      members[static_cast<size_t>(system.unknown(a).task + 1)].push_back(a);
    }
    const Vector penalties = system.LargestPenaltyCurvatures();
    for (std::vector<Index>& of_task : members) {
      if (!of_task.empty()) {
        MERCER_RETURN_IF_ERROR(made.Add(system, std::move(of_task), penalties, context));
      }
    }
    return made;
  }

  // Errors: kCancelled.
  absl::StatusOr<Vector> Apply(const Vector& values, RunContext& context) const {
    Vector result(values.size());
    for (const Block& block : blocks_) {
      Matrix part(block.diagonal.size(), static_cast<Index>(block.members.size()));
      for (Index t = 0; t < part.cols(); ++t) {
        part.col(t) = values(block.members[static_cast<size_t>(t)]);
      }
      MERCER_RETURN_IF_ERROR(Solve(block, part, context));
      for (Index t = 0; t < part.cols(); ++t) {
        result(block.members[static_cast<size_t>(t)]) = part.col(t);
      }
    }
    return result;
  }

 private:
  struct Block {
    std::vector<std::vector<Index>> members;  // of each task: its unknowns
    Index task = -1;                          // the first of them
    Matrix factor;                            // empty: the diagonal alone
    Vector diagonal;                          // of risk and penalty
  };

  static absl::Status Solve(const Block& block, Matrix& part, RunContext& context) {
    if (block.factor.rows() == 0) {
      part.array().colwise() /= block.diagonal.array();
      return absl::OkStatus();
    }
    if (part.cols() > 1) {
      return SolveCholesky(block.factor, part, context);
    }
    // A single column is multiplied as a vector: what prepares a product with many columns would
    // take most of the time.
    auto only = part.col(0);
    block.factor.triangularView<Eigen::Lower>().solveInPlace(only);
    block.factor.transpose().triangularView<Eigen::Upper>().solveInPlace(only);
    return absl::OkStatus();
  }

  bool SharesFactor(const GroupSystem& system, const Block& block,
                    const std::vector<Index>& members, const Vector& diagonal) const {
    const Index task = system.unknown(members.front()).task;
    if (task < 0 || block.task < 0 || diagonal != block.diagonal ||
        system.hessians_[static_cast<size_t>(task)] !=
            system.hessians_[static_cast<size_t>(block.task)]) {
      return false;
    }
    const std::vector<Index>& others = block.members.front();
    return std::equal(
        members.begin(), members.end(), others.begin(), others.end(),
        [&](Index a, Index b) { return system.unknown(a).column == system.unknown(b).column; });
  }

  absl::Status Add(const GroupSystem& system, std::vector<Index> members, const Vector& penalties,
                   RunContext& context) {
    const auto size = static_cast<Index>(members.size());
    Vector diagonal = penalties(members);
    for (Index a = 0; a < size; ++a) {
      const GroupUnknown& unknown = system.unknown(members[static_cast<size_t>(a)]);
      diagonal(a) += system.RiskCurvature(unknown, unknown);
    }
    diagonal.array() += kRidge * diagonal.mean();
    if (!blocks_.empty() && SharesFactor(system, blocks_.back(), members, diagonal)) {
      blocks_.back().members.push_back(std::move(members));
      return absl::OkStatus();
    }
    Block block;
    block.task = system.unknown(members.front()).task;
    if (size <= kMostOfTask) {
      Matrix matrix(size, size);
      for (Index b = 0; b < size; ++b) {
        const GroupUnknown& col = system.unknown(members[static_cast<size_t>(b)]);
        for (Index a = b + 1; a < size; ++a) {
          matrix(a, b) = system.RiskCurvature(system.unknown(members[static_cast<size_t>(a)]), col);
        }
        matrix(b, b) = diagonal(b);
      }
      const absl::Status factored = FactorCholesky(matrix, context);
      if (factored.ok()) {
        block.factor = std::move(matrix);
      } else if (absl::IsCancelled(factored)) {
        return factored;
      }
    }
    block.diagonal = std::move(diagonal);
    block.members.push_back(std::move(members));
    blocks_.push_back(std::move(block));
    return absl::OkStatus();
  }

  std::vector<Block> blocks_;
};

void GroupSystem::AddBlock(const std::vector<GroupUnknown>& unknowns, const Vector& gradient,
                           Matrix hessian) {
  const Index before = size();
  unknowns_.insert(unknowns_.end(), unknowns.begin(), unknowns.end());
  gradient_.conservativeResize(size());
  gradient_.tail(size() - before) = gradient;
  blocks_.push_back(std::move(hessian));
}

void GroupSystem::AddRisk(const Matrix& gradient) {
  for (Index a = 0; a < size(); ++a) {
    const GroupUnknown& one = unknown(a);
    gradient_(a) += one.task < 0 ? gradient.row(one.column).sum() : gradient(one.column, one.task);
  }
}

// The second derivative of the risk by two unknowns: tasks meet in the shared ones only.
double GroupSystem::RiskCurvature(const GroupUnknown& row, const GroupUnknown& col) const {
  if (row.task >= 0 && col.task >= 0 && row.task != col.task) {
    return 0;
  }
  const Index task = std::max(row.task, col.task);
  if (task >= 0) {
    return (*hessians_[static_cast<size_t>(task)])(row.column, col.column);
  }
  double sum = 0;
  for (const auto& hessian : hessians_) {
    sum += (*hessian)(row.column, col.column);
  }
  return sum;
}

// For each unknown the largest diagonal entry of its block: the same for all tasks, and about what
// the penalty of a norm adds but for its one direction without curvature.
Vector GroupSystem::LargestPenaltyCurvatures() const {
  Vector largest(size());
  Index at = 0;
  for (const Matrix& block : blocks_) {
    largest.segment(at, block.rows()).setConstant(std::max(0.0, block.diagonal().maxCoeff()));
    at += block.rows();
  }
  return largest;
}

// The diagonal of the whole system, the ridge included.
Vector GroupSystem::Diagonal() const {
  Vector diagonal(size());
  Index at = 0;
  for (const Matrix& block : blocks_) {
    diagonal.segment(at, block.rows()) = block.diagonal();
    at += block.rows();
  }
  for (Index a = 0; a < size(); ++a) {
    const GroupUnknown& one = unknown(a);
    diagonal(a) += RiskCurvature(one, one);
  }
  return diagonal.array() + kRidge * diagonal.mean();
}

double GroupSystem::Ridge() const {
  const double mean = Diagonal().mean();
  return kRidge / (1 + kRidge) * mean;
}

bool GroupSystem::HasOneTask() const {
  return std::all_of(unknowns_.begin(), unknowns_.end(),
                     [&](const GroupUnknown& one) { return one.task == unknowns_.front().task; });
}

absl::StatusOr<std::optional<Vector>> GroupSystem::Solve(const Vector& given,
                                                         RunContext& context) const {
  // With nothing but one task's weights, the factor of the system costs no more than that of the
  // preconditioner.
  const Index most = HasOneTask() ? kMostOfTask : kMostFactored;
  return size() <= most ? SolveDense(given, context) : SolveByGradients(given, context);
}

// Forms the matrix of all unknowns and factors it.
absl::StatusOr<std::optional<Vector>> GroupSystem::SolveDense(const Vector& given,
                                                              RunContext& context) const {
  Matrix matrix = Matrix::Zero(size(), size());
  Index at = 0;
  for (const Matrix& block : blocks_) {
    matrix.block(at, at, block.rows(), block.rows()) = block;
    at += block.rows();
  }
  for (Index b = 0; b < size(); ++b) {
    const GroupUnknown& col = unknown(b);
    for (Index a = b; a < size(); ++a) {
      matrix(a, b) += RiskCurvature(unknown(a), col);
    }
  }
  const double mean = matrix.diagonal().mean();
  matrix.diagonal().array() += kRidge * mean;
  Vector step = -gradient_;
  for (Index a = 0; a < size(); ++a) {
    if (given(a) == kFree) {
      continue;
    }
    // The equation of a prescribed unknown says that it is what is given; the others take its share
    // to their right-hand sides.
    step.head(a) -= given(a) * matrix.row(a).head(a).transpose();
    step.tail(size() - a) -= given(a) * matrix.col(a).tail(size() - a);
    matrix.row(a).head(a).setZero();
    matrix.col(a).tail(size() - a).setZero();
    matrix(a, a) = mean;
  }
  step = (given.array() == kFree).select(step, mean * given);
  const absl::Status factored = FactorCholesky(matrix, context);
  if (!factored.ok()) {
    return absl::IsCancelled(factored) ? absl::StatusOr<std::optional<Vector>>(factored)
                                       : std::optional<Vector>();
  }
  MERCER_RETURN_IF_ERROR(SolveCholesky(matrix, step, context));
  step = (given.array() == kFree).select(step, given);
  return step.allFinite() ? std::optional<Vector>(std::move(step)) : std::nullopt;
}

// Products need only the columns that have unknowns, often a small part of all. Tasks that share a
// matrix of second derivatives share the restricted one.
GroupSystem::Restriction GroupSystem::Restrict() const {
  Restriction restriction;
  restriction.row_of_column.assign(static_cast<size_t>(hessians_.front()->rows()), -1);
  for (const GroupUnknown& one : unknowns_) {
    restriction.row_of_column[static_cast<size_t>(one.column)] = 0;
  }
  std::vector<Index> used;
  for (size_t column = 0; column < restriction.row_of_column.size(); ++column) {
    if (restriction.row_of_column[column] == 0) {
      restriction.row_of_column[column] = static_cast<Index>(used.size());
      used.push_back(static_cast<Index>(column));
    }
  }
  if (used.size() == restriction.row_of_column.size()) {
    restriction.hessians = hessians_;
    return restriction;
  }
  for (const auto& hessian : hessians_) {
    const auto& last = restriction.hessians;
    const auto& before = hessians_[last.size() - (last.empty() ? 0 : 1)];
    restriction.hessians.push_back(!last.empty() && hessian == before
                                       ? last.back()
                                       : std::make_shared<const Matrix>((*hessian)(used, used)));
  }
  return restriction;
}

// The system times a vector, without the ridge.
Vector GroupSystem::Times(const Restriction& restriction, const Vector& values) const {
  const auto row = [&](const GroupUnknown& one) {
    return restriction.row_of_column[static_cast<size_t>(one.column)];
  };
  const Index rows = restriction.hessians.front()->rows();
  Matrix weights = Matrix::Zero(rows, num_tasks());
  Vector shared = Vector::Zero(rows);
  for (Index a = 0; a < size(); ++a) {
    const GroupUnknown& one = unknown(a);
    (one.task < 0 ? shared(row(one)) : weights(row(one), one.task)) = values(a);
  }
  weights.colwise() += shared;
  const Matrix products = ProductsWithHessians(restriction.hessians, weights);
  Vector result(size());
  Index at = 0;
  for (const Matrix& block : blocks_) {
    result.segment(at, block.rows()).noalias() = block * values.segment(at, block.rows());
    at += block.rows();
  }
  for (Index a = 0; a < size(); ++a) {
    const GroupUnknown& one = unknown(a);
    result(a) += one.task < 0 ? products.row(row(one)).sum() : products(row(one), one.task);
  }
  return result;
}

// Preconditioned conjugate gradients in the free unknowns; the prescribed ones are put in from the
// start, and residuals and directions are zero there.
absl::StatusOr<std::optional<Vector>> GroupSystem::SolveByGradients(const Vector& given,
                                                                    RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Preconditioner preconditioner,
                          Preconditioner::Make(*this, context));
  const Restriction restriction = Restrict();
  const double ridge = Ridge();
  const Vector free = (given.array() == kFree).cast<double>();
  Vector step = (given.array() == kFree).select(Vector::Zero(size()), given);
  Vector residual = -gradient_;
  if ((step.array() != 0).any()) {
    residual -= Times(restriction, step) + ridge * step;
  }
  residual.array() *= free.array();
  MERCER_ASSIGN_OR_RETURN(Vector direction, preconditioner.Apply(residual, context));
  direction.array() *= free.array();
  double product = residual.dot(direction);
  const double goal = kResidual * kResidual * product;
  for (int iteration = 0; iteration < kMostIterations && product > goal; ++iteration) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Vector moved = Times(restriction, direction) + ridge * direction;
    const double curvature = direction.dot(moved);
    if (!(curvature > 0)) {
      break;
    }
    const double length = product / curvature;
    step += length * direction;
    residual -= length * moved.cwiseProduct(free);
    MERCER_ASSIGN_OR_RETURN(Vector next, preconditioner.Apply(residual, context));
    next.array() *= free.array();
    const double next_product = residual.dot(next);
    direction = next + (next_product / product) * direction;
    product = next_product;
  }
  return step.allFinite() && (step.array() != 0).any() ? std::optional<Vector>(std::move(step))
                                                       : std::nullopt;
}

Matrix ProductsWithHessians(const std::vector<std::shared_ptr<const Matrix>>& hessians,
                            const Matrix& weights) {
  if (weights.cols() > 1 && std::all_of(hessians.begin(), hessians.end(), [&](const auto& hessian) {
        return hessian == hessians.front();
      })) {
    return ProductWithSparseRows(*hessians.front(), weights);
  }
  Matrix products(weights.rows(), weights.cols());
  for (Index t = 0; t < weights.cols(); ++t) {
    products.col(t).noalias() = *hessians[static_cast<size_t>(t)] * weights.col(t);
  }
  return products;
}

}  // namespace mercer
