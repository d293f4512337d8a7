// The memory that runs on kernels of low rank take, against their estimate, which is known before them.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"
#include "tests/support/peak_growth.h"

namespace mercer::lp_mkl {
namespace {

void ExpectWithinEstimate(const OptionValues& options, const std::vector<double>& bandwidths,
                          const std::string& what) {
  const Cloud cloud = OverlappingClouds(3000, 3, 5);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, bandwidths);
  ProblemShape shape;
  shape.rows = 3000;
  shape.columns = 3;
  shape.kernels = static_cast<Index>(bandwidths.size());
  shape.sources = 1;
  const auto estimate = static_cast<int64_t>(*Entry().estimate_memory(options, shape));
  const int64_t grown = PeakGrowth([&] { return Train(problem, options, 0.05).ok(); });
  ASSERT_GE(grown, 0) << what << ": training failed in the child";
  EXPECT_LE(grown, estimate + kCodeAndStacks) << what;
}

class LowRankMemoryRunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kGrowthIsMemoryHeld) {
      GTEST_SKIP() << "sanitizers keep freed memory";
    }
  }
};

TEST_F(LowRankMemoryRunTest, EstimateIsAnUpperBoundForEverySelection) {
  for (const std::string& selection : LandmarkSelections()) {
    ExpectWithinEstimate(SelectedBy(selection, OnLandmarks(60, {{"C", 1.0}})), {0.5, 1.0, 2.0, 4.0},
                         selection);
  }
}

// SMO keeps columns of the kernel.
TEST_F(LowRankMemoryRunTest, EstimateIsAnUpperBoundForSolversThatKeepColumns) {
  for (const char* solver : {"smo", "coordinate_descent", "gfb"}) {
    OptionValues options = OnLandmarks(20, {{"C", 0.01}});
    options["inner_solver"] = std::string(solver);
    ExpectWithinEstimate(options, {1.0}, solver);
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
