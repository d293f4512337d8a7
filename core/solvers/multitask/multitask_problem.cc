#include "core/solvers/multitask/multitask_problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

absl::Status CheckMultitaskTask(const MultitaskTask& task, Index blocks) {
  const Index rows = task.targets.size();
  if (task.blocks == nullptr || task.blocks->num_kernels() != blocks ||
      task.blocks->size() != rows || task.costs.size() != rows || rows == 0) {
    return absl::InvalidArgumentError("blocks, targets and costs must have one size");
  }
  if (!(task.targets.array().abs() == 1).all()) {
    return absl::InvalidArgumentError("targets must be -1 or +1");
  }
  if (!task.costs.allFinite() || !(task.costs.array() >= 0).all()) {
    return absl::InvalidArgumentError("costs must be finite and not negative");
  }
  return absl::OkStatus();
}

// The costs of each class, those of targets of +1 first.
struct ClassCosts {
  double positive = 0;
  double negative = 0;
};

ClassCosts CostsOfClasses(const MultitaskTask& task) {
  ClassCosts sums;
  for (Index i = 0; i < task.targets.size(); ++i) {
    (task.targets(i) > 0 ? sums.positive : sums.negative) += task.costs(i);
  }
  return sums;
}

// Of the scores, with the best biases.
absl::Status FindRisk(const MultitaskProblem& problem, MultitaskPoint& point, RunContext& context) {
  point.risk = 0;
  point.biases.clear();
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    const MultitaskTask& task = problem.tasks[t];
    MERCER_ASSIGN_OR_RETURN(
        const BiasInterval bias,
        problem.loss->ExactBias(task.targets, task.costs, point.scores[t], context));
    MERCER_ASSIGN_OR_RETURN(
        const double risk,
        problem.loss->TotalValue(task.targets, task.costs, point.scores[t], bias.chosen, context));
    point.risk += risk;
    point.biases.push_back(bias);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMultitaskProblem(const MultitaskProblem& problem) {
  if (problem.loss == nullptr || problem.loss->kind() != LossKind::kHinge) {
    return absl::InvalidArgumentError("the loss must be the hinge");
  }
  if (problem.tasks.empty() || problem.tasks[0].blocks == nullptr || problem.num_blocks() == 0) {
    return absl::InvalidArgumentError("there must be a task and a block");
  }
  if (!problem.norm.Fits(problem.num_blocks())) {
    return absl::InvalidArgumentError("there must be a weight for each block");
  }
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    const absl::Status checked = CheckMultitaskTask(problem.tasks[t], problem.num_blocks());
    if (!checked.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("task ", t + 1, ": ", std::string(checked.message())));
    }
  }
  return absl::OkStatus();
}

bool HasBothClasses(const MultitaskTask& task) {
  const ClassCosts costs = CostsOfClasses(task);
  return costs.positive > 0 && costs.negative > 0;
}

std::vector<Vector> DualOfConstants(const MultitaskProblem& problem) {
  std::vector<Vector> duals;
  for (const MultitaskTask& task : problem.tasks) {
    const ClassCosts costs = CostsOfClasses(task);
    const double common = std::min(costs.positive, costs.negative);
    Vector dual = Vector::Zero(task.targets.size());
    for (Index i = 0; i < dual.size() && common > 0; ++i) {
      dual(i) = task.costs(i) *
                (task.targets(i) > 0 ? common / costs.positive : -common / costs.negative);
    }
    duals.push_back(std::move(dual));
  }
  return duals;
}

double MultitaskGap(double primal, double dual_value) {
  return (primal - dual_value) / std::max({std::abs(primal), std::abs(dual_value), 1e-300});
}

namespace {

// With the energies of these blocks, all if there are none.
absl::StatusOr<MultitaskPoint> PointAmong(const MultitaskProblem& problem,
                                          const std::vector<Index>& blocks,
                                          std::vector<Vector> duals, Matrix weights,
                                          RunContext& context) {
  MultitaskPoint point;
  point.dual = std::move(duals);
  point.weights = std::move(weights);
  point.energies = Matrix::Zero(problem.num_tasks(), problem.num_blocks());
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const MultitaskTask& task = problem.tasks[static_cast<size_t>(t)];
    Vector& dual = point.dual[static_cast<size_t>(t)];
    problem.loss->RepairDual(task.targets, task.costs, /*balanced=*/true, dual);
    Matrix energies(blocks.empty() ? problem.num_blocks() : static_cast<Index>(blocks.size()), 1);
    MERCER_RETURN_IF_ERROR(task.blocks->QuadraticForms(dual, blocks, energies, context));
    // Out of range they are infinite: no bound may take them for small.
    energies = energies.array().isNaN().select(kInfinity, energies.cwiseMax(0.0));
    if (blocks.empty()) {
      point.energies.row(t) = energies.transpose();
    } else {
      point.energies(t, blocks) = energies.transpose();
    }
    Matrix scores = Matrix::Zero(dual.size(), 1);
    if ((point.weights.row(t).array() > 0).any()) {
      const Vector of_task = point.weights.row(t);
      MERCER_RETURN_IF_ERROR(task.blocks->CombinedProduct(of_task, dual, scores, context));
    }
    MERCER_ASSIGN_OR_RETURN(const double linear,
                            problem.loss->DualValue(task.targets, task.costs, dual, context));
    point.linear += linear;
    point.scores.emplace_back(scores.col(0));
  }
  MERCER_RETURN_IF_ERROR(FindRisk(problem, point, context));
  point.primal = point.risk + problem.norm.Penalty(point.Norms());
  return point;
}

}  // namespace

absl::StatusOr<MultitaskPoint> EvaluateMultitask(const MultitaskProblem& problem,
                                                 std::vector<Vector> duals, Matrix weights,
                                                 RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(MultitaskPoint point,
                          PointAmong(problem, {}, std::move(duals), std::move(weights), context));
  point.dual_value = problem.norm.DualValue(point.linear, problem.norm.DualNorm(point.energies));
  return point;
}

absl::StatusOr<MultitaskPoint> EvaluateFunction(const MultitaskProblem& problem,
                                                std::vector<Vector> duals, Matrix weights,
                                                RunContext& context) {
  std::vector<Index> used;
  for (Index k = 0; k < weights.cols(); ++k) {
    if ((weights.col(k).array() > 0).any()) {
      used.push_back(k);
    }
  }
  if (used.empty()) {
    used.push_back(0);  // none would be all
  }
  return PointAmong(problem, used, std::move(duals), std::move(weights), context);
}

// The primal is convex in the factor: a search by golden sections.
absl::Status ScaleMultitask(const MultitaskProblem& problem, MultitaskPoint& point,
                            RunContext& context) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr double kSharp = 1e-13;
  const Matrix norms = point.Norms();
  MultitaskPoint tried;
  const auto primal_at = [&](double factor) -> absl::StatusOr<double> {
    tried.scores.clear();
    for (const Vector& scores : point.scores) {
      tried.scores.emplace_back(factor * scores);
    }
    MERCER_RETURN_IF_ERROR(FindRisk(problem, tried, context));
    return tried.risk + problem.norm.Penalty(factor * norms);
  };
  double low = 0.5;
  double high = 1.5;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  MERCER_ASSIGN_OR_RETURN(double at_left, primal_at(left));
  MERCER_ASSIGN_OR_RETURN(double at_right, primal_at(right));
  while (high - low > kSharp) {
    if (at_left <= at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - kGolden * (high - low);
      MERCER_ASSIGN_OR_RETURN(at_left, primal_at(left));
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + kGolden * (high - low);
      MERCER_ASSIGN_OR_RETURN(at_right, primal_at(right));
    }
  }
  const double factor = at_left <= at_right ? left : right;
  MERCER_ASSIGN_OR_RETURN(const double primal, primal_at(factor));
  if (primal < point.primal) {
    point.weights *= factor;
    point.scores = std::move(tried.scores);
    point.biases = std::move(tried.biases);
    point.risk = tried.risk;
    point.primal = primal;
  }
  return absl::OkStatus();
}

}  // namespace mercer
