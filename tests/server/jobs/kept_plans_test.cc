// The plan of a submission is at hand when its job begins.
#include "server/jobs/kept_plans.h"

#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

CompleteRequest Complete(const std::string& request) {
  CompleteRequest complete;
  complete.request = request;
  complete.plan.recipe.learner = "of " + request;
  return complete;
}

int64_t BytesOfPlan(const std::string& request) {
  KeptPlans plans(10000);
  plans.Keep("job", Complete(request));
  return plans.bytes();
}

TEST(KeptPlansTest, GivesAPlanOnce) {
  KeptPlans plans(10000);
  plans.Keep("job", Complete("request"));
  const auto plan = plans.Take("job", "request");
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->recipe.learner, "of request");
  EXPECT_FALSE(plans.Take("job", "request").has_value());
  EXPECT_EQ(plans.bytes(), 0);
}

TEST(KeptPlansTest, GivesNoneForAnotherRequest) {
  KeptPlans plans(10000);
  plans.Keep("job", Complete("request"));
  EXPECT_FALSE(plans.Take("job", "damaged").has_value());
  EXPECT_EQ(plans.bytes(), 0);
}

TEST(KeptPlansTest, KeepsTheNewestOfSoManyBytes) {
  const int64_t empty = BytesOfPlan("");
  EXPECT_GE(empty, static_cast<int64_t>(sizeof(CompleteRequest)));
  EXPECT_EQ(BytesOfPlan("1234"), empty + 32);
  KeptPlans plans(2 * empty + 80);
  plans.Keep("a", Complete("1234"));
  plans.Keep("b", Complete("1234"));
  plans.Keep("c", Complete("123"));
  EXPECT_EQ(plans.bytes(), 2 * empty + 56);
  EXPECT_FALSE(plans.Take("a", "1234").has_value());
  EXPECT_TRUE(plans.Take("b", "1234").has_value());
  plans.Keep("c", Complete("12345"));
  EXPECT_EQ(plans.bytes(), empty + 40);
  const std::string large(static_cast<size_t>(2 * empty), 'x');
  plans.Keep("large", Complete(large));
  EXPECT_FALSE(plans.Take("large", large).has_value());
  EXPECT_EQ(plans.bytes(), empty + 40) << "one that is too large alone takes the place of no other";
  EXPECT_TRUE(plans.Take("c", "12345").has_value());
}

class PlannedOnceTest : public JobManagerFixture {};

TEST_F(PlannedOnceTest, ByTheManagerThatRunsItAndOnceMoreAfterARestart) {
  StartManager();
  control_.Allow(1);
  const std::string id = Submit(Steps(3));
  control_.WaitUntilAsked(2);
  EXPECT_EQ(planner_.plans, 1);
  CrashAndRestart();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(planner_.plans, 2);
}

TEST_F(PlannedOnceTest, ByNobodyHereWhenThePlanComesAlong) {
  StartManager();
  JobSubmission submission = Steps(3);
  submission.plan = std::make_shared<const JobPlan>(*planner_.Plan(submission.request));
  const std::string id = Submit(submission);
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(planner_.plans, 1);
}

}  // namespace
}  // namespace mercer::server
