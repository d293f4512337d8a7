#include "core/base/process/parallel.h"

#include <atomic>
#include <cmath>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/process/run_context.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"

namespace mercer {
namespace {

TEST(ParallelLoopTest, VisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 4}) {
    const ParallelLoop loop(threads);
    for (const Index size : {0, 1, 7, 8, 9, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(size));
      loop.ForBlocks(size, 8, [&](Index begin, Index end) {
        ASSERT_LE(end - begin, 8);
        for (Index i = begin; i < end; ++i) {
          ++visits[static_cast<size_t>(i)];
        }
      });
      for (const auto& count : visits) {
        EXPECT_EQ(count.load(), 1) << "threads " << threads << " size " << size;
      }
    }
  }
}

TEST(ParallelLoopTest, ExceptionOfAnyThreadReachesTheCaller) {
  for (const int threads : {1, 2}) {
    const ParallelLoop loop(threads);
    const absl::Status status = RunSafely("the loop", [&] {
      loop.ForBlocks(1000, 1, [](Index begin, Index) {
        if (begin % 100 == 99) {
          throw std::bad_alloc();
        }
      });
      return absl::OkStatus();
    });
    EXPECT_EQ(GetReason(status), "OUT_OF_MEMORY") << "threads " << threads;
  }
}

TEST(ParallelLoopTest, SumsInBlockOrderDoNotDependOnThreads) {
  constexpr Index kSize = 10'000;
  constexpr Index kBlock = 64;
  std::vector<double> totals;
  for (const int threads : {1, 2, 3}) {
    std::vector<double> slots((kSize + kBlock - 1) / kBlock, 0.0);
    ParallelLoop(threads).ForBlocks(kSize, kBlock, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        slots[static_cast<size_t>(begin / kBlock)] += std::sin(static_cast<double>(i));
      }
    });
    double total = 0;
    for (const double slot : slots) {
      total += slot;
    }
    totals.push_back(total);
  }
  EXPECT_EQ(totals[0], totals[1]);
  EXPECT_EQ(totals[0], totals[2]);
}

TEST(SharedCacheTest, ReturnsTheSameObjectUntilEvicted) {
  SharedCache cache(100);
  int made = 0;
  const auto get = [&](const std::string& key, size_t bytes) {
    return *cache.GetOrMake<int>(
        key, [&](const int& /*value*/) { return bytes; },
        [&]() -> absl::StatusOr<std::shared_ptr<const int>> {
          return std::make_shared<const int>(++made);
        });
  };
  EXPECT_EQ(*get("a", 60), 1);
  EXPECT_EQ(*get("a", 60), 1);
  EXPECT_EQ(*get("b", 30), 2);
  EXPECT_EQ(*get("a", 60), 1);
  EXPECT_EQ(*get("c", 30), 3);  // evicts b, the least recently used
  EXPECT_EQ(*get("a", 60), 1);
  EXPECT_EQ(*get("b", 30), 4);
  EXPECT_LE(cache.size_bytes(), 100u);
  EXPECT_EQ(*get("huge", 101), 5);
  {
    const std::shared_ptr<const int> held = get("huge", 101);
    EXPECT_EQ(*held, 6);  // nobody held the last one
    EXPECT_EQ(get("huge", 101), held);
    // Of two that were made at the same time the first is found, as long as it lives.
    std::shared_ptr<const int> first;
    const auto second = *cache.GetOrMake<int>(
        "both", [](const int& /*value*/) { return size_t{101}; },
        [&]() -> absl::StatusOr<std::shared_ptr<const int>> {
          first = get("both", 101);
          return std::make_shared<const int>(++made);
        });
    EXPECT_NE(second, first);
    EXPECT_EQ(get("both", 101), first);
  }
  EXPECT_LE(cache.size_bytes(), 100u);
  EXPECT_EQ(*get("", 1), 9);
  EXPECT_EQ(*get("", 1), 10);
}

TEST(SharedCacheTest, WhatIsNotToBeKeptIsMadeAnew) {
  SharedCache cache(100);
  int made = 0;
  const auto get = [&] {
    return *cache.GetOrMake<int>(
        "a", [](const int& /*value*/) { return SharedCache::kNotKept; },
        [&]() -> absl::StatusOr<std::shared_ptr<const int>> {
          return std::make_shared<const int>(++made);
        });
  };
  const std::shared_ptr<const int> held = get();
  EXPECT_EQ(*get(), 2) << "though the first one lives";
  EXPECT_EQ(cache.size_bytes(), 0U);
}

TEST(SharedCacheTest, AnErrorIsNotKept) {
  SharedCache cache(100);
  const auto failed = cache.GetOrMake<int>(
      "a", [](const int& /*value*/) { return size_t{1}; },
      []() -> absl::StatusOr<std::shared_ptr<const int>> { return absl::CancelledError("stop"); });
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(cache.size_bytes(), 0u);
}

TEST(RunContextTest, EveryCopyOfATokenCancels) {
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  EXPECT_TRUE(context.CheckCancelled().ok());
  const CancellationToken copy = token;
  copy.Cancel();
  EXPECT_EQ(context.CheckCancelled().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace mercer
