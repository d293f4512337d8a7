// Memory that is kept for what must not fail.
#include "core/base/memory/memory_reserve.h"

#include <memory>
#include <new>
#include <sys/resource.h>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/process/parallel.h"
#include "core/base/process/run_safely.h"
#include "tests/support/exhaustion/failing_allocations.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

constexpr int64_t kReserve = int64_t{4} << 20;

absl::Status Allocate() {
  const auto number = std::make_unique<std::vector<int>>(100);
  return number->empty() ? absl::InternalError("no numbers") : absl::OkStatus();
}

TEST(MemoryReserveTest, WorkThatMayFailIsGivenNothing) {
  KeepMemoryInReserve(kReserve);
  const FailingAllocations failing(0, 1);
  EXPECT_EQ(RunSafely("work", Allocate).code(), absl::StatusCode::kResourceExhausted);
}

TEST(MemoryReserveTest, WhatMustNotFailAsksAgain) {
  KeepMemoryInReserve(kReserve);
  absl::Status status;
  {
    const FailingAllocations failing(0, 3);
    status = Allocate();
  }
  EXPECT_TRUE(status.ok());
  {
    const FailingAllocations failing(0, 3);
    status = RunNeeded("work", [] { Allocate().IgnoreError(); });
  }
  EXPECT_TRUE(status.ok());
}

TEST(MemoryReserveTest, ThreadsThatHelpFailAsTheirCallerDoes) {
  KeepMemoryInReserve(kReserve);
  const auto work = [] {
    ParallelLoop(2).ForBlocks(100, 1, [](Index, Index) { Allocate().IgnoreError(); });
    return absl::OkStatus();
  };
  ASSERT_TRUE(RunSafely("work", work).ok());  // the threads are there
  const FailingAllocations failing(50, FailingAllocations::kNever);
  EXPECT_EQ(RunSafely("work", work).code(), absl::StatusCode::kResourceExhausted);
}

TEST(MemoryReserveTest, MoreThanThereIsIsNotAskedForWithoutEnd) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers end the process";
  }
  KeepMemoryInReserve(kReserve);
  EXPECT_THROW(std::vector<char>(size_t{1} << 46), std::bad_alloc);
  EXPECT_EQ(ReserveBytes(), kReserve);
}

// In a process that has no more address space: all of the reserve can be used, and what is freed is no loss.
bool UsesAllOfTheReserve() {
  KeepMemoryInReserve(kReserve);
  std::vector<std::unique_ptr<char[]>> taken;
  taken.reserve(100'000);
  const rlimit limit = {int64_t{1} << 32, int64_t{1} << 32};
  if (setrlimit(RLIMIT_AS, &limit) != 0) {
    return false;
  }
  constexpr size_t kPiece = 100'000;
  const bool filled = absl::IsResourceExhausted(RunSafely("filling memory", [&] {
    while (true) {
      taken.emplace_back(new char[kPiece]);
    }
    return absl::OkStatus();
  }));
  const size_t before = taken.size();
  try {
    while (taken.size() < taken.capacity()) {
      taken.emplace_back(new char[kPiece]);
    }
  } catch (const std::bad_alloc&) {
  }
  const size_t given = (taken.size() - before) * kPiece;
  const bool used_up = ReserveBytes() == 0;
  taken.clear();
  RefillReserve();
  // What was freed is there again, in the reserve or with the C library, which keeps the addresses that it has.
  const absl::Status again = RunSafely("filling memory again", [&] {
    while (taken.size() < before / 2) {
      taken.emplace_back(new char[kPiece]);
    }
    return absl::OkStatus();
  });
  return filled && used_up && given > kReserve / 2 && again.ok();
}

TEST(MemoryReserveTest, AllOfItIsGivenWhenThereIsNothingElse) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers take more address space than a test may";
  }
  EXPECT_EXIT(_exit(UsesAllOfTheReserve() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mercer
