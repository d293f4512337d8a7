// What watchers hear of jobs that somebody deletes or labels.
#include <gmock/gmock.h>

#include "tests/server/watching/job_feed_fixture.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobFeedChangesTest : public JobFeedTest {
 protected:
  absl::StatusOr<JobRecord> Label(const std::string& job, const Labels& labels) {
    ResourceUpdate update;
    update.labels = labels;
    return storage_->jobs().UpdateJob({update, job});
  }
};

TEST_F(JobFeedChangesTest, TellsThoseWhomAJobMatchedOfItsDeletion) {
  Submit("a", {{"team", "red"}});
  Submit("b");
  Cancel("b");
  Watch();
  EXPECT_THAT(Take(), ElementsAre("+b CANCELLED", "+a QUEUED", "|"));
  ASSERT_TRUE(storage_->jobs().DeleteJob("b").ok());
  EXPECT_THAT(Take(), ElementsAre("-b deleted CANCELLED"));
  EXPECT_FALSE(storage_->jobs().DeleteJob("a").ok());
  EXPECT_THAT(Take(), IsEmpty());
  // A slow watcher hears of the end and of the deletion as one.
  JobFilter queued;
  queued.states = {JobState::kQueued};
  const auto slow = feed_->Watch(queued, 0, [] {});
  JobFilter blue;
  blue.labels = {{"team", "blue"}};
  const auto other = feed_->Watch(blue, 0, [] {});
  for (JobWatch* watch : {slow.get(), other.get()}) {
    while (watch->Next().kind != NextJob::kExistingSent) {
      executor_.RunAll();
    }
  }
  Cancel("a");
  ASSERT_TRUE(storage_->jobs().DeleteJob("a").ok());
  EXPECT_THAT(Take(), ElementsAre("-a deleted CANCELLED"));
  EXPECT_EQ(Describe(slow->Next()), "-a deleted CANCELLED");
  EXPECT_EQ(slow->Next().kind, NextJob::kWait);
  EXPECT_EQ(other->Next().kind, NextJob::kWait);
}

TEST_F(JobFeedChangesTest, OtherLabelsMakeAJobComeAndLeave) {
  Submit("a", {{"team", "red"}});
  Submit("b");
  Watch({.states = {}, .labels = {{"team", "red"}}});
  EXPECT_THAT(Take(), ElementsAre("+a QUEUED", "|"));
  ASSERT_TRUE(Label("b", {{"team", "red"}}).ok());
  EXPECT_THAT(Take(), ElementsAre("b QUEUED"));
  ASSERT_TRUE(Label("b", {{"team", "red"}, {"year", "26"}}).ok());
  EXPECT_THAT(Take(), ElementsAre("b QUEUED"));
  ASSERT_TRUE(Label("a", {}).ok());
  EXPECT_THAT(Take(), ElementsAre("-a QUEUED"));
  // A change of labels that comes before another change was taken.
  Cancel("b");
  ASSERT_TRUE(Label("b", {{"team", "blue"}}).ok());
  EXPECT_THAT(Take(), ElementsAre("-b CANCELLED"));
}

}  // namespace
}  // namespace mercer::server
