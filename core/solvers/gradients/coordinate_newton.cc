// Newton's step of CoordinateWeightSolver.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <Eigen/Cholesky>

#include "core/base/status/status_macros.h"
#include "core/linalg/matrix_products.h"
#include "core/objectives/simplex_program.h"
#include "core/solvers/gradients/coordinate_weight_solver.h"
#include "core/solvers/gradients/pair_kernel.h"
#include "core/solvers/gradients/pair_system.h"

namespace mercer {
namespace {

constexpr Index kColumnsAdded = 20;
constexpr double kModelRidge = 1e-9;
constexpr double kModelAccuracy = 0.5;  // of conjugate gradients for the second derivative
constexpr Index kMostModelProducts = 50;
constexpr double kCoordinateDescent = 1e-4;
constexpr double kShortestCoordinateStep = 1e-6;
constexpr double kShortestLargeStep = 1e-2;  // of many pairs, whose values are less exact
constexpr double kLeastGain = 1e-10;         // of J, below which a step has gained nothing
constexpr double kCoordinateRounding = 1e-15;
constexpr double kFlatOptimum = 1e-10;  // of J, whose slopes still tell where rounding hides it

// The columns of positive weight and those of weight 0 with the largest S_l above the mean that the
// weights give; ascending.
std::vector<Index> ActiveColumns(const GradientPoint& point) {
  const double level = point.weights.dot(point.energies);
  std::vector<Index> columns;
  std::vector<Index> others;
  for (Index l = 0; l < point.weights.size(); ++l) {
    if (point.weights(l) > 0) {
      columns.push_back(l);
    } else if (point.energies(l) > level) {
      others.push_back(l);
    }
  }
  const auto count = std::min(others.size(), static_cast<size_t>(kColumnsAdded));
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count),
                    others.end(), [&](Index a, Index b) {
                      const Vector& s = point.energies;
                      return s(a) != s(b) ? s(a) > s(b) : a < b;
                    });
  columns.insert(columns.end(), others.begin(),
                 others.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(columns.begin(), columns.end());
  return columns;
}

// Z: what the predictions of these pairs gain by the weight of each of the columns.
absl::StatusOr<Matrix> WeightDerivatives(const GradientProblem& problem, const Vector& dual,
                                         const std::vector<Index>& columns,
                                         const std::vector<Index>& pairs, RunContext& context) {
  const auto count = static_cast<Index>(columns.size());
  Matrix moments(problem.num_rows(), count);
  for (Index k = 0; k < count; ++k) {
    AnchorMoments(problem.pairs, dual, problem.rows.col(columns[static_cast<size_t>(k)]),
                  moments.col(k));
  }
  Matrix values = Matrix::Zero(problem.num_rows(), count);
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, problem.gram, moments, values, context));
  Matrix derivatives(static_cast<Index>(pairs.size()), count);
  for (Index k = 0; k < count; ++k) {
    Vector of_pairs = Vector::Zero(problem.num_pairs());
    AddPairValues(problem.pairs, problem.rows.col(columns[static_cast<size_t>(k)]), values.col(k),
                  of_pairs);
    derivatives.col(k) = of_pairs(pairs);
  }
  return derivatives;
}

// The dual variables that move with the weights: all of the square loss, else those inside.
std::vector<Index> MovingPairs(const GradientProblem& problem, const Vector& dual) {
  const bool hinge = problem.loss->kind() == LossKind::kHinge;
  const bool square = problem.loss->kind() == LossKind::kSquare;
  std::vector<Index> pairs;
  for (Index p = 0; p < dual.size(); ++p) {
    const double a = std::abs(dual(p));
    if (square || (a > 0 && (!hinge || a < problem.pair_costs(p) * (1 - 1e-14)))) {
      pairs.push_back(p);
    }
  }
  return pairs;
}

// The interior point ends at a distance from weights that are small. From there the minimiser over
// the sum alone, among the entries that are positive; those that would be negative go to 0, one
// after the other.
Vector PolishedMinimizer(const SimplexProgram& program, Vector x) {
  for (Index pass = 0; pass <= x.size(); ++pass) {
    std::vector<Index> inside;
    for (Index k = 0; k < x.size(); ++k) {
      if (x(k) > 0) {
        inside.push_back(k);
      }
    }
    const Vector gradient = program.slope + program.hessian * (x - program.start);
    const Eigen::LLT<Matrix> factor(Matrix(program.hessian(inside, inside)));
    const Vector ones = Vector::Ones(static_cast<Index>(inside.size()));
    const Vector of_sum = factor.solve(ones);
    const Vector of_gradient = factor.solve(Vector(gradient(inside)));
    const Vector step = of_gradient.sum() / of_sum.sum() * of_sum - of_gradient;
    if (factor.info() != Eigen::Success || !step.allFinite()) {
      return x;
    }
    double length = 1;
    Index leaves = -1;
    for (size_t k = 0; k < inside.size(); ++k) {
      const double change = step(static_cast<Index>(k));
      if (change < 0 && -x(inside[k]) / change < length) {
        length = -x(inside[k]) / change;
        leaves = inside[k];
      }
    }
    x(inside) += length * step;
    if (leaves < 0) {
      break;
    }
    x(leaves) = 0;
  }
  return x.cwiseMax(0.0);
}

}  // namespace

absl::StatusOr<Vector> CoordinateWeightSolver::ModelMinimizer(const GradientPoint& point,
                                                              const std::vector<Index>& columns,
                                                              RunContext& context) const {
  const std::vector<Index> pairs = MovingPairs(problem_, state_.dual);
  MERCER_ASSIGN_OR_RETURN(const Matrix derivatives,
                          WeightDerivatives(problem_, state_.dual, columns, pairs, context));
  MERCER_ASSIGN_OR_RETURN(const auto kernel,
                          DiagonalPairKernel::Make(problem_, state_.weights, context));
  MERCER_ASSIGN_OR_RETURN(PairSystem system,
                          PairSystem::Make(*kernel, Machine().Ridge(), pairs,
                                           PairSystem::Indefinite::kIsShifted, context));
  Matrix solved = derivatives;
  MERCER_RETURN_IF_ERROR(system.Solve(solved, kModelAccuracy, kMostModelProducts, context));
  const auto count = static_cast<Index>(columns.size());
  const double scale = std::max(point.energies.maxCoeff(), 1e-300);
  SimplexProgram program;
  program.start = point.weights(columns);
  program.slope = -point.energies(columns) / scale;
  program.hessian = Matrix::Zero(count, count);
  MERCER_RETURN_IF_ERROR(TransposedProduct(derivatives, solved, program.hessian, context));
  program.hessian = Matrix(0.5 / scale * (program.hessian + program.hessian.transpose()));
  program.hessian.diagonal() *= 1 + kModelRidge;
  program.hessian.diagonal().array() += kModelRidge;
  const SimplexGroups groups{std::vector<Index>(columns.size(), 0), 1};
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> minimizer,
                          MinimizeOnSimplices(program, groups, context));
  return minimizer.has_value() ? PolishedMinimizer(program, *minimizer) : Vector();
}

absl::Status CoordinateWeightSolver::StepByNewton(const GradientPoint& point, RunContext& context) {
  const std::vector<Index> columns = ActiveColumns(point);
  MERCER_ASSIGN_OR_RETURN(const Vector goal, ModelMinimizer(point, columns, context));
  const double before = state_.value;
  const Vector from = point.weights(columns);
  const double slope = goal.size() > 0 ? -point.energies(columns).dot(goal - from) : 0;
  const double shortest =
      problem_.num_pairs() > kMostFactoredPairs ? kShortestLargeStep : kShortestCoordinateStep;
  bool moved = false;
  for (double length = 1; slope < 0 && !moved && length >= shortest; length *= 0.5) {
    Vector weights = Vector::Zero(point.weights.size());
    weights(columns) = length == 1 ? goal : Vector(from + length * (goal - from));
    weights /= weights.sum();
    MERCER_ASSIGN_OR_RETURN(Solved solved, Solve(std::move(weights), state_.dual, context));
    const double change = solved.functions.value - before;
    moved = change <= kCoordinateDescent * length * slope + kCoordinateRounding * std::abs(before);
    if (!moved && length == 1 && std::abs(change) <= kFlatOptimum * std::abs(before)) {
      MERCER_ASSIGN_OR_RETURN(const GradientPoint next,
                              EvaluateGradients(problem_, CoordinateWeights::kSimplex,
                                                solved.weights, solved.functions.dual, context));
      moved = next.GapOfWeights() <= 0.5 * point.GapOfWeights();
    }
    if (moved) {
      Accept(std::move(solved));
    }
  }
  if (!moved) {
    MERCER_RETURN_IF_ERROR(StepByNorms(point, context));
  }
  state_.stalled = before - state_.value < kLeastGain * std::abs(before);
  return absl::OkStatus();
}

}  // namespace mercer
