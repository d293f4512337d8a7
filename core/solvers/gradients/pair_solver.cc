#include "core/solvers/gradients/pair_solver.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/solvers/gradients/box_dual.h"
#include "core/solvers/gradients/pair_system.h"

namespace mercer {
namespace {

constexpr int kMostBoxNewtonSteps = 40;
constexpr int kBoxPolishingSteps = 8;
constexpr double kGoodGap = 1e-11;  // from where Newton's end is as good as double precision
constexpr double kSquareAccuracy = 1e-10;
constexpr int kSquareRefinements = 2;
constexpr double kRoundedGap = 1e-14;

absl::StatusOr<PairSolution> SolveSquare(const PairMachine& machine, const PairKernel& kernel,
                                         const Vector& start, RunContext& context) {
  const Vector ridge = machine.Ridge();
  PairSolution solution;
  solution.free.resize(static_cast<size_t>(kernel.size()));
  std::iota(solution.free.begin(), solution.free.end(), Index{0});
  MERCER_ASSIGN_OR_RETURN(
      PairSystem system,
      PairSystem::Make(kernel, ridge, solution.free, PairSystem::Indefinite::kIsShifted, context));
  solution.dual = start.size() > 0 ? start : Vector::Zero(kernel.size());
  for (int pass = 0; pass <= kSquareRefinements; ++pass) {
    MERCER_ASSIGN_OR_RETURN(const Vector product, kernel.Product(solution.dual, context));
    const Vector gradient = machine.targets - product - ridge.cwiseProduct(solution.dual);
    const double norm = solution.dual.dot(product);
    const double linear = machine.loss.DualValue(machine.targets, machine.costs, solution.dual);
    const double primal =
        0.5 * norm + machine.loss.TotalValue(machine.targets, machine.costs, product, /*bias=*/0);
    const double value = linear - 0.5 * norm;
    const double gap = std::abs(primal - value) / std::max(std::abs(primal), 1e-300);
    solution.value = value;
    solution.gap = gap;
    // A gap is quadratic in the error of the dual, to which energies are linear: solve once at least.
    if ((pass > 0 && gap <= kRoundedGap) || pass == kSquareRefinements) {
      break;
    }
    Vector change = gradient;
    MERCER_RETURN_IF_ERROR(system.Solve(change, kSquareAccuracy, kMostSystemProducts, context));
    if (!change.allFinite()) {
      break;
    }
    solution.dual += change;
    ++solution.steps;
  }
  return solution;
}

BoxDual MakePairBox(const PairMachine& machine, const PairKernel& kernel) {
  const bool hinge = machine.loss.kind() == LossKind::kHinge;
  return {kernel, machine.targets, machine.Ridge(),
          hinge ? machine.costs : Vector::Constant(machine.costs.size(), kInfinity)};
}

absl::StatusOr<BoxPoint> SolvePairBox(const BoxDual& box, const Vector& start, int& steps,
                                      RunContext& context) {
  const Vector first =
      start.size() > 0 ? box.Clip(box.signs.cwiseProduct(start)) : Vector::Zero(box.size());
  MERCER_ASSIGN_OR_RETURN(BoxPoint point, EvaluateBox(box, first, context));
  MERCER_ASSIGN_OR_RETURN(const bool solved,
                          ImproveByNewton(box, kMostBoxNewtonSteps, point, steps, context));
  if (solved || point.gap <= kGoodGap || box.size() > kMostFactoredPairs) {
    return point;
  }
  MERCER_ASSIGN_OR_RETURN(Vector inner, SolveByInteriorPoint(box, steps, context));
  MERCER_ASSIGN_OR_RETURN(BoxPoint other, EvaluateBox(box, std::move(inner), context));
  MERCER_RETURN_IF_ERROR(ImproveByNewton(box, kBoxPolishingSteps, other, steps, context).status());
  return other.gap < point.gap ? other : point;
}

}  // namespace

Vector PairMachine::Ridge() const {
  const double factor = loss.kind() == LossKind::kHinge ? smoothing : 0.5;
  return factor * costs.cwiseInverse();
}

PairMachine CollapsedMachine(const GradientProblem& problem, const Vector& targets) {
  Vector costs = Vector::Zero(problem.num_rows());
  for (Index p = 0; p < problem.num_pairs(); ++p) {
    costs(problem.pairs.targets[static_cast<size_t>(p)]) += problem.pair_costs(p);
  }
  return {*problem.loss, targets, std::move(costs)};
}

absl::StatusOr<PairSolution> SolvePairs(const PairMachine& machine, const PairKernel& kernel,
                                        const Vector& start, RunContext& context) {
  if (machine.loss.kind() == LossKind::kSquare) {
    return SolveSquare(machine, kernel, start, context);
  }
  const BoxDual box = MakePairBox(machine, kernel);
  PairSolution solution;
  MERCER_ASSIGN_OR_RETURN(const BoxPoint point, SolvePairBox(box, start, solution.steps, context));
  solution.dual = box.signs.cwiseProduct(point.a);
  solution.free = FreeVariables(box, point);
  solution.value = -point.value;
  solution.gap = point.gap;
  return solution;
}

absl::StatusOr<Vector> SweepPairs(const PairMachine& machine, const PairKernel& kernel,
                                  const Vector& start, int sweeps, RunContext& context) {
  const BoxDual box = MakePairBox(machine, kernel);
  std::vector<Index> all(static_cast<size_t>(box.size()));
  std::iota(all.begin(), all.end(), Index{0});
  MERCER_ASSIGN_OR_RETURN(Matrix h, kernel.Block(all, context));
  h = Matrix(h.selfadjointView<Eigen::Lower>());
  h = box.signs.asDiagonal() * h * box.signs.asDiagonal();
  h.diagonal() += box.ridge;
  Vector a = start.size() > 0 ? box.Clip(box.signs.cwiseProduct(start)) : Vector::Zero(box.size());
  Vector gradient = h * a;
  gradient.array() -= 1;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (Index p = 0; p < box.size(); ++p) {
      const double next =
          h(p, p) > 0 ? std::clamp(a(p) - gradient(p) / h(p, p), 0.0, box.bounds(p)) : a(p);
      if (next != a(p)) {
        gradient += (next - a(p)) * h.col(p);
        a(p) = next;
      }
    }
  }
  return Vector(box.signs.cwiseProduct(a));
}

absl::StatusOr<MachinePoint> EvaluateMachine(const PairMachine& machine, const PairKernel& kernel,
                                             Vector dual, RunContext& context) {
  MachinePoint point;
  machine.loss.RepairDual(machine.targets, machine.costs, /*balanced=*/false, dual);
  point.dual = std::move(dual);
  MERCER_ASSIGN_OR_RETURN(point.predictions, kernel.Product(point.dual, context));
  point.norm = std::max(0.0, point.dual.dot(point.predictions));
  point.upper = 0.5 * point.norm + machine.loss.TotalValue(machine.targets, machine.costs,
                                                           point.predictions, /*bias=*/0);
  point.lower =
      machine.loss.DualValue(machine.targets, machine.costs, point.dual) - 0.5 * point.norm;
  return point;
}

}  // namespace mercer
