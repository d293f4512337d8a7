// What takes effect while the server runs, what waits for a start, what is refused.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/app/command_line.h"
#include "server/app/server_options.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ServerOptions Resolved(const ServerOptions& options) {
  const absl::StatusOr<ServerOptions> resolved = ResolveOptions(options);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return *resolved;
}

// The flags that lines of the help begin with.
std::vector<std::string> FlagsInHelp() {
  const char* const arguments[] = {"mercer-server", "--help"};
  testing::internal::CaptureStdout();
  ParseCommandLine(2, arguments);
  std::istringstream help(testing::internal::GetCapturedStdout());
  std::vector<std::string> flags;
  for (std::string line; std::getline(help, line);) {
    const size_t begin = line.find("--");
    const size_t text = line.find_first_not_of(' ');
    if (begin == std::string::npos || (text != begin && line.compare(text, 3, "-h,") != 0)) {
      continue;
    }
    const size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);
    flags.push_back(line.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return flags;
}

TEST(ReloadTest, EveryFlagEitherTakesEffectOrIsNamed) {
  ServerOptions options;
  std::vector<std::string> known;
  for (const Setting& setting : SettingsOf(options)) {
    EXPECT_EQ(std::count(known.begin(), known.end(), setting.flag), 0) << setting.flag;
    known.emplace_back(setting.flag);
  }
  // What is no option of a server that runs.
  known.insert(known.end(), {"--help", "--version", "--config", "--check", "--repair"});
  const std::vector<std::string> flags = FlagsInHelp();
  EXPECT_GE(flags.size(), 25u);
  EXPECT_THAT(flags, testing::UnorderedElementsAreArray(known));
}

TEST(SettingsTest, NumbersOutOfTheirRangeAreRefusedWithIt) {
  for (const auto& [argument, meaning] : std::vector<std::pair<const char*, const char*>>{
           {"--workers=65", "--workers: must be in [0, 64], is 65"},
           {"--max-calls=-1", "--max-calls: must be >= 0, is -1"},
           {"--upload-expiry=nan", "--upload-expiry: must be in [1, 31536000], is nan"}}) {
    const char* const arguments[] = {"mercer-server", argument};
    testing::internal::CaptureStderr();
    EXPECT_TRUE(ParseCommandLine(2, arguments).exit_code.has_value()) << argument;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr(meaning));
  }
}

TEST(ReloadTest, LimitsChangeAtOnceAndTheRestIsNamed) {
  ServerOptions given;
  given.max_queued_jobs = 5;
  given.listen = "127.0.0.1:0";
  ServerOptions fresh = given;
  fresh.max_queued_jobs = 7;
  fresh.access.max_calls_per_caller = 10;
  fresh.log_level = "debug";
  fresh.upload_expiry = absl::Hours(2);
  fresh.listen = "127.0.0.1:9";
  fresh.workers = 3;
  const auto plan = PlanReload(given, Resolved(given), fresh);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->changes, ElementsAre("--upload-expiry 24h -> 2h", "--max-queued-jobs 5 -> 7",
                                         "--log-level info -> debug", "--max-calls 4096 -> 10"));
  EXPECT_THAT(plan->at_restart, ElementsAre("--listen", "--workers"));
  EXPECT_EQ(plan->options.max_queued_jobs, 7);
  EXPECT_EQ(plan->options.listen, "127.0.0.1:0") << "as it is, until the next start";
  EXPECT_EQ(plan->options.workers, Resolved(given).workers);
}

TEST(ReloadTest, AFurtherReloadComparesWithWhatIsInForce) {
  const ServerOptions given;
  ServerOptions fresh;
  fresh.max_stored_bytes = 100;
  const auto first = PlanReload(given, Resolved(given), fresh);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(first->changes, ElementsAre("--max-stored-bytes 0 -> 100"));
  const auto again = PlanReload(given, first->options, fresh);
  ASSERT_TRUE(again.ok());
  EXPECT_THAT(again->changes, IsEmpty());
  const auto back = PlanReload(given, again->options, given);
  ASSERT_TRUE(back.ok());
  EXPECT_THAT(back->changes, ElementsAre("--max-stored-bytes 100 -> 0"));
}

TEST(ReloadTest, ADefaultThatFollowsAnotherValueFollowsTheOneInForce) {
  ServerOptions given;
  given.memory_budget_bytes = int64_t{4} << 30;
  given.max_upload_bytes = 1000;
  ServerOptions fresh = given;
  fresh.memory_budget_bytes = int64_t{8} << 30;  // waits for the next start
  fresh.max_upload_bytes = 0;
  const auto plan = PlanReload(given, Resolved(given), fresh);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->options.max_upload_bytes, int64_t{4} << 30);
  EXPECT_EQ(plan->options.upload_space_bytes, int64_t{16} << 30);
  EXPECT_THAT(plan->at_restart, ElementsAre("--memory-budget"));
}

TEST(ReloadTest, OptionsThatNoServerWouldStartWithAreRefused) {
  const ServerOptions given;
  ServerOptions fresh;
  fresh.max_queued_jobs = -1;
  EXPECT_FALSE(PlanReload(given, Resolved(given), fresh).ok());
  fresh = given;
  fresh.listen = "0.0.0.0:9";  // without TLS and tokens
  EXPECT_FALSE(PlanReload(given, Resolved(given), fresh).ok());
}

}  // namespace
}  // namespace mercer::server
