// How many lines a flood of refusals gets.
#include "server/rpc/refusal_log.h"

#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "tests/server/jobs/fake_clock.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

class RefusalLogTest : public testing::Test {
 protected:
  RefusalLogTest() {
    auto log = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    refusals_.emplace(std::move(log), &clock_);
  }
  // How many of so many refusals get a line.
  int64_t Refuse(int count, RefusalLog::Kind kind = RefusalLog::kStranger) {
    int64_t lines = 0;
    for (int i = 0; i < count; ++i) {
      lines += refusals_->Admit(kind) ? 1 : 0;
    }
    return lines;
  }
  std::string TakeText() {
    std::string text = text_.str();
    text_.str("");
    return text;
  }

  std::ostringstream text_;
  FakeClock clock_;
  std::optional<RefusalLog> refusals_;
};

TEST_F(RefusalLogTest, AFloodGetsItsLinesAndOneWithTheRest) {
  EXPECT_EQ(Refuse(1000), RefusalLog::kLinesPerSecond);
  clock_.Advance(absl::Milliseconds(999));
  EXPECT_EQ(Refuse(1000), 0);
  refusals_->Tick();
  EXPECT_EQ(TakeText(), "") << "the second is not over";
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(Refuse(1), 1);
  EXPECT_THAT(TakeText(), HasSubstr("refused further calls=1980 of strangers"));
  clock_.Advance(absl::Seconds(10));
  refusals_->Tick();
  EXPECT_EQ(TakeText(), "") << "there is nothing to tell";
}

TEST_F(RefusalLogTest, TheRestIsToldThoughNothingMoreComes) {
  Refuse(25);
  clock_.Advance(absl::Seconds(1));
  refusals_->Tick();
  EXPECT_THAT(TakeText(), HasSubstr("calls=5 of strangers"));
  refusals_->Tick();
  EXPECT_EQ(TakeText(), "");
  Refuse(21);
  refusals_.reset();
  EXPECT_THAT(TakeText(), HasSubstr("calls=1 of strangers"));
}

TEST_F(RefusalLogTest, StrangersDoNotHideWhatKnownCallersTry) {
  Refuse(1000);
  EXPECT_EQ(Refuse(5, RefusalLog::kKnownCaller), 5);
  EXPECT_EQ(Refuse(1000, RefusalLog::kKnownCaller), RefusalLog::kLinesPerSecond - 5);
  clock_.Advance(absl::Seconds(1));
  refusals_->Tick();
  EXPECT_THAT(TakeText(), testing::AllOf(HasSubstr("calls=980 of strangers"),
                                         HasSubstr("calls=985 of known callers")));
}

TEST_F(RefusalLogTest, AWallClockThatJumpsChangesNothing) {
  Refuse(25);
  clock_.Jump(absl::Hours(-24));
  EXPECT_EQ(Refuse(1), 0);
  clock_.Jump(absl::Hours(48));
  EXPECT_EQ(Refuse(1), 0);
}

}  // namespace
}  // namespace mercer::server
