// An allocation that fails ends the run that asked for it, never the process: every learner of the registry under every choice of its
// options, with allocations that fail all along its run. What is left of a run does not harm the next.
#include "core/base/process/run_safely.h"
#include "core/learners/registry.h"
#include "tests/conformance/learner_conformance.h"
#include "tests/support/exhaustion/failing_allocations.h"

namespace mercer {
namespace {

constexpr int64_t kOnce = 1;
constexpr int kThreads = 2;

class AllocationFailure : public LearnerConformance {
 protected:
  AllocationFailure() : problem_(Problem(300, 4)) {
    PreparedData named = *problem_.tasks[0].inputs;
    named.cache_key = "toy rows";
    problem_.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(named));
  }

  // What a run leaves, where `count` allocations fail from the `first` on.
  absl::StatusOr<std::string> Run(const OptionValues& options, int threads, int64_t first,
                                  int64_t count) {
    RunSettings settings;
    settings.options = options;
    settings.max_iterations = 6;
    settings.threads = threads;
    settings.cache = cache_;
    ConformanceObserver observer;
    observer.wants_checkpoints = true;
    absl::StatusOr<TrainingOutcome> outcome = absl::UnknownError("no run");
    {
      const FailingAllocations failing(first, count);
      outcome = RunSafely("training", [&] { return Train(problem_, settings, observer); });
    }
    if (!outcome.ok()) {
      return outcome.status();
    }
    return Bits(*outcome);
  }

  TrainingProblem problem_;
  std::shared_ptr<SharedCache> cache_ = std::make_shared<SharedCache>(size_t{1} << 26);
};

TEST_P(AllocationFailure, EndsTheRunAndHarmsNoOther) {
  constexpr int kFailuresOfRun = 5;
  const int failures_of_defaults = IsThorough() ? 60 : 25;
  RandomStream random(7, "failing-allocations");
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    const absl::StatusOr<std::string> whole = Run(options, 1, FailingAllocations::kNever, 0);
    ASSERT_TRUE(whole.ok()) << OptionText(options) << whole.status();
    // With what the cache has kept of the first.
    ASSERT_EQ(Run(options, kThreads, FailingAllocations::kNever, 0).value_or(""), *whole);
    const auto of_run = static_cast<double>(FailingAllocations::seen());
    const int failures = options.empty() ? failures_of_defaults : kFailuresOfRun;
    for (int i = 0; i < failures; ++i) {
      const auto first =
          static_cast<int64_t>((static_cast<double>(i) + random.Uniform()) / failures * of_run);
      for (const int64_t count : {kOnce, FailingAllocations::kNever}) {
        cache_ = i % 2 == 0 ? cache_ : std::make_shared<SharedCache>(size_t{1} << 26);
        const std::string what = OptionText(options) + "allocation " + std::to_string(first) +
                                 (count == kOnce ? "" : " and all after it");
        const absl::StatusOr<std::string> failed = Run(options, 1 + i % kThreads, first, count);
        if (failed.ok()) {
          EXPECT_EQ(*failed, *whole) << what;
        } else {
          EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted)
              << what << ": " << failed.status();
        }
      }
    }
    const absl::StatusOr<std::string> again = Run(options, 1, FailingAllocations::kNever, 0);
    ASSERT_TRUE(again.ok()) << OptionText(options) << again.status();
    EXPECT_EQ(*again, *whole) << OptionText(options);
  }
}

TEST(SharedCacheTest, ValueThatFindsNoMemoryLeavesTheCacheWhole) {
  const auto value = std::make_shared<const int>(7);
  const std::function<absl::StatusOr<std::shared_ptr<const int>>()> make = [&] { return value; };
  const auto bytes_are = [](size_t bytes) {
    return [bytes](const int& /*value*/) { return bytes; };
  };
  SharedCache cache(100);
  int failed = 0;
  for (int64_t first = 0; first < 8; ++first) {
    const std::string key = "a key too long to lie in its string " + std::to_string(first);
    {
      const FailingAllocations failing(first, kOnce);
      failed +=
          RunSafely("work", [&] { return cache.GetOrMake<int>(key, bytes_are(90), make); }).ok()
              ? 0
              : 1;
    }
    ASSERT_TRUE(cache.GetOrMake<int>("large" + key, bytes_are(90), make).ok());
    ASSERT_EQ(cache.size_bytes(), 90);
    ASSERT_TRUE(cache.GetOrMake<int>("other" + key, bytes_are(60), make).ok());
    ASSERT_EQ(cache.size_bytes(), 60);
  }
  EXPECT_GT(failed, 1);
}

INSTANTIATE_TEST_SUITE_P(Registry, AllocationFailure,
                         ::testing::ValuesIn(LearnerCases(AllLearners())), LearnerCaseName);

}  // namespace
}  // namespace mercer
