#include "core/base/process/polled_sort.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

TEST(SortPolledTest, SortsAsTheStandardLibraryDoes) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{65'536}, size_t{65'537}, size_t{400'000}}) {
    RandomStream random(size, "polled sort");
    std::vector<double> values(size);
    for (double& value : values) {
      value = random.Uniform();
    }
    std::vector<double> expected = values;
    std::sort(expected.begin(), expected.end());
    ASSERT_TRUE(SortPolled(values, std::less<>(), RunContext()).ok());
    EXPECT_EQ(values, expected) << size;
  }
}

TEST(SortPolledTest, CancelledWorkSaysSo) {
  RunContext context;
  context.cancellation().Cancel();
  std::vector<double> values = {2, 1};
  EXPECT_TRUE(absl::IsCancelled(SortPolled(values, std::less<>(), context)));
}

}  // namespace
}  // namespace mercer
