// Whether the counts of work of learners grow with what there is to do.
#pragma once

#include <cmath>
#include <limits>

#include "tests/conformance/learner_conformance.h"

namespace mercer {

inline void ExpectAtLeast(const WorkCount& larger, const WorkCount& smaller, const char* what) {
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    EXPECT_GE(smaller[kind], 0) << what << ", kind " << i;
    EXPECT_GE(larger[kind], smaller[kind]) << what << ", kind " << i;  // false for NaN
  }
}

TEST_P(LearnerConformance, WorkIsCountedAndGrowsWithTheShape) {
  ProblemShape base;
  base.rows = 1000;
  base.columns = 10;
  base.kernels = 3;
  base.sources = 1;
  base.source_columns = 10;
  ProblemShape more_rows = base;
  more_rows.rows = 2000;
  ProblemShape more_kernels = base;
  more_kernels.kernels = 7;
  ProblemShape more_digits = base;
  more_digits.relative_gap = 1e-6;
  ProblemShape absurd = base;
  absurd.rows = std::numeric_limits<Index>::max();
  absurd.kernels = std::numeric_limits<Index>::max();
  for (const OptionValues& options : OptionVariants(entry(), kind())) {
    const auto work = entry().estimate_work(options, base);
    ASSERT_TRUE(work.ok()) << work.status();
    double total = 0;
    for (size_t i = 0; i < kNumWorkKinds; ++i) {
      total += work->training[static_cast<WorkKind>(i)] + work->shared[static_cast<WorkKind>(i)];
    }
    // Whoever learns from rows looks at each of them.
    EXPECT_GE(total, 1000) << OptionText(options);
    for (const ProblemShape& shape : {more_rows, more_kernels, more_digits, absurd}) {
      const auto larger = entry().estimate_work(options, shape);
      ASSERT_TRUE(larger.ok()) << larger.status();
      ExpectAtLeast(larger->training, work->training, "training");
      ExpectAtLeast(larger->verification, work->verification, "verification");
      ExpectAtLeast(larger->shared, work->shared, "shared");
    }
  }
}

}  // namespace mercer
