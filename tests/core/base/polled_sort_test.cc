#include "core/base/process/polled_sort.h"

#include <algorithm>
#include <functional>
#include <utility>

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

constexpr size_t kLongSort = 5'000'000;

// Few keys, many values of each: a long merge divides runs of equal ones.
TEST(SortPolledTest, ALongMergeKeepsTheOrderOfEqualValues) {
  for (const size_t middle : {size_t{1}, kLongSort / 5, kLongSort - 3}) {
    std::vector<std::pair<int, size_t>> values(kLongSort);
    for (size_t i = 0; i < kLongSort; ++i) {
      values[i] = {static_cast<int>(i * 7 % 11), i};
    }
    const auto at = [&](size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(at(0), at(middle), less);
    std::stable_sort(at(middle), at(kLongSort), less);
    ASSERT_TRUE(MergePolled(at(0), at(middle), at(kLongSort), less, RunContext()).ok());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << middle;
  }
}

TEST(SortPolledTest, TheLastMergeOfALongSortEndsSoonAfterACancellation) {
  std::vector<size_t> given(kLongSort);
  for (size_t i = 0; i < kLongSort; ++i) {
    given[i] = i * 2'654'435'761 % kLongSort;
  }
  size_t comparisons = 0;
  size_t cancel_at = 0;
  const RunContext context;
  const auto less = [&](size_t a, size_t b) {
    if (++comparisons == cancel_at) {
      context.cancellation().Cancel();
    }
    return a < b;
  };
  std::vector<size_t> values = given;
  ASSERT_TRUE(SortPolled(values, less, context).ok());
  cancel_at = std::exchange(comparisons, 0) - kLongSort * 4 / 5;
  values = given;
  EXPECT_TRUE(absl::IsCancelled(SortPolled(values, less, context)));
  EXPECT_LE(comparisons, cancel_at + kLongSort / 2);
}

TEST(SortPolledTest, CancelledWorkSaysSo) {
  RunContext context;
  context.cancellation().Cancel();
  std::vector<double> values = {2, 1};
  EXPECT_TRUE(absl::IsCancelled(SortPolled(values, std::less<>(), context)));
}

}  // namespace
}  // namespace mercer
