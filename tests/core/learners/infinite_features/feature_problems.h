// Problems and runs that the tests of this learner share.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/verify.h"
#include "core/training/model/predictor.h"
#include "tests/support/learner_runs.h"

namespace mercer::infinite_features {

// Two classes that no line divides: inside and outside of a ring, with noise.
inline TrainingProblem RingProblem(Index rows, uint64_t seed) {
  RowMatrix values = NormalMatrix(rows, 2, seed);
  RandomStream noise(seed, "ring-noise");
  Matrix targets(rows, 1);
  for (Index i = 0; i < rows; ++i) {
    targets(i, 0) = values.row(i).norm() + 0.3 * noise.Normal() > 1.2 ? 1 : -1;
  }
  TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, std::move(values), std::move(targets), {});
  problem.seed = seed;
  return problem;
}

// Three classes of a half, a third and a sixth of the rows, one output each.
inline TrainingProblem ThreeClassProblem(Index rows, uint64_t seed) {
  RowMatrix values = NormalMatrix(rows, 3, seed);
  Matrix targets = Matrix::Constant(rows, 3, -1.0);
  for (Index i = 0; i < rows; ++i) {
    const Index c = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
    values(i, c) += 2;
    targets(i, c) = 1;
  }
  TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, std::move(values), std::move(targets), {});
  problem.seed = seed;
  return problem;
}

inline OptionValues Merge(OptionValues values, const OptionValues& more) {
  for (const auto& [name, value] : more) {
    values[name] = value;
  }
  return values;
}

inline TrainingOutcome MustTrain(const OptionValues& options, const TrainingProblem& problem) {
  const absl::StatusOr<TrainingOutcome> outcome = RunToGap(Entry(), options, problem);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *outcome : TrainingOutcome();
}

inline double MetricOf(const TrainingOutcome& outcome, const std::string& name) {
  for (const Metric& metric : outcome.metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

inline Matrix ValuesAt(const TrainingOutcome& outcome, const RowMatrix& rows) {
  RunContext context;
  const absl::StatusOr<Matrix> values =
      EvaluateFunction(outcome.point.function, Prepared(rows), context);
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? *values : Matrix();
}

// Steps of a run on one thread, and on two from the state before.
inline void ExpectSameBitsFromEveryState(const OptionValues& options,
                                         const TrainingProblem& problem, int steps) {
  RunContext one_thread;
  RunContext two_threads(CancellationToken(), 2, nullptr);
  const auto straight = Entry().create(options);
  ASSERT_TRUE(straight.ok());
  ASSERT_TRUE((*straight)->Start(problem, nullptr).ok());
  for (int step = 0; step < steps; ++step) {
    const auto restored = Entry().create(options);
    ASSERT_TRUE((*restored)->RestoreState(problem, (*straight)->SaveState(), two_threads).ok());
    ASSERT_TRUE((*straight)->Step(one_thread, problem.relative_gap).ok());
    ASSERT_TRUE((*restored)->Step(two_threads, problem.relative_gap).ok());
    EXPECT_EQ((*straight)->SaveState(), (*restored)->SaveState()) << "after step " << step;
  }
}

}  // namespace mercer::infinite_features
