// Many calls that the door refuses, in the log.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "server/rpc/refusal_log.h"
#include "tests/integration/access_fixture.h"

namespace mercer::server {
namespace {

using RefusalFloodTest = AccessTest;

TEST_F(RefusalFloodTest, BadTokensDoNotFillTheLog) {
  AddToken("ada", "read");
  Start();
  constexpr int kCalls = 300;
  const absl::Time begin = absl::Now();
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_EQ(Call("DatasetService/ListDatasets", TokenOf("mallory")).error_code(),
              grpc::UNAUTHENTICATED);
  }
  const int64_t seconds = absl::ToInt64Seconds(absl::Now() - begin) + 2;
  DrainServer();
  server_.reset();
  const std::string log = log_text_.str();
  int64_t lines = 0;
  int64_t counted = 0;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    lines += absl::StrContains(line, "refused caller=") ? 1 : 0;
    const size_t place = line.find("refused further calls=");
    int64_t calls = 0;
    if (place != absl::string_view::npos) {
      const std::vector<absl::string_view> words =
          absl::StrSplit(line.substr(place), absl::ByAnyChar("= "));
      ASSERT_TRUE(absl::SimpleAtoi(words[3], &calls)) << line;
    }
    counted += calls;
  }
  EXPECT_EQ(lines + counted, kCalls);
  EXPECT_LE(lines, RefusalLog::kLinesPerSecond * seconds);
  EXPECT_GE(lines, RefusalLog::kLinesPerSecond);
}

}  // namespace
}  // namespace mercer::server
