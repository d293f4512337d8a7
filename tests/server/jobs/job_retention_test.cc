// Which jobs are forgotten, by which clock.
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "server/jobs/record/job_event.h"
#include "server/jobs/upkeep/storage_keeper.h"
#include "tests/server/jobs/fake_clock.h"
#include "tests/support/server/test_storage.h"

namespace mercer::server {
namespace {

class JobRetentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-retention-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    storage_ = MakeTestStorage();
    blobs_ = *OpenBlobStore(folder_);
    DatasetRecord dataset;
    dataset.id = "data";
    ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  JobRetention Make(absl::Duration keep) {
    return JobRetention({storage_.get(), blobs_.get(), &clock_, nullptr}, keep);
  }
  // So many jobs that are cancelled now.
  void AddEnded(int count) {
    for (int i = 0; i < count; ++i) {
      NewJob job;
      job.id = absl::StrCat("j", ++jobs_);
      job.dataset_ids = {"data"};
      job.now = clock_.Now();
      job.event = StateEvent(JobState::kQueued);
      ASSERT_TRUE(storage_->jobs().CreateJob(job).ok());
      ASSERT_TRUE(storage_->jobs()
                      .CancelJob({job.id, clock_.Now(), StateEvent(JobState::kCancelling),
                                  StateEvent(JobState::kCancelled)})
                      .ok());
    }
  }
  int64_t Left() const { return (*storage_->jobs().CountJobs())[JobState::kCancelled]; }

  std::filesystem::path folder_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<BlobStore> blobs_;
  FakeClock clock_;
  int jobs_ = 0;
};

TEST_F(JobRetentionTest, JobsGoWhenTheirTimeHasPassedAndNotBefore) {
  JobRetention retention = Make(absl::Hours(1));
  AddEnded(3);
  clock_.Advance(absl::Minutes(30));
  AddEnded(2);
  clock_.Advance(absl::Minutes(30));
  EXPECT_EQ(*retention.DeleteOldJobs(), 0);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(*retention.DeleteOldJobs(), 3);
  EXPECT_EQ(Left(), 2);
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(*retention.DeleteOldJobs(), 2);
  EXPECT_EQ(Left(), 0);
}

TEST_F(JobRetentionTest, ZeroKeepsThemForEver) {
  JobRetention retention = Make(absl::ZeroDuration());
  AddEnded(1);
  clock_.Advance(absl::Hours(1'000'000));
  EXPECT_EQ(*retention.DeleteOldJobs(), 0);
  retention.SetKeep(absl::Hours(1));
  EXPECT_EQ(*retention.DeleteOldJobs(), 1);
}

TEST_F(JobRetentionTest, MoreThanABatchGoesAtOnceUnlessItIsStopped) {
  JobRetention retention = Make(absl::Hours(1));
  AddEnded(250);
  clock_.Advance(absl::Hours(2));
  int asked = 0;
  EXPECT_EQ(*retention.DeleteOldJobs([&asked] { return ++asked > 1; }), 100);
  EXPECT_EQ(Left(), 150);
  EXPECT_EQ(*retention.DeleteOldJobs(), 150);
}

TEST_F(JobRetentionTest, AClockThatJumpsForwardsDeletesNothing) {
  JobRetention retention = Make(absl::Hours(24));
  AddEnded(1);
  clock_.Jump(absl::Hours(24 * 365));
  EXPECT_EQ(*retention.DeleteOldJobs(), 0);
  clock_.Jump(absl::Hours(-24 * 365));
  clock_.Advance(absl::Hours(25));
  EXPECT_EQ(*retention.DeleteOldJobs(), 1);
}

TEST_F(JobRetentionTest, AClockThatJumpsBackwardsDelaysIt) {
  JobRetention retention = Make(absl::Hours(24));
  AddEnded(1);
  clock_.Advance(absl::Hours(25));
  clock_.Jump(absl::Hours(-2));
  EXPECT_EQ(*retention.DeleteOldJobs(), 0);
  clock_.Advance(absl::Hours(2));
  EXPECT_EQ(*retention.DeleteOldJobs(), 1);
}

}  // namespace
}  // namespace mercer::server
