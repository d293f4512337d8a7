#include "core/training/targets/label_counts.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/training/targets/output_coding.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

TEST(LabelCountsTest, SaysWhatTheLabelsOfTheTrainingRowsSay) {
  RandomStream random(3, "label-counts");
  for (int round = 0; round < 200; ++round) {
    Vector labels(8);
    for (double& label : labels) {
      const double drawn = std::floor(3 * random.Uniform());
      label = random.Uniform() < 0.05 ? std::nan("") : drawn == 0 ? -0.0 : drawn;
    }
    labels(0) = 0.0;
    const RoleColumn target = NumericColumn(ColumnRole::kTarget, "label", labels);
    LabelCounts counts = *LabelCounts::Make(target, RunContext());
    for (Index first = 0; first + 5 <= 8; ++first) {
      std::vector<Index> training;
      std::vector<Index> held_out;
      for (Index row = 0; row < 8; ++row) {
        (row >= first && row < first + 5 ? held_out : training).push_back(row);
      }
      EXPECT_EQ(counts.TrainableWithout(held_out),
                OutputCoding::FromLabels(target, training, CodingChoice::kAuto, RunContext()).ok())
          << "round " << round << ", from row " << first;
    }
  }
}

}  // namespace
}  // namespace mercer
