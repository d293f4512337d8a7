#include "core/base/process/run_safely.h"

#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer {
namespace {

absl::Status Throw(const std::exception_ptr& exception) {
  return RunSafely("the work", [&]() -> absl::Status { std::rethrow_exception(exception); });
}

TEST(RunSafelyTest, PassesOnWhatTheWorkReturns) {
  EXPECT_TRUE(RunSafely("work", [] { return absl::OkStatus(); }).ok());
  const absl::Status refused = WithReason(absl::NotFoundError("no such row"), "BAD_ROW");
  EXPECT_EQ(RunSafely("work", [&] { return refused; }), refused);
  EXPECT_EQ(RunSafely("work", [&]() -> const absl::Status& { return refused; }), refused);
}

TEST(RunSafelyTest, PassesOnValuesThatCanOnlyBeMoved) {
  const absl::StatusOr<std::unique_ptr<int>> made = RunSafely(
      "work", []() -> absl::StatusOr<std::unique_ptr<int>> { return std::make_unique<int>(7); });
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(**made, 7);
}

TEST(RunSafelyTest, WorkThatIsAValueOfItsOwnIsRunOnce) {
  int runs = 0;
  auto work = [&runs, owned = std::make_unique<int>(1)]() -> absl::Status {
    runs += *owned;
    return absl::OkStatus();
  };
  EXPECT_TRUE(RunSafely("work", std::move(work)).ok());
  EXPECT_EQ(runs, 1);
}

TEST(RunSafelyTest, LackOfMemoryIsResourceExhausted) {
  const absl::Status status = Throw(std::make_exception_ptr(std::bad_alloc()));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(status), "OUT_OF_MEMORY");
  EXPECT_EQ(status.message(), "the work: out of memory");
  // A class derived from bad_alloc, as `new` throws it for absurd sizes.
  EXPECT_EQ(GetReason(Throw(std::make_exception_ptr(std::bad_array_new_length()))),
            "OUT_OF_MEMORY");
}

TEST(RunSafelyTest, OtherExceptionsAreInternalWithTheirMessage) {
  const absl::Status status = Throw(std::make_exception_ptr(std::out_of_range("index 5")));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "the work: index 5");
  EXPECT_EQ(GetReason(status), "");
}

TEST(RunSafelyTest, ExceptionsOfUnknownTypeAreInternal) {
  const absl::StatusOr<int> result =
      RunSafely("the work", []() -> absl::StatusOr<int> { throw 17; });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(result.status().message(), "the work: an exception of unknown type");
}

}  // namespace
}  // namespace mercer
