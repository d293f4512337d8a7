// What every implementation of the stores must do: jobs, events, checkpoints.
#include "tests/server/storage/storage_conformance.h"

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(StorageConformance, JobNeedsItsDatasets) {
  const absl::Status refused = storage_->jobs().CreateJob(MakeJob("j1")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(GetReason(refused), "DATASET_NOT_FOUND");
  EXPECT_EQ(storage_->jobs().GetJob("j1").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StorageConformance, JobRoundTripsAndBeginsQueued) {
  AddDataset("data");
  NewJob job = MakeJob("j1");
  job.request_id = "r1";
  job.priority = -3;
  const JobRecord created = AddJob(job);
  const auto read = storage_->jobs().GetJob("j1");
  ASSERT_TRUE(read.ok()) << read.status();
  for (const JobRecord& record : {created, *read}) {
    EXPECT_EQ(record.id, "j1");
    EXPECT_EQ(record.state, JobState::kQueued);
    EXPECT_EQ(record.priority, -3);
    EXPECT_EQ(record.attempt, 0);
    EXPECT_EQ(record.request, job.request);
    EXPECT_EQ(record.request_id, "r1");
    EXPECT_EQ(record.learner, "svm");
    EXPECT_THAT(record.dataset_ids, ElementsAre("data"));
    EXPECT_EQ(record.labels, job.labels);
    EXPECT_EQ(record.model_name, "model");
    EXPECT_EQ(record.memory_bytes, 1000);
    EXPECT_EQ(record.create_time, At(10));
    EXPECT_EQ(record.start_time, absl::InfinitePast());
    ASSERT_TRUE(record.last_event.has_value());
    EXPECT_EQ(*record.last_event, (EventRecord{1, 0, 0, At(10), "queued"}));
  }
}

TEST_F(StorageConformance, RequestIdGivesTheSameJobForTheSameContent) {
  AddDataset("data");
  NewJob job = MakeJob("j1");
  job.request_id = "r1";
  AddJob(job);
  NewJob again = MakeJob("j2");
  again.request_id = "r1";
  again.request_digest = job.request_digest;
  const auto same = storage_->jobs().CreateJob(again);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(same->created);
  EXPECT_EQ(same->job.id, "j1");
  EXPECT_EQ(storage_->jobs().FindRequest("", "r1", job.request_digest)->value().id, "j1");
  EXPECT_FALSE(storage_->jobs().FindRequest("", "r2", "x")->has_value());

  again.request_digest = "another";
  for (const absl::Status& refused : {storage_->jobs().CreateJob(again).status(),
                                      storage_->jobs().FindRequest("", "r1", "another").status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(GetReason(refused), "REQUEST_ID_REUSED");
  }
  EXPECT_EQ(storage_->jobs().ListJobs({}, {})->items.size(), 1U);
}

TEST_F(StorageConformance, ClaimsByPriorityThenAge) {
  AddDataset("data");
  for (const auto& [id, priority] :
       std::vector<std::pair<std::string, int>>{{"a", 0}, {"b", 5}, {"c", 0}, {"d", 5}}) {
    NewJob job = MakeJob(id);
    job.priority = priority;
    AddJob(job);
  }
  std::vector<std::string> order;
  while (const std::optional<JobRecord> job = Claim("w")) {
    order.push_back(job->id);
  }
  EXPECT_THAT(order, ElementsAre("b", "d", "a", "c"));
}

TEST_F(StorageConformance, HeadThatCanNeverFitIsClaimedAllTheSame) {
  AddDataset("data");
  NewJob large = MakeJob("large");
  large.memory_bytes = 1001;
  AddJob(large);
  const auto claim = [this](int64_t free, int64_t budget) {
    ClaimRequest request;
    request.worker = "w";
    request.now = At(20);
    request.free_memory_bytes = free;
    request.memory_budget_bytes = budget;
    request.event = {0, "running"};
    return storage_->jobs().ClaimJob(request);
  };
  EXPECT_FALSE(claim(500, 1001)->has_value()) << "it waits for memory";
  const auto claimed = claim(500, 1000);
  ASSERT_TRUE(claimed.ok() && claimed->has_value());
  EXPECT_EQ((*claimed)->id, "large");
}

TEST_F(StorageConformance, LargeJobAtTheHeadWaitsAndIsNotOvertaken) {
  AddDataset("data");
  AddJob("large");
  NewJob small = MakeJob("small");
  small.memory_bytes = 10;
  AddJob(small);
  EXPECT_FALSE(Claim("w", 999).has_value());
  const auto claimed = Claim("w", 1000);
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->id, "large");
}

TEST_F(StorageConformance, ClaimBeginsAnAttempt) {
  AddDataset("data");
  AddJob("j1");
  const auto job = Claim("worker-7");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->state, JobState::kRunning);
  EXPECT_EQ(job->attempt, 1);
  EXPECT_EQ(job->epoch, 1);
  EXPECT_EQ(job->lease_worker, "worker-7");
  EXPECT_EQ(job->lease_until, At(50));
  EXPECT_EQ(job->start_time, At(20));
  const auto attempts = storage_->jobs().ListAttempts("j1");
  ASSERT_EQ(attempts->size(), 1U);
  EXPECT_EQ(attempts->front().host, "host-1");
  EXPECT_EQ(attempts->front().reason, AttemptReason::kRunning);
  EXPECT_EQ(attempts->front().end_time, absl::InfinitePast());
  EXPECT_THAT(Payloads("j1"), ElementsAre("queued", "running"));
}

TEST_F(StorageConformance, EightWorkersClaimEachJobOnce) {
  constexpr int kJobs = 200;
  AddDataset("data");
  for (int i = 0; i < kJobs; ++i) {
    AddJob(absl::StrCat("j", i));
  }
  std::vector<std::vector<std::string>> claimed(8);
  std::vector<std::thread> workers;
  for (size_t w = 0; w < claimed.size(); ++w) {
    workers.emplace_back([&, w] {
      while (const std::optional<JobRecord> job = Claim(absl::StrCat("w", w))) {
        claimed[w].push_back(job->id);
        EXPECT_TRUE(storage_->events().Append(LeaseOf(*job), {{1, "step"}}, At(21)).ok());
        EXPECT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*job, "blob")).ok());
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  std::multiset<std::string> all;
  for (const auto& ids : claimed) {
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(kJobs));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), static_cast<size_t>(kJobs));
  const auto model = storage_->models().GetModel("model");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->newest_version, kJobs);  // dense
  EXPECT_EQ(model->num_versions, kJobs);
  EXPECT_THAT(Payloads("j17"), ElementsAre("queued", "running", "step", "last step", "ended"));
}

TEST_F(StorageConformance, LostLeaseChangesNothing) {
  AddDataset("data");
  AddJob("j1");
  const JobRecord old = *Claim("w");
  ASSERT_TRUE(storage_->jobs()
                  .EndAttempt(MakeEnd(old, JobState::kQueued, AttemptReason::kWorkerLost))
                  .ok());
  const JobRecord now = *Claim("w");  // the same worker, but the next epoch
  const JobRecord before = *storage_->jobs().GetJob("j1");
  const Lease lost = LeaseOf(old);
  for (const absl::Status& refused :
       {storage_->jobs().RenewLease(lost, absl::Seconds(79)).status(),
        storage_->events().Append(lost, {{1, "x"}}, At(31)).status(),
        storage_->jobs().BeginVerifying(lost, {1, "x"}, At(31)).status(),
        storage_->jobs().SaveCheckpoint(lost, {1, "v1", "blob", At(31)}).status(),
        storage_->jobs().EndAttempt(MakeSuccess(old, "blob")).status(),
        storage_->jobs()
            .EndAttempt(MakeEnd(old, JobState::kCancelled, AttemptReason::kCancelled))
            .status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
    EXPECT_EQ(GetReason(refused), "LEASE_LOST");
  }
  const JobRecord after = *storage_->jobs().GetJob("j1");
  EXPECT_EQ(after.state, before.state);
  EXPECT_EQ(after.lease_until, before.lease_until);
  EXPECT_EQ(after.last_event, before.last_event);
  EXPECT_FALSE(storage_->jobs().GetCheckpoint("j1")->has_value());
  EXPECT_EQ(storage_->models().GetModel("model").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(storage_->jobs().RenewLease(LeaseOf(now), absl::Seconds(79))->state,
            JobState::kRunning);
  EXPECT_EQ(storage_->jobs().GetJob("j1")->lease_until, At(99));
}

TEST_F(StorageConformance, RequeuedJobGetsItsNextAttempt) {
  AddDataset("data");
  AddJob("j1");
  AttemptEnd end = MakeEnd(*Claim("w"), JobState::kQueued, AttemptReason::kDrained);
  const auto ended = storage_->jobs().EndAttempt(end);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job.state, JobState::kQueued);
  EXPECT_EQ(ended->job.lease_worker, "");
  EXPECT_EQ(ended->job.end_time, absl::InfinitePast());
  EXPECT_EQ(Claim("w2")->attempt, 2);
  const auto attempts = storage_->jobs().ListAttempts("j1");
  ASSERT_EQ(attempts->size(), 2U);
  EXPECT_EQ(attempts->at(0).reason, AttemptReason::kDrained);
  EXPECT_EQ(attempts->at(0).end_time, At(30));
  EXPECT_EQ(attempts->at(1).reason, AttemptReason::kRunning);
  EXPECT_EQ(storage_->jobs().GetJob("j1")->start_time, At(20));
}

TEST_F(StorageConformance, EventHasItsOwnTimeOrThatOfItsChange) {
  AddDataset("data");
  AddJob("j1");
  const std::optional<JobRecord> claimed = Claim("w");
  const auto appended = storage_->events().Append(
      LeaseOf(*claimed), {{3, "of its own", At(21)}, {4, "of the write"}}, At(22));
  ASSERT_TRUE(appended.ok()) << appended.status();
  EXPECT_EQ((*appended)[0].time, At(21));
  EXPECT_EQ((*appended)[1].time, At(22));
  EXPECT_EQ(storage_->events().Read("j1", 2, 10).value(), *appended);
  EXPECT_EQ(storage_->jobs().GetJob("j1")->last_event->time, At(22));
  AttemptEnd end = MakeEnd(*claimed, JobState::kFailed, AttemptReason::kFailed);
  end.events = {{7, "earlier", At(25)}, {7, "failed"}};
  const auto ended = storage_->jobs().EndAttempt(end);
  ASSERT_TRUE(ended.ok()) << ended.status();
  ASSERT_EQ(ended->events.size(), 2U);
  EXPECT_EQ(ended->events[0].time, At(25));
  EXPECT_EQ(ended->events[1].time, end.now);
  EXPECT_EQ(storage_->events().Read("j1", 4, 10).value(), ended->events);
}

TEST_F(StorageConformance, FailureKeepsItsDetails) {
  AddDataset("data");
  AddJob("j1");
  AttemptEnd end = MakeEnd(*Claim("w"), JobState::kFailed, AttemptReason::kFailed);
  end.error = StoredError{3, "row 17", std::string("det\0ails", 8)};
  ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
  EXPECT_EQ(storage_->jobs().GetJob("j1")->error, end.error);
}

TEST_F(StorageConformance, QueuedJobIsCancelledAtOnce) {
  AddDataset("data");
  AddJob("j1");
  const auto cancelled =
      storage_->jobs().CancelJob({"j1", At(40), {0, "cancelling"}, {0, "cancelled"}});
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->job.state, JobState::kCancelled);
  EXPECT_EQ(cancelled->job.end_time, At(40));
  EXPECT_THAT(Payloads("j1"), ElementsAre("queued", "cancelled"));
  EXPECT_FALSE(Claim("w").has_value());
  const absl::Status refused =
      storage_->jobs().CancelJob({"j1", At(41), {0, "a"}, {0, "b"}}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(refused), "JOB_IS_FINAL");
  EXPECT_EQ(storage_->jobs().CancelJob({"j2", At(41), {0, "a"}, {0, "b"}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StorageConformance, RunningJobIsCancellingUntilItsWorkerEnds) {
  AddDataset("data");
  AddJob("j1");
  const JobRecord job = *Claim("w");
  EXPECT_EQ(
      storage_->jobs().CancelJob({"j1", At(40), {0, "cancelling"}, {0, "cancelled"}})->job.state,
      JobState::kCancelling);
  // Asking twice is harmless and says nothing twice.
  EXPECT_EQ(
      storage_->jobs().CancelJob({"j1", At(41), {0, "cancelling"}, {0, "cancelled"}})->job.state,
      JobState::kCancelling);
  EXPECT_EQ(storage_->jobs().RenewLease(LeaseOf(job), absl::Seconds(40))->state,
            JobState::kCancelling);
  for (const absl::Status& refused :
       {storage_->jobs().EndAttempt(MakeSuccess(job, "blob")).status(),
        storage_->jobs()
            .EndAttempt(MakeEnd(job, JobState::kQueued, AttemptReason::kDrained))
            .status(),
        storage_->jobs().BeginVerifying(LeaseOf(job), {1, "x"}, At(42)).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(GetReason(refused), "CANCEL_REQUESTED");
  }
  EXPECT_EQ(storage_->models().GetModel("model").status().code(), absl::StatusCode::kNotFound);
  AttemptEnd end = MakeEnd(job, JobState::kCancelled, AttemptReason::kCancelled);
  ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
  EXPECT_EQ(storage_->jobs().GetJob("j1")->state, JobState::kCancelled);
  EXPECT_THAT(Payloads("j1"), ElementsAre("queued", "running", "cancelling", "last step", "ended"));
}

TEST_F(StorageConformance, VerifyingIsAState) {
  AddDataset("data");
  AddJob("j1");
  const JobRecord job = *Claim("w");
  const auto event = storage_->jobs().BeginVerifying(LeaseOf(job), {9, "verifying"}, At(25));
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(*event, (EventRecord{3, 1, 9, At(25), "verifying"}));
  EXPECT_EQ(storage_->jobs().GetJob("j1")->state, JobState::kVerifying);
  EXPECT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(job, "blob")).ok());
}

TEST_F(StorageConformance, CheckpointIsReplacedAndDroppedAtTheEnd) {
  AddDataset("data");
  AddJob("j1");
  JobRecord job = *Claim("w");
  EXPECT_FALSE(
      storage_->jobs().SaveCheckpoint(LeaseOf(job), {1, "v1", "first", At(21)})->has_value());
  EXPECT_FALSE(
      storage_->jobs().SaveCheckpoint(LeaseOf(job), {1, "v1", "first", At(22)})->has_value());
  EXPECT_EQ(storage_->jobs().SaveCheckpoint(LeaseOf(job), {5, "v2", "second", At(23)})->value(),
            "first");
  ASSERT_TRUE(
      storage_->jobs().EndAttempt(MakeEnd(job, JobState::kQueued, AttemptReason::kDrained)).ok());
  const auto kept = storage_->jobs().GetCheckpoint("j1");
  ASSERT_TRUE(kept.ok() && kept->has_value());
  EXPECT_EQ((*kept)->iteration, 5);
  EXPECT_EQ((*kept)->attempt, 1);
  EXPECT_EQ((*kept)->code_version, "v2");
  EXPECT_EQ((*kept)->blob, "second");
  EXPECT_TRUE(*storage_->IsBlobReferenced("second"));
  EXPECT_FALSE(*storage_->IsBlobReferenced("first"));
  job = *Claim("w");
  const auto ended = storage_->jobs().EndAttempt(MakeSuccess(job, "blob"));
  EXPECT_THAT(ended->released_blobs, ElementsAre("second"));
  EXPECT_FALSE(storage_->jobs().GetCheckpoint("j1")->has_value());
}

TEST_F(StorageConformance, EventsAreDenseAndReadFromAnyPoint) {
  AddDataset("data");
  AddJob("j1");
  const JobRecord job = *Claim("w");
  const auto stored =
      storage_->events().Append(LeaseOf(job), {{1, "a"}, {2, "b"}, {3, "c"}}, At(22));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->front(), (EventRecord{3, 1, 1, At(22), "a"}));
  const auto read = storage_->events().Read("j1", 3, 1);
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front(), (EventRecord{4, 1, 2, At(22), "b"}));
  EXPECT_THAT(*storage_->events().Read("j1", 5, 10), IsEmpty());
  EXPECT_THAT(*storage_->events().Read("nobody", 0, 10), IsEmpty());
  EXPECT_EQ(*storage_->jobs().GetJob("j1")->last_event, (EventRecord{5, 1, 3, At(22), "c"}));
}

TEST_F(StorageConformance, JobListIsPagedNewestFirst) {
  AddDataset("data");
  for (int i = 0; i < 7; ++i) {
    AddJob(absl::StrCat("j", i));
  }
  std::vector<std::string> ids;
  PageRequest request{3, ""};
  do {
    const auto page = storage_->jobs().ListJobs({}, request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LE(page->items.size(), 3U);
    for (const JobRecord& job : page->items) {
      ids.push_back(job.id);
      EXPECT_EQ(job.labels.at("job"), job.id);
      EXPECT_THAT(job.dataset_ids, ElementsAre("data"));
    }
    request.token = page->next_token;
  } while (!request.token.empty());
  EXPECT_THAT(ids, ElementsAre("j6", "j5", "j4", "j3", "j2", "j1", "j0"));
}

TEST_F(StorageConformance, JobListIsFiltered) {
  AddDataset("data");
  for (const char* id : {"j0", "j1", "j2", "j3"}) {
    NewJob job = MakeJob(id);
    job.labels["parity"] = id[1] % 2 == 0 ? "even" : "odd";
    AddJob(job);
  }
  Claim("w");  // j0 runs
  ASSERT_TRUE(storage_->jobs().CancelJob({"j1", At(40), {0, "a"}, {0, "b"}}).ok());
  const auto ids = [&](const JobFilter& filter) {
    std::vector<std::string> found;
    const auto page = storage_->jobs().ListJobs(filter, {});
    EXPECT_TRUE(page.ok()) << page.status();
    for (const JobRecord& job : page->items) {
      found.push_back(job.id);
    }
    return found;
  };
  EXPECT_THAT(ids({{JobState::kQueued}, {}}), ElementsAre("j3", "j2"));
  EXPECT_THAT(ids({{JobState::kRunning, JobState::kCancelled}, {}}), ElementsAre("j1", "j0"));
  EXPECT_THAT(ids({{}, {{"parity", "odd"}}}), ElementsAre("j3", "j1"));
  EXPECT_THAT(
      ids({{JobState::kQueued, JobState::kRunning}, {{"parity", "even"}, {"owner", "ann"}}}),
      ElementsAre("j2", "j0"));
  EXPECT_THAT(ids({{}, {{"parity", "blue"}}}), IsEmpty());
  const auto counts = storage_->jobs().CountJobs();
  EXPECT_EQ(*counts,
            (std::map<JobState, int64_t>{
                {JobState::kQueued, 2}, {JobState::kRunning, 1}, {JobState::kCancelled, 1}}));
}

TEST_F(StorageConformance, AnswersEveryChangeThatWasAcceptedBeforeItEnds) {
  AddDataset("data");
  std::atomic<int> answers{0};
  for (int i = 0; i < 100; ++i) {
    storage_->jobs().CreateJob(MakeJob(absl::StrCat("j", i)),
                               [&](const absl::StatusOr<CreatedJob>& created) {
                                 EXPECT_TRUE(created.ok()) << created.status();
                                 ++answers;
                               });
  }
  storage_.reset();
  EXPECT_EQ(answers, 100);
}

}  // namespace
}  // namespace mercer::server
