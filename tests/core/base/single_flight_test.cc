#include "core/base/process/single_flight.h"

#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer {
namespace {

// What four threads get that ask for `key` while the first of them makes it.
std::vector<absl::StatusOr<int>> AskAtOnce(SingleFlight<int>& flights, std::atomic<int>& made,
                                           bool fails) {
  std::vector<absl::StatusOr<int>> answers(4);
  std::atomic<size_t> begun{0};
  std::vector<std::thread> threads;
  for (absl::StatusOr<int>& answer : answers) {
    threads.emplace_back([&] {
      ++begun;
      answer = flights.Run("key", "making a number", [&]() -> absl::StatusOr<int> {
        const int number = ++made;
        while (begun < answers.size()) {
          std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // they have come to wait
        if (fails) {
          throw std::bad_alloc();
        }
        return number;
      });
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return answers;
}

TEST(SingleFlightTest, ThoseWhoAskAtTheSameTimeGetOneAnswer) {
  SingleFlight<int> flights;
  std::atomic<int> made{0};
  for (const absl::StatusOr<int>& answer : AskAtOnce(flights, made, false)) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_LE(*answer, made.load());
  }
  EXPECT_LT(made, 4);
}

TEST(SingleFlightTest, WhatIsThrownIsAnErrorForAll) {
  SingleFlight<int> flights;
  std::atomic<int> made{0};
  for (const absl::StatusOr<int>& answer : AskAtOnce(flights, made, true)) {
    EXPECT_EQ(GetReason(answer.status()), "OUT_OF_MEMORY");
  }
  EXPECT_LT(made, 4);
}

TEST(SingleFlightTest, NothingIsKept) {
  SingleFlight<int> flights;
  int made = 0;
  const auto make = [&]() -> absl::StatusOr<int> { return ++made; };
  EXPECT_EQ(*flights.Run("key", "making a number", make), 1);
  EXPECT_EQ(*flights.Run("key", "making a number", make), 2);
}

TEST(SingleFlightTest, OtherKeysAreMadeMeanwhile) {
  SingleFlight<int> flights;
  const absl::StatusOr<int> outer = flights.Run("a", "making a number", [&] {
    return flights.Run("b", "making a number", []() -> absl::StatusOr<int> { return 2; });
  });
  EXPECT_EQ(*outer, 2);
}

}  // namespace
}  // namespace mercer
