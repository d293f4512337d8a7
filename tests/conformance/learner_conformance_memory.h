// Conformance of memory estimates: never below what a run takes, and at most three times that, for
// every variant of the options. Measured as the growth of the resident memory of a process of its
// own.
#pragma once

#include <algorithm>

#include "tests/conformance/learner_conformance.h"
#include "tests/support/peak_growth.h"

namespace mercer {

struct MemoryShape {
  Index rows;
  Index columns;
  std::vector<double> bandwidths;
};

// Not square numbers of tiles, many rows, many columns, many kernels. Rows are square patches too.
inline std::vector<MemoryShape> MemoryShapes() {
  std::vector<double> many(40);
  for (size_t k = 0; k < many.size(); ++k) {
    many[k] = 0.5 + 0.25 * static_cast<double>(k);
  }
  return {
      {1500, 9, {0.7, 2.0, 6.0}}, {2300, 4, {1.0}}, {1200, 289, {10.0, 30.0}}, {1100, 16, many}};
}

TEST_P(LearnerConformance, MemoryEstimateIsAnUpperBoundAndAtMostThreeTimesThePeak) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  for (const MemoryShape& memory : MemoryShapes()) {
    const TrainingProblem problem = Problem(memory.rows, memory.columns, memory.bandwidths);
    ProblemShape shape;
    shape.rows = memory.rows;
    shape.columns = memory.columns;
    shape.kernels = static_cast<Index>(problem.kernels.size());
    shape.sources = std::min<Index>(1, shape.kernels);
    shape.source_columns = shape.sources * shape.columns;
    const std::string what = std::to_string(memory.rows) + " x " + std::to_string(memory.columns) +
                             ", " + std::to_string(shape.kernels) + " kernels";
    for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
      const absl::StatusOr<size_t> estimate = entry().estimate_memory(options, shape);
      ASSERT_TRUE(estimate.ok()) << estimate.status();
      const int64_t grown = PeakGrowth(
          [&] { return Train(problem, {.options = options, .max_iterations = 16}).ok(); });
      EXPECT_GE(grown, 0) << what << ", " << OptionText(options)
                          << ": training failed in the child";
      EXPECT_GE(static_cast<int64_t>(*estimate) + kCodeAndStacks, grown)
          << what << ", " << OptionText(options);
      EXPECT_LE(static_cast<int64_t>(*estimate), 3 * grown) << what << ", " << OptionText(options);
    }
  }
}

}  // namespace mercer
