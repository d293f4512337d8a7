// The memory that runs take whose features enter many at a time, against their estimate, which is known before them.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/core/learners/infinite_features/feature_problems.h"
#include "tests/support/peak_growth.h"

namespace mercer::infinite_features {
namespace {

TEST(InfiniteFeaturesMemoryTest, EstimateHoldsWhereManyColumnsEnterAtOnce) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  constexpr Index kRows = 20000;
  constexpr Index kColumns = 150;
  RowMatrix values = NormalMatrix(kRows, kColumns, 3);
  Matrix signs = (values.rowwise().sum().array() > 0).select(Matrix::Ones(kRows, 1), -1.0);
  const TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, std::move(values), std::move(signs), {});
  ProblemShape shape;
  shape.rows = kRows;
  shape.columns = kColumns;
  shape.relative_gap = problem.relative_gap;
  for (const char* const solver : {"newton", "admm"}) {
    const OptionValues options = {{"family", std::string("columns")},
                                  {"max_groups", int64_t{kColumns}},
                                  {"lambda", 1e-3},
                                  {"solver", std::string(solver)}};
    const auto estimate = static_cast<int64_t>(*Entry().estimate_memory(options, shape));
    const int64_t grown = PeakGrowth([&] { return RunToGap(Entry(), options, problem).ok(); });
    ASSERT_GE(grown, 0) << solver << ": training failed in the child";
    EXPECT_LE(grown, estimate + kCodeAndStacks) << solver;
    EXPECT_GE(4 * grown, estimate) << solver;
  }
}

}  // namespace
}  // namespace mercer::infinite_features
