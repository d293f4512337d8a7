// The search for a step finds what sorting all steps finds.
#include "core/objectives/step_search.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

FoundStep FindBySorting(const RowSteps& steps, double height) {
  std::vector<std::pair<double, double>> sorted;
  for (Index i = 0; i < steps.places.size(); ++i) {
    if (steps.jumps.data()[i] > 0) {
      sorted.emplace_back(steps.places.data()[i], steps.jumps.data()[i]);
    }
  }
  std::sort(sorted.begin(), sorted.end());
  double risen = 0;
  for (size_t i = 0; i < sorted.size();) {
    const double before = risen;
    const double place = sorted[i].first;
    for (; i < sorted.size() && sorted[i].first == place; ++i) {
      risen += sorted[i].second;
    }
    if (risen >= height) {
      return {place, before, risen};
    }
  }
  return {kInfinity, risen, risen};
}

RowSteps MakeSteps(Index rows, Index columns, uint64_t seed) {
  RandomStream random(seed, "steps");
  RowSteps steps{Matrix(rows, columns), Matrix(rows, columns)};
  for (Index i = 0; i < steps.places.size(); ++i) {
    // Places that are often equal, or of very different sizes; jumps whose sums are exact.
    const double place = seed % 3 == 0 ? static_cast<double>(random.Below(10)) - 5
                         : seed % 3 == 1
                             ? random.Normal()
                             : std::ldexp(random.Normal(), static_cast<int>(2 * (i % 400) - 400));
    const auto jump = static_cast<double>(random.Below(4));
    steps.places.data()[i] = jump > 0 ? place : kInfinity;
    steps.jumps.data()[i] = jump;
  }
  return steps;
}

TEST(StepSearchTest, FindsWhatSortingFinds) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RowSteps steps = MakeSteps(1 + static_cast<Index>(seed * seed), 1 + seed % 2, seed);
    const double total = steps.jumps.sum();
    for (const double share : {0.0, 0.01, 0.3, 0.5, 0.99, 1.0, 1.1}) {
      const double height = 1 + share * total;
      const FoundStep expected = FindBySorting(steps, height);
      for (const int threads : {1, 3}) {
        const RunContext context(CancellationToken(), threads, nullptr);
        const absl::StatusOr<FoundStep> found = FindStep(
            steps, [&](double risen, double /*place*/) { return risen - height; }, context);
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_EQ(found->place, expected.place) << "seed " << seed << ", share " << share;
        EXPECT_EQ(found->before, expected.before) << "seed " << seed << ", share " << share;
        EXPECT_EQ(found->risen, expected.risen) << "seed " << seed << ", share " << share;
      }
    }
  }
}

TEST(StepSearchTest, FewQuestionsAreEnough) {
  const RowSteps steps = MakeSteps(100'000, 1, 1);
  const double height = 0.4 * steps.jumps.sum();
  int questions = 0;
  const auto value = [&](double risen, double /*place*/) {
    ++questions;
    return risen - height;
  };
  ASSERT_TRUE(FindStep(steps, value, RunContext()).ok());
  EXPECT_LE(questions, 60);  // two for each pass over the rows
}

TEST(StepSearchTest, NoStepsHaveNone) {
  const absl::StatusOr<FoundStep> found = FindStep(
      {}, [](double, double) { return 1.0; }, RunContext());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->place, kInfinity);
  EXPECT_EQ(found->before, 0.0);
}

}  // namespace
}  // namespace mercer
