#include "client/cpp/retry.h"

#include <vector>

#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "tests/client/cpp/fake_server.h"

namespace mercer::client {
namespace {

const absl::Status kUnavailable = absl::UnavailableError("later");

TEST(BackoffTest, DelaysDoubleUpToTheLargest) {
  Backoff backoff({.max_attempts = 6,
                   .initial_backoff = absl::Milliseconds(100),
                   .multiplier = 2.0,
                   .max_backoff = absl::Milliseconds(350),
                   .jitter = 0.0},
                  1);
  std::vector<int64_t> delays;
  while (const auto delay = backoff.Next(kUnavailable)) {
    delays.push_back(absl::ToInt64Milliseconds(*delay));
  }
  EXPECT_EQ(delays, (std::vector<int64_t>{100, 200, 350, 350, 350}));
}

TEST(BackoffTest, JitterStaysInItsShareAndVaries) {
  double smallest = 1e9;
  double largest = 0.0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Backoff backoff({.initial_backoff = absl::Seconds(1), .jitter = 0.25}, seed);
    const double seconds = absl::ToDoubleSeconds(*backoff.Next(kUnavailable));
    smallest = std::min(smallest, seconds);
    largest = std::max(largest, seconds);
  }
  EXPECT_GE(smallest, 0.75);
  EXPECT_LE(largest, 1.25);
  EXPECT_LT(smallest, 0.8);
  EXPECT_GT(largest, 1.2);
}

TEST(BackoffTest, OnlyUnavailableIsTriedAgain) {
  Backoff backoff(RetryPolicy(), 1);
  EXPECT_FALSE(backoff.Next(absl::InternalError("bug")).has_value());
  EXPECT_FALSE(backoff.Next(absl::DeadlineExceededError("slow")).has_value());
  EXPECT_FALSE(backoff.Next(absl::ResourceExhaustedError("full")).has_value());
  EXPECT_FALSE(backoff.Next(absl::UnauthenticatedError("who?")).has_value());
  EXPECT_FALSE(backoff.Next(absl::PermissionDeniedError("no")).has_value());
  EXPECT_TRUE(backoff.Next(kUnavailable).has_value());
}

TEST(BackoffTest, WaitsAsLongAsTheServerAsks) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  const absl::Status status =
      ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::UNAVAILABLE, "draining", {&retry}));
  Backoff backoff(RetryPolicy(), 1);
  EXPECT_EQ(backoff.Next(status), absl::Seconds(2.5));
}

TEST(BackoffTest, ALimitThatAsksForAnotherAttemptGetsIt) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  const absl::Status status =
      ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many", {&retry}));
  Backoff backoff(RetryPolicy(), 1);
  EXPECT_EQ(backoff.Next(status), absl::Seconds(2));
}

TEST(BackoffTest, ALimitThatAsksForALongWaitIsAnError) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(6);
  Backoff backoff(RetryPolicy(), 1);
  EXPECT_EQ(backoff.Next(ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                                     "the disk is nearly full", {&retry}))),
            std::nullopt);
  EXPECT_EQ(backoff.Next(
                ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::UNAVAILABLE, "draining", {&retry}))),
            absl::Seconds(6));
}

TEST(BackoffTest, ResetBeginsAnew) {
  Backoff backoff({.max_attempts = 2, .jitter = 0.0}, 1);
  EXPECT_EQ(backoff.Next(kUnavailable), absl::Milliseconds(100));
  EXPECT_FALSE(backoff.Next(kUnavailable).has_value());
  backoff.Reset();
  EXPECT_EQ(backoff.Next(kUnavailable), absl::Milliseconds(100));
}

TEST(CallWithRetriesTest, StopsAtTheFirstSuccess) {
  int attempts = 0;
  std::vector<absl::Duration> slept;
  const absl::StatusOr<int> result = CallWithRetries(
      Backoff({.jitter = 0.0}, 1), [&](absl::Duration d, std::stop_token) { slept.push_back(d); },
      [&](int attempt) -> absl::StatusOr<int> {
        EXPECT_EQ(attempt, ++attempts);
        return attempts < 3 ? absl::StatusOr<int>(kUnavailable) : 42;
      });
  EXPECT_EQ(*result, 42);
  EXPECT_EQ(slept, (std::vector<absl::Duration>{absl::Milliseconds(100), absl::Milliseconds(200)}));
}

TEST(SleepTest, EndsWhenStopIsRequested) {
  std::stop_source stop;
  stop.request_stop();
  SleepUnlessStopped(absl::Hours(1), stop.get_token());  // would time out otherwise
}

}  // namespace
}  // namespace mercer::client
