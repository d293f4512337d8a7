#include <gtest/gtest.h>

#include "core/kernels/lowrank/low_rank_family.h"
#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

struct FamilyShape {
  const char* what;
  Index rows;
  Index landmarks;
  Index max_rank;
  std::vector<double> bandwidths;
};

TEST(LowRankFamilyBytesTest, EstimateIsAnUpperBoundOfAFamilyAndACombination) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  for (const FamilyShape& of :
       {FamilyShape{"many rows", 40000, 60, 0, {1.0, 1.3, 1.6, 2.0, 2.5, 3.0}},
        FamilyShape{"many rows of one kernel", 100000, 100, 0, {1.5}},
        FamilyShape{"a cap on the rank", 60000, 150, 50, {1.0, 1.2, 1.4, 1.6}},
        FamilyShape{"many landmarks", 5000, 300, 0, {1.0, 1.5, 2.0}}}) {
    const auto data = BlockOf(RandomRows(of.rows, 8, 1));
    const std::vector<KernelSpec> kernels = GaussiansOfX(of.bandwidths);
    const auto m = static_cast<Index>(kernels.size());
    LowRankOptions options;
    options.nystrom.max_rank = of.max_rank;
    const Index of_kernel = of.max_rank > 0 ? of.max_rank : of.landmarks;
    options.basis.max_columns =
        LargestJointRank(m * of_kernel, of.landmarks, m, 1, options.basis.tolerance);
    const int64_t grown = PeakGrowth([&] {
      RunContext context;
      std::vector<Index> rows;
      for (Index i = 0; i < of.landmarks; ++i) {
        rows.push_back(i);
      }
      const auto family = LowRankKernelFamily::Make(*data, LandmarksFromRows(*data, rows), kernels,
                                                    options, context);
      return family.ok() && (*family)->Combine(Vector::Ones(m), context).ok();
    });
    EXPECT_GT(grown, 0) << of.what << ": the family failed in the child";
    const auto estimate =
        static_cast<int64_t>(LowRankFamilyBytes({.rows = of.rows,
                                                 .kernels = m,
                                                 .landmarks = of.landmarks,
                                                 .all_landmarks = of.landmarks,
                                                 .of_kernel = of_kernel,
                                                 .max_columns = options.basis.max_columns}));
    EXPECT_GE(estimate + kCodeAndStacks, grown) << of.what;
    EXPECT_LE(estimate, 3 * grown) << of.what;
  }
}

}  // namespace
}  // namespace mercer
