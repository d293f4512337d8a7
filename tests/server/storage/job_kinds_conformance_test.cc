// Jobs of other kinds than trainings: what they keep, who takes them, what they leave.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobKinds : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }
  NewJob MakeOther(const std::string& id, JobKind kind = JobKind::kPrediction) {
    NewJob job = MakeJob(id);
    job.kind = kind;
    job.model_name.clear();
    return job;
  }
  std::optional<JobRecord> ClaimOther(int64_t memory = kPlentyOfMemory,
                                      ClaimedJobs jobs = ClaimedJobs::kAllButTrainings) {
    ClaimRequest request{"other", "host-1", At(20), absl::Seconds(30), memory, {0, "running"}};
    request.jobs = jobs;
    auto job = storage_->jobs().ClaimJob(request);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : std::nullopt;
  }
  std::vector<std::string> Ids(const JobFilter& filter, const PageRequest& page = PageRequest()) {
    std::vector<std::string> ids;
    const auto jobs = storage_->jobs().ListJobs(filter, page);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    for (const JobRecord& job : jobs->items) {
      ids.push_back(job.id);
    }
    return ids;
  }
  AttemptEnd MakePredicted(const JobRecord& job) {
    AttemptEnd end = MakeEnd(job, JobState::kSucceeded, AttemptReason::kSucceeded);
    end.dataset = MakeDataset("predicted");
    end.dataset->owner = "ignored";
    end.result = std::string("three\0rows", 10);
    return end;
  }
};

TEST_F(JobKinds, KindIsKept) {
  for (const JobKind kind :
       {JobKind::kTraining, JobKind::kPrediction, JobKind::kEvaluation, JobKind::kVerification}) {
    const std::string id = absl::StrCat("j", static_cast<int>(kind));
    EXPECT_EQ(AddJob(MakeOther(id, kind)).kind, kind);
    EXPECT_EQ(storage_->jobs().GetJob(id)->kind, kind);
  }
}

TEST_F(JobKinds, AClaimWithoutTrainingsPassesThemOver) {
  AddJob("training");
  EXPECT_EQ(ClaimOther(), std::nullopt);
  AddJob(MakeOther("first"));
  NewJob urgent = MakeOther("urgent", JobKind::kEvaluation);
  urgent.priority = 1;
  AddJob(urgent);
  EXPECT_EQ(ClaimOther()->id, "urgent");
  EXPECT_EQ(ClaimOther(999), std::nullopt);  // its head waits for memory
  EXPECT_EQ(Claim("w")->id, "training");
  EXPECT_EQ(Claim("w")->id, "first");
}

TEST_F(JobKinds, AClaimOfTrainingsWaitsForAHeadOfAnotherKind) {
  AddJob("training");
  AddJob(MakeOther("first"));
  AddJob("behind");
  const auto claim_training = [&] { return ClaimOther(kPlentyOfMemory, ClaimedJobs::kTrainings); };
  EXPECT_EQ(claim_training()->id, "training");
  EXPECT_EQ(claim_training(), std::nullopt);
  EXPECT_EQ(ClaimOther()->id, "first");
  EXPECT_EQ(claim_training()->id, "behind");
}

TEST_F(JobKinds, TheEndStoresDataSetAndResultTogether) {
  NewJob job = MakeOther("job");
  job.caller = "ann";
  AddJob(job);
  const JobRecord claimed = *ClaimOther();
  const auto ended = storage_->jobs().EndAttempt(MakePredicted(claimed));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job.result, std::string("three\0rows", 10));
  EXPECT_EQ(storage_->jobs().GetJob("job")->result, ended->job.result);
  const auto dataset = storage_->datasets().GetDataset("predicted");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->owner, "ann");
  EXPECT_EQ(dataset->rows, 56);
  EXPECT_EQ(dataset->labels, (Labels{{"team", "blue"}}));
  EXPECT_TRUE(*storage_->IsBlobReferenced("blob-of-predicted"));
}

TEST_F(JobKinds, ARefusedEndLeavesNoDataSet) {
  AddJob(MakeOther("job"));
  const JobRecord claimed = *ClaimOther();
  ASSERT_TRUE(
      storage_->jobs().CancelJob({"job", At(25), {0, "cancelling"}, {0, "cancelled"}}).ok());
  EXPECT_EQ(GetReason(storage_->jobs().EndAttempt(MakePredicted(claimed)).status()),
            "CANCEL_REQUESTED");
  EXPECT_TRUE(absl::IsNotFound(storage_->datasets().GetDataset("predicted").status()));
  EXPECT_FALSE(*storage_->IsBlobReferenced("blob-of-predicted"));
}

TEST_F(JobKinds, AnEndWhoseDataSetCannotBeStoredChangesNothing) {
  AddDataset("predicted");
  AddJob(MakeOther("job"));
  const JobRecord claimed = *ClaimOther();
  const auto ended = storage_->jobs().EndAttempt(MakePredicted(claimed));
  EXPECT_TRUE(absl::IsAlreadyExists(ended.status())) << ended.status();
  EXPECT_EQ(storage_->jobs().GetJob("job")->state, JobState::kRunning);
  EXPECT_THAT(storage_->jobs().GetJob("job")->result, IsEmpty());
}

TEST_F(JobKinds, EndsAndUploadsAtTheSameTimeStoreAsMuchAsTheLimitAllows) {
  constexpr int kJobs = 4;
  const int64_t bytes = MakeDataset("data").size_bytes;
  std::vector<AttemptEnd> ends;
  for (int i = 0; i < kJobs; ++i) {
    AddJob(MakeOther(absl::StrCat("job", i)));
    ends.push_back(MakePredicted(*ClaimOther()));
    ends.back().dataset = MakeDataset(absl::StrCat("predicted", i));
    ends.back().max_stored_bytes = 4 * bytes;
  }
  std::atomic<int> stored{0};
  const auto count = [&](const absl::Status& status) {
    stored += status.ok() ? 1 : 0;
    EXPECT_EQ(GetReason(status), status.ok() ? "" : "STORAGE_QUOTA_EXCEEDED");
  };
  std::vector<std::thread> creators;
  for (int i = 0; i < kJobs; ++i) {
    creators.emplace_back(
        [&, i] { count(storage_->jobs().EndAttempt(ends[static_cast<size_t>(i)]).status()); });
    creators.emplace_back([&, i] {
      const DatasetRecord dataset = MakeDataset(absl::StrCat("uploaded", i));
      count(storage_->datasets().CreateDataset(dataset, 4 * bytes).status());
    });
  }
  for (std::thread& creator : creators) {
    creator.join();
  }
  EXPECT_EQ(stored, 3) << "beside the one of the jobs";
  EXPECT_EQ(*storage_->datasets().StoredBytes(""), 4 * bytes);
  for (int i = 0; i < kJobs; ++i) {
    const bool made = storage_->datasets().GetDataset(absl::StrCat("predicted", i)).ok();
    EXPECT_EQ(storage_->jobs().GetJob(absl::StrCat("job", i))->state,
              made ? JobState::kSucceeded : JobState::kRunning);
  }
}

TEST_F(JobKinds, ModelsOfOthersAreNoReasonToRefuse) {
  NewJob training = MakeJob("training");
  training.caller = "ann";
  AddJob(training);
  NewJob job = MakeOther("job");
  job.model_name = "model";
  job.check = [](const std::string&) { return absl::PermissionDeniedError("not yours"); };
  EXPECT_TRUE(storage_->jobs().CreateJob(job).ok());
}

TEST_F(JobKinds, ListsShowTheKindsAskedFor) {
  for (int i = 0; i < 3; ++i) {
    AddJob(absl::StrCat("training", i));
    AddJob(MakeOther(absl::StrCat("prediction", i)));
    AddJob(MakeOther(absl::StrCat("evaluation", i), JobKind::kEvaluation));
  }
  JobFilter filter;
  filter.kinds = {JobKind::kPrediction};
  EXPECT_THAT(Ids(filter), ElementsAre("prediction2", "prediction1", "prediction0"));
  filter.kinds = {JobKind::kPrediction, JobKind::kEvaluation};
  filter.states = {JobState::kQueued};
  const auto page = storage_->jobs().ListJobs(filter, {4, ""});
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->items.size(), 4u);
  EXPECT_THAT(Ids(filter, {4, page->next_token}), ElementsAre("evaluation0", "prediction0"));
  filter.kinds = {JobKind::kEvaluation};
  EXPECT_EQ(GetReason(storage_->jobs().ListJobs(filter, {4, page->next_token}).status()),
            "BAD_PAGE_TOKEN");
}

TEST_F(JobKinds, DeletedJobsLeaveTheirDataSets) {
  AddJob(MakeOther("job"));
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakePredicted(*ClaimOther())).ok());
  ASSERT_TRUE(storage_->jobs().DeleteJob("job").ok());
  EXPECT_TRUE(storage_->datasets().GetDataset("predicted").ok());
}

}  // namespace
}  // namespace mercer::server
