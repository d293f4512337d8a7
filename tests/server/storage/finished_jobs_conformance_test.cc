// The deletion of jobs that ended long ago, on every storage; and a process that dies in between.
#include <atomic>
#include <sys/wait.h>
#include <thread>

#include <gmock/gmock.h>

#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/database_check.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FinishedJobsConformance : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }

  // A job of its own model that has ended so many seconds after the start of the tests.
  void AddFinished(const std::string& id, int64_t ended, JobState state = JobState::kSucceeded) {
    NewJob job = MakeJob(id);
    job.model_name = "model-" + id;
    job.request_id = "request-" + id;
    AddJob(job);
    const std::optional<JobRecord> claimed = Claim("w");
    ASSERT_TRUE(claimed.has_value());
    AttemptEnd end = state == JobState::kSucceeded
                         ? MakeSuccess(*claimed, "blob-" + id)
                         : MakeEnd(*claimed, state, AttemptReason::kCancelled);
    end.now = At(ended);
    const auto stored = storage_->jobs().EndAttempt(end);
    ASSERT_TRUE(stored.ok()) << stored.status();
  }
  std::vector<std::string> Delete(const FinishedJobs& which) {
    const auto deleted = storage_->jobs().DeleteFinishedJobs(which);
    EXPECT_TRUE(deleted.ok()) << deleted.status();
    return deleted.ok() ? deleted->ids : std::vector<std::string>();
  }
  std::vector<std::string> Left() {
    const auto page = storage_->jobs().ListJobs({}, PageRequest());
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> ids;
    for (const JobRecord& job : page->items) {
      ids.push_back(job.id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

TEST_F(FinishedJobsConformance, TheOldestEndsGoAndAllThatBelongsToThem) {
  AddFinished("late", 300);
  AddFinished("early", 100);
  AddFinished("middle", 200, JobState::kCancelled);
  EXPECT_THAT(Delete({At(100)}), IsEmpty()) << "what ended then has not ended before";
  EXPECT_THAT(Delete({At(300)}), ElementsAre("early", "middle"));
  EXPECT_THAT(Delete({At(300)}), IsEmpty());
  EXPECT_THAT(Left(), ElementsAre("late"));
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().GetJob("early").status()));
  EXPECT_THAT(*storage_->jobs().ListAttempts("early"), IsEmpty());
  const auto events = storage_->events().Read("early", 0, 10);
  EXPECT_TRUE(absl::IsNotFound(events.status()) || (events.ok() && events->empty()));
  EXPECT_EQ((*storage_->jobs().CountJobs())[JobState::kSucceeded], 1);
}

TEST_F(FinishedJobsConformance, ModelsStayWithAllThatIsKnownOfThem) {
  AddFinished("a", 100);
  const auto before = storage_->models().GetVersion("model-a", 1);
  ASSERT_TRUE(before.ok()) << before.status();
  Delete({At(1000)});
  const auto after = storage_->models().GetVersion("model-a", 1);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->job_id, "a");
  EXPECT_EQ(after->summary, before->summary);
  EXPECT_EQ(after->model_blob, before->model_blob);
  EXPECT_TRUE(*storage_->IsBlobReferenced("blob-a"));
}

TEST_F(FinishedJobsConformance, JobsThatHaveNotEndedStayHoweverOld) {
  AddFinished("done", 30);
  AddJob("running");
  ASSERT_TRUE(Claim("w").has_value());
  AddJob("retried");
  const std::optional<JobRecord> retried = Claim("w2");
  ASSERT_TRUE(retried.has_value());
  AttemptEnd end = MakeEnd(*retried, JobState::kQueued, AttemptReason::kRetry);
  end.delay = absl::Seconds(20);
  ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
  AddJob("queued");
  EXPECT_THAT(Delete({At(1'000'000'000)}), ElementsAre("done"));
  EXPECT_THAT(Left(), ElementsAre("queued", "retried", "running"));
}

TEST_F(FinishedJobsConformance, BatchesAreBounded) {
  for (int i = 0; i < 5; ++i) {
    AddFinished(absl::StrCat("j", i), 100 + i);  // four events each
  }
  FinishedJobs which{At(1000), 2};
  EXPECT_THAT(Delete(which), ElementsAre("j0", "j1"));
  which = {At(1000), 100, 5};
  EXPECT_THAT(Delete(which), ElementsAre("j2")) << "two would hold more than five events";
  which.max_events = 1;
  EXPECT_THAT(Delete(which), ElementsAre("j3")) << "one goes, however many it holds";
  which.max_events = 1000;
  EXPECT_THAT(Delete(which), ElementsAre("j4"));
}

TEST_F(FinishedJobsConformance, TheRequestIdIsForgottenWithTheJob) {
  AddFinished("a", 100);
  NewJob again = MakeJob("b");
  again.request_id = "request-a";
  EXPECT_EQ(storage_->jobs().CreateJob(again).status().code(), absl::StatusCode::kAlreadyExists);
  Delete({At(1000)});
  const auto created = storage_->jobs().CreateJob(again);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(created->created);
  EXPECT_GT(created->job.number, 1) << "numbers are not used again";
}

TEST_F(FinishedJobsConformance, TheTraceStaysWithTheJob) {
  NewJob job = MakeJob("traced");
  job.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_EQ(AddJob(job).trace_id, job.trace_id);
  EXPECT_EQ(Claim("w")->trace_id, job.trace_id);
  EXPECT_EQ(storage_->jobs().GetJob("traced")->trace_id, job.trace_id);
  EXPECT_EQ(AddJob("other").trace_id, "");
}

TEST_F(FinishedJobsConformance, ListsGoOnWhileJobsAreDeleted) {
  constexpr int kJobs = 60;
  AddJob("queued");
  for (int i = 0; i < kJobs; ++i) {
    AddJob(absl::StrCat("j", i));
    ASSERT_TRUE(storage_->jobs()
                    .CancelJob({absl::StrCat("j", i), At(100), {0, "cancelling"}, {0, "cancelled"}})
                    .ok());
  }
  std::atomic<bool> done{false};
  std::jthread deleter([&] {
    while (!Delete({At(1000), 1}).empty()) {
    }
    done = true;
  });
  // The job that was made first comes last, behind all those that may go meanwhile.
  bool last_round = false;
  do {
    last_round = done;
    PageRequest page{7, ""};
    std::vector<std::string> ids;
    do {
      const auto jobs = storage_->jobs().ListJobs({}, page);
      ASSERT_TRUE(jobs.ok()) << jobs.status();
      for (const JobRecord& job : jobs->items) {
        ids.push_back(job.id);
      }
      page.token = jobs->next_token;
    } while (!page.token.empty());
    ASSERT_FALSE(ids.empty());
    EXPECT_EQ(ids.back(), "queued");
    if (last_round) {
      EXPECT_THAT(ids, ElementsAre("queued"));
    }
  } while (!last_round);
}

TEST_F(FinishedJobsConformance, AProcessThatDiesBetweenBatchesLeavesWholeJobs) {
  for (int i = 0; i < 5; ++i) {
    AddFinished(absl::StrCat("j", i), 100 + i);
  }
  storage_.reset();
  const pid_t child = fork();
  if (child == 0) {
    auto storage = Open(folder_);
    const bool deleted = storage.ok() && (*storage)->jobs().DeleteFinishedJobs({At(1000), 2}).ok();
    _exit(deleted ? 9 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 9);
  storage_ = *Open(folder_);
  EXPECT_THAT(Left(), ElementsAre("j2", "j3", "j4"));
  EXPECT_THAT(Delete({At(1000)}), ElementsAre("j2", "j3", "j4"));
  storage_.reset();
  const auto connection = Connection::Open(folder_ + "/mercer.db", Connection::Mode::kReadWrite);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto expect_none = [](const Finding& finding) {
    ADD_FAILURE() << finding.reason << " " << finding.subject << ": " << finding.meaning;
  };
  EXPECT_TRUE(CheckDatabaseFile(**connection, expect_none).ok());
  EXPECT_TRUE(CheckDatabaseRows(**connection, expect_none).ok());
  for (const char* table : {"jobs", "job_requests", "job_labels", "job_datasets", "attempts",
                            "events", "checkpoints"}) {
    auto count = (*connection)->Prepare(absl::StrCat("SELECT COUNT(*) FROM ", table));
    ASSERT_TRUE(count.ok() && count->Step().ok());
    EXPECT_EQ(count->Int64(0), 0) << table;
  }
}

}  // namespace
}  // namespace mercer::server
