// Whole runs of one learner, and the problems that several learners' tests share.
#pragma once

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/training/run/run_training.h"
#include "tests/support/toy_data.h"

namespace mercer {

class QuietObserver : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& /*event*/) override {}
};

// Runs `learner`, made by `entry` with `options`, to the accuracy that the problem names.
inline absl::StatusOr<TrainingOutcome> RunToGap(const LearnerEntry& entry,
                                                const OptionValues& options, Learner& learner,
                                                const TrainingProblem& problem) {
  RunContext context;
  QuietObserver observer;
  RunLimits limits;
  limits.relative_gap = problem.relative_gap;
  return RunTraining(entry, options, learner, problem, limits, {}, context, observer);
}

inline absl::StatusOr<TrainingOutcome> RunToGap(const LearnerEntry& entry,
                                                const OptionValues& options,
                                                const TrainingProblem& problem) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner, entry.create(options));
  return RunToGap(entry, options, *learner, problem);
}

// A problem on precomputed Gram matrices over all its rows, with costs 1.
inline TrainingProblem PrecomputedProblem(TargetKind kind, const std::vector<Matrix>& grams,
                                          const Vector& targets) {
  const Index rows = targets.size();
  TrainingProblem problem = MakeProblem(kind, RowMatrix::Zero(rows, 1), targets, {});
  PreparedData data = *problem.tasks[0].inputs;
  for (size_t k = 0; k < grams.size(); ++k) {
    KernelSpec& kernel = problem.kernels.emplace_back();
    kernel.type = KernelType::kPrecomputed;
    kernel.block = absl::StrCat("gram", k);
    data.squares.push_back({kernel.block, SquareKind::kKernel, SharedMatrix(RowMatrix(grams[k]))});
  }
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(data));
  return problem;
}

// Four rows whose one kernel has the eigenvalue 1 - 5.
inline TrainingProblem IndefiniteProblem() {
  Matrix gram = Matrix::Constant(4, 4, 5.0);
  gram.diagonal().setOnes();
  return PrecomputedProblem(TargetKind::kClassification, {gram}, Vector{{1, -1, 1, -1}});
}

// The sum of the Gaussian kernels of a problem on one block of features, entry by entry.
inline Matrix SumOfGaussians(const TrainingProblem& problem) {
  const auto x = problem.tasks[0].inputs->blocks[0].values.view();
  Matrix gram = Matrix::Zero(x.rows(), x.rows());
  for (const KernelSpec& kernel : problem.kernels) {
    for (Index i = 0; i < x.rows(); ++i) {
      for (Index j = 0; j < x.rows(); ++j) {
        gram(i, j) += std::exp(-(x.row(i) - x.row(j)).squaredNorm() /
                               (2 * kernel.bandwidth * kernel.bandwidth));
      }
    }
  }
  return gram;
}

// Two classes of which the second has a quarter of the rows.
inline Dataset ImbalancedData(Index rows) {
  Dataset data = ClassificationData(rows, 2, 2, 3);
  for (Index i = 0; i < rows; ++i) {
    data.role_columns[0].values(i) = i % 4 == 0 ? 1.0 : 0.0;
  }
  return data;
}

}  // namespace mercer
