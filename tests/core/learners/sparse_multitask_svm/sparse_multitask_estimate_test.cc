// What a training is expected to do, before it begins.
#include <gtest/gtest.h>

#include "core/learners/registry.h"

namespace mercer::sparse_multitask_svm {
namespace {

// Systems are of the rows or of the columns, whichever are fewer.
TEST(SparseMultitaskEstimateTest, ManyRowsOfFewColumnsTakeTimeInProportion) {
  const LearnerEntry& entry = *FindLearner("sparse_multitask_svm");
  ProblemShape shape;
  shape.columns = 50;
  shape.kernels = 50;
  shape.disjoint_columns = true;
  const auto operations = [&](Index rows) {
    shape.rows = rows;
    return entry.estimate_work({}, shape)->training[WorkKind::kFactorOperations];
  };
  EXPECT_LT(operations(40'000), 4.5 * operations(10'000));
  EXPECT_GE(operations(40'000), operations(10'000));
}

}  // namespace
}  // namespace mercer::sparse_multitask_svm
