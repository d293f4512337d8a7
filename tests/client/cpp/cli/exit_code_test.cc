#include "client/cpp/cli/exit_code.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

TEST(ExitCodeTest, EveryKindOfErrorHasItsCode) {
  const std::vector<std::pair<absl::StatusCode, int>> expected = {
      {absl::StatusCode::kOk, 0},
      {absl::StatusCode::kInternal, 1},
      {absl::StatusCode::kDataLoss, 1},
      {absl::StatusCode::kUnknown, 1},
      {absl::StatusCode::kUnimplemented, 1},
      {absl::StatusCode::kInvalidArgument, 3},
      {absl::StatusCode::kOutOfRange, 3},
      {absl::StatusCode::kNotFound, 4},
      {absl::StatusCode::kAlreadyExists, 5},
      {absl::StatusCode::kFailedPrecondition, 5},
      {absl::StatusCode::kAborted, 5},
      {absl::StatusCode::kUnavailable, 6},
      {absl::StatusCode::kDeadlineExceeded, 6},
      {absl::StatusCode::kCancelled, 7},
      {absl::StatusCode::kResourceExhausted, 8},
      {absl::StatusCode::kUnauthenticated, 9},
      {absl::StatusCode::kPermissionDenied, 9}};
  for (const auto& [code, exit_code] : expected) {
    EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::Status(code, "x"))), exit_code)
        << absl::StatusCodeToString(code);
  }
}

TEST(ExitCodeTest, HelpNamesEveryCode) {
  const std::string help = kExitCodeHelp;
  for (const char* const code :
       {"0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 ", "8 ", "9 ", "130 "}) {
    EXPECT_NE(help.find(std::string(" ") + code), std::string::npos) << code;
  }
}

}  // namespace
}  // namespace mercer::client
