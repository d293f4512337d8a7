#include "server/api/job_translator.h"

#include <gtest/gtest.h>

#include "server/api/times.h"

namespace mercer::server {
namespace {

std::string ReasonFor(const std::string& message) {
  JobEvent event;
  event.state = JobState::kQueued;
  event.message = message;
  return WriteEvent(event).state_change().reason();
}

TEST(JobTranslatorTest, ReasonOfAStateChangeIsAWordOrNothing) {
  EXPECT_EQ(ReasonFor("WORKER_LOST"), "WORKER_LOST");
  EXPECT_EQ(ReasonFor("NOT_PSD2"), "NOT_PSD2");
  EXPECT_EQ(ReasonFor(""), "");
  // What earlier versions have stored.
  EXPECT_EQ(ReasonFor("the server is shutting down"), "");
  EXPECT_EQ(ReasonFor("pivot 0x7f is not finite"), "");
}

// A row that lacks a time has an infinite one.
TEST(JobTranslatorTest, InfiniteTimesAreTold) {
  google::protobuf::Timestamp timestamp;
  SetTimestamp(absl::InfinitePast(), &timestamp);
  EXPECT_EQ(timestamp.seconds(), -9'223'372'036'855);
  EXPECT_EQ(timestamp.nanos(), 224'192'000);
  SetTimestamp(absl::InfiniteFuture(), &timestamp);
  EXPECT_EQ(timestamp.seconds(), 9'223'372'036'854);
  EXPECT_EQ(timestamp.nanos(), 775'807'000);
  SetTimestamp(absl::FromUnixMicros(-1), &timestamp);
  EXPECT_EQ(timestamp.seconds(), -1);
  EXPECT_EQ(timestamp.nanos(), 999'999'000);
}

}  // namespace
}  // namespace mercer::server
