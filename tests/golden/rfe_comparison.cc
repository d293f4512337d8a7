// Comparison of recursive feature elimination: tests/fixtures/coordinate-gradients/README.md.
#include <gtest/gtest.h>

#include "tests/golden/fixture_comparison.h"

namespace mercer::golden {

using nlohmann::json;

void CompareSvmRfe(const json& fixture, const json& answer) {
  const json& expected = fixture.at("expected");
  const json& result = answer.at("result");
  EXPECT_EQ(result.at("ranking"), expected.at("ranking"));
  EXPECT_EQ(result.at("sizes"), expected.at("sizes"));
  const json& weights = expected.at("weights_per_round");
  ASSERT_EQ(result.at("weights_per_round").size(), weights.size());
  const double close = fixture.at("tolerance").at("values_absolute");
  for (size_t round = 0; round < weights.size(); ++round) {
    const json& found = result.at("weights_per_round")[round];
    ASSERT_EQ(found.size(), weights[round].size());
    for (size_t c = 0; c < found.size(); ++c) {
      EXPECT_NEAR(found[c].get<double>(), weights[round][c].get<double>(), close)
          << "round " << round + 1 << ", weight " << c + 1;
    }
  }
}

}  // namespace mercer::golden
