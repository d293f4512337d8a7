#include "core/training/run/split_outputs.h"

namespace mercer {

std::vector<Index> RowsOfOutput(const TrainingProblem& problem, Index output) {
  const Matrix& targets = problem.tasks[0].targets;
  std::vector<Index> kept;
  for (Index i = 0; i < targets.rows(); ++i) {
    if (problem.kind == TargetKind::kRegression || targets(i, output) != 0) {
      kept.push_back(i);
    }
  }
  return kept;
}

TrainingProblem SplitOutput(const TrainingProblem& problem, Index output) {
  return Narrow(problem, RowsOfOutput(problem, output), output);
}

std::vector<TrainingProblem> SplitOutputs(const TrainingProblem& problem) {
  std::vector<TrainingProblem> parts;
  for (Index output = 0; output < problem.tasks[0].targets.cols(); ++output) {
    parts.push_back(SplitOutput(problem, output));
  }
  return parts;
}

bool HasPartPerOutput(const LearnerEntry& entry, const OptionValues& options,
                      const TrainingProblem& problem) {
  if (entry.shares_outputs && entry.shares_outputs(options)) {
    return false;
  }
  const Matrix& targets = problem.tasks[0].targets;
  const bool all_rows = problem.kind == TargetKind::kRegression || (targets.array() != 0.0).all();
  return targets.cols() > 1 && !(entry.joint_outputs && all_rows);
}

}  // namespace mercer
