#include "client/cpp/cli/job_board.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

v1::WatchJobsResponse About(const std::string& name, v1::JobState state, int64_t created = 1) {
  v1::WatchJobsResponse response;
  response.mutable_job()->set_name(name);
  response.mutable_job()->set_state(state);
  response.mutable_job()->set_learner("svm");
  response.mutable_job()->mutable_create_time()->set_seconds(created);
  return response;
}

v1::WatchJobsResponse Existing(const std::string& name) {
  v1::WatchJobsResponse response = About(name, v1::JOB_STATE_QUEUED);
  response.set_existing(true);
  return response;
}

v1::WatchJobsResponse AllSent() {
  v1::WatchJobsResponse response;
  response.set_existing_sent(true);
  return response;
}

TEST(JobBoardTest, SaysWhatIsNewAndNothingTwice) {
  JobBoard board;
  EXPECT_EQ(board.Hear(Existing("jobs/a")), "jobs/a  queued  svm");
  EXPECT_FALSE(board.complete());
  EXPECT_EQ(board.Hear(AllSent()), "");
  EXPECT_TRUE(board.complete());
  EXPECT_EQ(board.Hear(About("jobs/a", v1::JOB_STATE_QUEUED)), "");
  v1::WatchJobsResponse running = About("jobs/a", v1::JOB_STATE_RUNNING);
  EXPECT_EQ(board.Hear(running), "jobs/a  running  svm");
  running.mutable_job()->mutable_progress()->mutable_progress()->set_relative_gap(0.25);
  EXPECT_EQ(board.Hear(running), "jobs/a  running  svm  gap 2.5e-01");
  EXPECT_EQ(board.Hear(running), "");
  EXPECT_EQ(board.size(), 1u);
}

TEST(JobBoardTest, ForgetsJobsThatLeave) {
  JobBoard board;
  board.Hear(Existing("jobs/a"));
  board.Hear(AllSent());
  v1::WatchJobsResponse left = About("jobs/a", v1::JOB_STATE_CANCELLED);
  left.set_left(true);
  EXPECT_EQ(board.Hear(left), "jobs/a  cancelled  svm");
  EXPECT_EQ(board.size(), 0u);
  EXPECT_EQ(board.Hear(left), "");  // it was never there
}

TEST(JobBoardTest, DropsWhatANewListDoesNotTellOf) {
  JobBoard board;
  for (const char* name : {"jobs/a", "jobs/b", "jobs/c"}) {
    board.Hear(Existing(name));
  }
  board.Hear(AllSent());
  board.Interrupt();
  EXPECT_TRUE(board.complete()) << "the stream may go on where it was";
  EXPECT_EQ(board.Hear(About("jobs/a", v1::JOB_STATE_RUNNING)), "jobs/a  running  svm");
  EXPECT_EQ(board.size(), 3u);
  EXPECT_EQ(board.Hear(Existing("jobs/c")), "");
  EXPECT_FALSE(board.complete());
  board.Interrupt();  // in the middle of a list, of which c has come, which is then deleted
  EXPECT_EQ(board.Hear(Existing("jobs/b")), "");
  board.Hear(AllSent());
  EXPECT_TRUE(board.complete());
  EXPECT_EQ(board.size(), 1u);
  board.Hear(AllSent());
  EXPECT_EQ(board.size(), 0u) << "a list of no jobs";
}

TEST(JobBoardTest, SaysWhatWasDeleted) {
  JobBoard board;
  board.Hear(About("jobs/a", v1::JOB_STATE_FAILED, 1));
  v1::WatchJobsResponse gone = About("jobs/a", v1::JOB_STATE_FAILED, 1);
  gone.set_left(true);
  gone.set_deleted(true);
  EXPECT_EQ(board.Hear(gone), "jobs/a  failed  svm  deleted");
  EXPECT_EQ(board.size(), 0u);
  EXPECT_EQ(board.Hear(gone), "");
}

TEST(JobBoardTest, ShowsTheNewestFirst) {
  JobBoard board;
  for (int i = 1; i <= 5; ++i) {
    board.Hear(About("jobs/" + std::to_string(i), v1::JOB_STATE_QUEUED, i));
  }
  const std::string table = board.Newest(2).ToString();
  EXPECT_LT(table.find("jobs/5"), table.find("jobs/4"));
  EXPECT_NE(table.find("jobs/4"), std::string::npos);
  EXPECT_EQ(table.find("jobs/3"), std::string::npos);
}

}  // namespace
}  // namespace mercer::client
