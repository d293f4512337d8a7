#include "core/training/contract/target_unit.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/row_vectors.h"

namespace mercer {
namespace {

// Deviations below this are taken for none: their squares vanish in floating point.
constexpr double kSmallestDeviation = 1e-150;
constexpr double kLargestTarget = 1e150;

// The mean, then the mean of what is left: equal targets have their own value as mean, to the last
// bit.
double WeightedMean(ConstVectorRef targets, ConstVectorRef costs) {
  const double total = SumOfRows(costs);
  if (!(total > 0)) {
    return 0;
  }
  const double mean = DotOfRows(costs, targets) / total;
  const Vector rest = targets.array() - mean;
  return mean + DotOfRows(costs, rest) / total;
}

// The root of the mean square of all targets, which have mean 0. The largest magnitude is divided
// out first, so that the squares neither overflow nor vanish.
double WeightedDeviation(const std::vector<TaskData>& tasks) {
  double largest = 0;
  double total = 0;
  for (const TaskData& task : tasks) {
    const auto counts = (task.costs.array() > 0).cast<double>();
    largest = std::max(largest, (task.targets.col(0).array().abs() * counts).maxCoeff());
    total += SumOfRows(task.costs);
  }
  if (!(largest > 0) || !(total > 0)) {
    return 0;
  }
  double squares = 0;
  for (const TaskData& task : tasks) {
    const Vector of_rows = (task.targets.col(0).array() / largest).square();
    squares += DotOfRows(task.costs, of_rows);
  }
  return largest * std::sqrt(squares / total);
}

bool HaveSquares(const TaskData& task) {
  return task.costs.allFinite() && (task.targets.array().abs() <= kLargestTarget).all();
}

}  // namespace

void StandardizeTargets(TrainingProblem& problem) {
  if (!std::all_of(problem.tasks.begin(), problem.tasks.end(), HaveSquares)) {
    return;
  }
  problem.unit.means.resize(static_cast<Index>(problem.tasks.size()));
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    TaskData& task = problem.tasks[t];
    const double mean = WeightedMean(task.targets.col(0), task.costs);
    problem.unit.means(static_cast<Index>(t)) = mean;
    task.targets.array() -= mean;
  }
  const double deviation = WeightedDeviation(problem.tasks);
  problem.unit.deviation = deviation >= kSmallestDeviation ? deviation : 1.0;
  for (TaskData& task : problem.tasks) {
    task.targets /= problem.unit.deviation;
  }
}

void ToUserUnit(const TargetUnit& unit, TrainedPoint& point) {
  if (unit.IsIdentity()) {
    return;
  }
  for (std::shared_ptr<const Term>& term : point.function.terms) {
    term = term->Scaled(unit.deviation);
  }
  point.function.bias = unit.means + unit.deviation * point.function.bias;
  point.summary.feature_weights *= unit.deviation;
}

void ToUserUnit(const TargetUnit& unit, Certificate& certificate) {
  const double square = unit.deviation * unit.deviation;
  certificate.primal *= square;
  certificate.dual *= square;
  for (OutputBounds& bounds : certificate.outputs) {
    bounds.primal *= square;
    bounds.dual *= square;
  }
}

void ToUserUnit(const TargetUnit& unit, StepReport& report) {
  const double square = unit.deviation * unit.deviation;
  report.primal *= square;
  report.dual *= square;
}

}  // namespace mercer
