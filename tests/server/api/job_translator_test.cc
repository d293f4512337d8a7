#include "server/api/job_translator.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mercer::server
