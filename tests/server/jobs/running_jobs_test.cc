#include "server/jobs/running_jobs.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunningJobsTest : public JobManagerFixture {
 protected:
  void SetUp() override {
    JobManagerFixture::SetUp();
    environment_.dependencies.storage = storage_.get();
    environment_.dependencies.clock = &clock_;
  }
  AttemptPointer MakeAttempt(const std::string& job_id, int32_t number) {
    JobRecord job;
    job.id = job_id;
    job.attempt = number;
    return std::make_shared<JobAttempt>(&environment_, job);
  }
  static void End(JobAttempt& attempt) {
    attempt.Abandon();
    EXPECT_TRUE(attempt.TryEnd());
  }

  AttemptEnvironment environment_;
};

TEST_F(RunningJobsTest, MemoryIsGivenBackWhenTheWorkerIsDone) {
  RunningJobs running;
  const AttemptPointer a = MakeAttempt("a", 1);
  const AttemptPointer b = MakeAttempt("b", 1);
  running.Add(a, 100);
  running.Add(b, 30);
  EXPECT_EQ(running.bytes(), 130);
  End(*a);
  EXPECT_FALSE(running.ForgetEnded());  // its worker is not done
  running.Finish(*a);
  EXPECT_EQ(running.bytes(), 30);
  EXPECT_EQ(running.Find("a"), nullptr);
  running.Finish(*b);  // its end is not stored
  EXPECT_EQ(running.bytes(), 0);
  EXPECT_EQ(running.Find("b"), b);
  running.Finish(*b);
  EXPECT_EQ(running.bytes(), 0);
  End(*b);
  EXPECT_TRUE(running.ForgetEnded());
  EXPECT_FALSE(running.ForgetEnded());
  EXPECT_THAT(running.All(), IsEmpty());
}

// The end of an attempt is stored before its worker says that it is done; another worker may take the job in between.
TEST_F(RunningJobsTest, AttemptThatIsFinishedLateLeavesTheLaterOneAlone) {
  RunningJobs running;
  const AttemptPointer first = MakeAttempt("a", 1);
  const AttemptPointer second = MakeAttempt("a", 2);
  running.Add(first, 100);
  End(*first);
  running.Add(second, 70);
  EXPECT_EQ(running.bytes(), 70);
  running.Finish(*first);
  EXPECT_EQ(running.Find("a"), second);
  EXPECT_THAT(running.All(), ElementsAre(second));
  EXPECT_EQ(running.bytes(), 70);
  EXPECT_FALSE(running.ForgetEnded());
  End(*second);
  running.Finish(*second);
  EXPECT_EQ(running.bytes(), 0);
  EXPECT_THAT(running.All(), IsEmpty());
}

}  // namespace
}  // namespace mercer::server
