// What every implementation of the stores must do: the order of the queue, its limits, delays, stops, lost leases.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Limits {
  int64_t memory = kPlentyOfMemory;
  int64_t running = 0;
  absl::Time now = At(20);
};

class QueueConformance : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }
  JobRecord Add(const std::string& id, const std::string& caller, int64_t bytes = 1000,
                int32_t priority = 0) {
    NewJob job = MakeJob(id);
    job.caller = caller;
    job.memory_bytes = bytes;
    job.priority = priority;
    return AddJob(job);
  }
  std::optional<JobRecord> ClaimWith(const Limits& limits) {
    ClaimRequest request{"w",           "host-1",      limits.now, absl::Seconds(30),
                         limits.memory, {0, "running"}};
    request.max_running_per_caller = limits.running;
    const auto job = storage_->jobs().ClaimJob(request);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : std::nullopt;
  }
  std::string ClaimedId(const Limits& limits = {}) {
    const std::optional<JobRecord> job = ClaimWith(limits);
    return job.has_value() ? job->id : "nothing";
  }
  void Finish(const std::string& id) {
    const auto ended = storage_->jobs().EndAttempt(MakeSuccess(Job(id), "blob"));
    EXPECT_TRUE(ended.ok()) << ended.status();
  }
  JobRecord Job(const std::string& id) {
    const auto job = storage_->jobs().GetJob(id);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : JobRecord();
  }
  // Runs the job and sends it back to the queue.
  void Requeue(const std::string& id, absl::Duration delay, bool checkpoint = false) {
    ASSERT_EQ(ClaimedId(), id);
    if (checkpoint) {
      ASSERT_TRUE(
          storage_->jobs().SaveCheckpoint(LeaseOf(Job(id)), {3, "v1", "saved", At(21)}).ok());
    }
    AttemptEnd end = MakeEnd(Job(id), JobState::kQueued, AttemptReason::kRetry);
    end.error = StoredError{8, "disk full", "x"};
    end.delay = delay;
    ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
  }
  absl::StatusOr<EndedAttempt> Stop(const std::string& id) {
    StopRequest request;
    request.job_id = id;
    request.now = At(40);
    request.queued = {0, "stopping queued"};
    request.running = {0, "stopping running"};
    request.verifying = {0, "stopping verifying"};
    request.cancelled = {0, "stopped"};
    request.no_model = {9, "no model", "y"};
    return storage_->jobs().StopJob(request);
  }
};

TEST_F(QueueConformance, CallerIsKeptWithTheJob) {
  EXPECT_EQ(Add("a", "ann").caller, "ann");
  EXPECT_EQ(Job("a").caller, "ann");
  EXPECT_EQ(AddJob("b").caller, "");
}

TEST_F(QueueConformance, CallerWithTheFewestRunningJobsComesFirst) {
  for (const char* id : {"a1", "a2", "a3", "a4"}) {
    Add(id, "ann");
  }
  Add("b1", "bob");
  Add("b2", "bob");
  std::vector<std::string> order;
  for (int i = 0; i < 6; ++i) {
    order.push_back(ClaimedId());
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "a2", "b2", "a3", "a4"));
}

// The number of running jobs says nothing when there is one worker.
TEST_F(QueueConformance, CallersTakeTurnsAlsoOnOneWorker) {
  for (int i = 0; i < 5; ++i) {
    Add(absl::StrCat("a", i), "ann");
  }
  std::vector<std::string> order;
  const auto run_one = [&] {
    order.push_back(ClaimedId());
    Finish(order.back());
  };
  run_one();
  Add("b0", "bob");
  Add("b1", "bob");
  Add("c0", "cid");
  for (int i = 0; i < 7; ++i) {
    run_one();
  }
  EXPECT_THAT(order, ElementsAre("a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"));
}

TEST_F(QueueConformance, PriorityGoesBeforeFairness) {
  Add("a1", "ann");
  Add("b1", "bob");
  Add("a2", "ann", 1000, 1);
  Add("a3", "ann", 1000, 1);
  EXPECT_EQ(ClaimedId(), "a2");
  EXPECT_EQ(ClaimedId(), "a3");
  EXPECT_EQ(ClaimedId(), "b1");
}

TEST_F(QueueConformance, CallerAtItsLimitIsPassedOverWithoutBlockingOthers) {
  Add("a1", "ann", 1000, 9);
  Add("a2", "ann", 1000, 9);
  Add("b1", "bob");
  const Limits one{.running = 1};
  EXPECT_EQ(ClaimedId(one), "a1");
  EXPECT_EQ(ClaimedId(one), "b1");
  EXPECT_EQ(ClaimedId(one), "nothing");
  ASSERT_TRUE(storage_->jobs().CancelJob({"a1", At(40), {0, "cancelling"}, {0, "cancelled"}}).ok());
  EXPECT_EQ(ClaimedId(one), "nothing") << "a worker still holds the one that is being cancelled";
  ASSERT_TRUE(storage_->jobs()
                  .EndAttempt(MakeEnd(Job("a1"), JobState::kCancelled, AttemptReason::kCancelled))
                  .ok());
  EXPECT_EQ(ClaimedId(one), "a2");
}

TEST_F(QueueConformance, HeadThatWaitsForMemoryIsNotOvertakenByOtherCallers) {
  Add("small", "bob", 10);
  ASSERT_EQ(ClaimedId(), "small");
  Add("large", "ann", 900);
  Add("bob2", "bob", 10);
  Add("cid1", "cid", 10);
  EXPECT_EQ(ClaimedId({.memory = 100}), "nothing");
  Finish("small");
  EXPECT_EQ(ClaimedId({.memory = 1000}), "large");
}

// It neither holds up what fits here, nor is it failed for want of memory.
TEST_F(QueueConformance, JobThatFitsAnotherServerAloneIsPassedOver) {
  Add("large", "ann", 900, 5);
  Add("small", "ann", 10);
  Add("never", "bob", 1001);
  const auto claimed = [this](int64_t budget, int64_t largest) -> std::string {
    ClaimRequest request{"w", "host-1", At(20), absl::Seconds(30), budget, {0, "running"}};
    request.memory_budget_bytes = budget;
    request.largest_budget_bytes = largest;
    const auto job = storage_->jobs().ClaimJob(request);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() && job->has_value() ? (*job)->id : "nothing";
  };
  EXPECT_EQ(claimed(100, 1000), "small");
  EXPECT_EQ(claimed(100, 1000), "never") << "no server has the memory: its worker says so";
  EXPECT_EQ(claimed(100, 1000), "nothing");
  EXPECT_EQ(Payloads("large"), std::vector<std::string>{"queued"});
  EXPECT_EQ(claimed(1000, 1000), "large");
}

TEST_F(QueueConformance, LeaseIsTakenOverOnceAndOnlyWhenItHasExpired) {
  Add("a1", "ann");
  const auto job = Claim("w");  // until At(50)
  ASSERT_TRUE(job.has_value());
  const auto take_over = [&](int64_t clock) {
    clock_ = At(clock);
    const auto judge = [&](const Orphan& orphan) {
      EXPECT_EQ(orphan.job.attempt, 1);
      EXPECT_EQ(orphan.attempts.size(), 1U);
      EXPECT_EQ(orphan.checkpoint->blob, "saved");
      return MakeEnd(orphan.job, JobState::kQueued, AttemptReason::kWorkerLost);
    };
    const absl::Time now = At(100'000 - 1000 * clock);  // whatever the caller's clock says
    return storage_->jobs().TakeOver(LeaseOf(*job), now, judge).status();
  };
  ASSERT_TRUE(storage_->jobs().SaveCheckpoint(LeaseOf(*job), {3, "v1", "saved", At(21)}).ok());
  EXPECT_EQ(GetReason(take_over(49)), "LEASE_HELD");
  clock_ = At(20);
  ASSERT_TRUE(storage_->jobs().RenewLease(LeaseOf(*job), absl::Seconds(60)).ok());
  EXPECT_EQ(GetReason(take_over(79)), "LEASE_HELD") << "what was read before is renewed by now";
  EXPECT_THAT(Payloads("a1"), ElementsAre("queued", "running"));
  EXPECT_EQ(storage_->jobs().ListAttempts("a1")->back().reason, AttemptReason::kRunning);
  EXPECT_TRUE(take_over(80).ok());
  EXPECT_EQ(Job("a1").state, JobState::kQueued);
  EXPECT_EQ(GetReason(take_over(80)), "LEASE_LOST") << "another one was quicker";
  EXPECT_EQ(GetReason(storage_->jobs().RenewLease(LeaseOf(*job), absl::Seconds(79)).status()),
            "LEASE_LOST");
  EXPECT_THAT(Payloads("a1"), ElementsAre("queued", "running", "last step", "ended"));
}

TEST_F(QueueConformance, DelayedJobWaitsForItsTimeAndBlocksNobody) {
  Add("a1", "ann", 1000, 5);
  Requeue("a1", absl::Seconds(80));
  Add("b1", "bob");
  EXPECT_EQ(Job("a1").not_before, At(100));
  EXPECT_EQ(Job("a1").error, (StoredError{8, "disk full", "x"}));
  clock_ = At(99);
  EXPECT_FALSE(*storage_->jobs().HasDueJobs());
  EXPECT_EQ(ClaimedId(), "b1");
  EXPECT_EQ(ClaimedId(), "nothing");
  clock_ = At(100);
  EXPECT_TRUE(*storage_->jobs().HasDueJobs());
  const auto claimed = ClaimWith({});
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->id, "a1");
  EXPECT_FALSE(claimed->error.has_value()) << "it runs again";
  EXPECT_FALSE(*storage_->jobs().HasDueJobs());
}

TEST_F(QueueConformance, ClockOfWhoeverClaimsSaysNothingAboutDelays) {
  Add("a1", "ann");
  Requeue("a1", absl::Seconds(80));
  EXPECT_EQ(ClaimedId({.now = At(100) + absl::Hours(1)}), "nothing");
  clock_ = At(100);
  EXPECT_EQ(ClaimedId({.now = At(100) - absl::Hours(1)}), "a1");
}

TEST_F(QueueConformance, ClockThatWasWrongParksNoJob) {
  Add("a1", "ann");
  Requeue("a1", kLongestDelay);  // as late as can be meant
  EXPECT_EQ(ClaimedId(), "nothing");
  clock_ = At(-86'400);
  EXPECT_TRUE(*storage_->jobs().HasDueJobs());
  EXPECT_EQ(ClaimedId(), "a1") << "the clock was a day ahead";
}

TEST_F(QueueConformance, DelayedJobThatIsCancelledIsNoError) {
  Add("a1", "ann");
  Requeue("a1", absl::Seconds(80));
  ASSERT_TRUE(storage_->jobs().CancelJob({"a1", At(40), {0, "a"}, {0, "b"}}).ok());
  EXPECT_FALSE(Job("a1").error.has_value());
  EXPECT_EQ(Job("a1").not_before, absl::InfinitePast());
  clock_ = At(100);
  EXPECT_FALSE(*storage_->jobs().HasDueJobs());
}

TEST_F(QueueConformance, QuotasRefuseWithTheirNumbers) {
  const auto add = [this](const std::string& id, const std::string& caller) {
    NewJob job = MakeJob(id);
    job.caller = caller;
    job.limits = {.queued_jobs = 3, .queued_jobs_per_caller = 2};
    job.request_id = id;
    return storage_->jobs().CreateJob(job);
  };
  ASSERT_TRUE(add("a1", "ann").ok());
  ASSERT_TRUE(add("a2", "ann").ok());
  const absl::Status of_caller = add("a3", "ann").status();
  EXPECT_EQ(of_caller.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(of_caller), "QUOTA_EXCEEDED");
  EXPECT_THAT(GetErrorMetadata(of_caller), ElementsAre(Pair("what", "queued_jobs_per_caller"),
                                                       Pair("limit", "2"), Pair("current", "2")));
  ASSERT_TRUE(add("b1", "bob").ok());
  EXPECT_THAT(GetErrorMetadata(add("b2", "bob").status()),
              ElementsAre(Pair("what", "queued_jobs"), Pair("limit", "3"), Pair("current", "3")));
  EXPECT_FALSE(add("a1", "ann")->created) << "a repeated request is no new job";
  EXPECT_EQ(storage_->jobs().ListJobs({}, {})->items.size(), 3U) << "a refusal leaves nothing";
  ClaimedId();  // running jobs do not count
  EXPECT_TRUE(add("b2", "bob").ok());
}

TEST_F(QueueConformance, StopOfARunningJobIsKeptUntilItEnds) {
  Add("a1", "ann");
  ASSERT_EQ(ClaimedId(), "a1");
  const Lease lease = LeaseOf(Job("a1"));
  EXPECT_FALSE(storage_->jobs().RenewLease(lease, absl::Seconds(40))->stop_requested);
  for (int i = 0; i < 2; ++i) {  // the second says nothing twice
    const auto stopped = Stop("a1");
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    EXPECT_EQ(stopped->job.state, JobState::kRunning);
    EXPECT_TRUE(stopped->job.stop_requested);
    EXPECT_EQ(stopped->events.size(), i == 0 ? 1U : 0U);
  }
  const auto renewed = storage_->jobs().RenewLease(lease, absl::Seconds(40));
  EXPECT_EQ(renewed->state, JobState::kRunning);
  EXPECT_TRUE(renewed->stop_requested);
  EXPECT_TRUE(storage_->jobs().BeginVerifying(lease, {1, "verifying"}, At(42)).ok());
  Finish("a1");
  EXPECT_TRUE(Job("a1").stop_requested);
  EXPECT_THAT(Payloads("a1"), ElementsAre("queued", "running", "stopping running", "verifying",
                                          "last step", "ended"));
  EXPECT_EQ(GetReason(Stop("a1").status()), "JOB_IS_FINAL");
  EXPECT_EQ(Stop("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(QueueConformance, StopOfAVerifyingJobSaysSo) {
  Add("a1", "ann");
  ASSERT_EQ(ClaimedId(), "a1");
  ASSERT_TRUE(storage_->jobs().BeginVerifying(LeaseOf(Job("a1")), {1, "v"}, At(42)).ok());
  ASSERT_TRUE(Stop("a1").ok());
  EXPECT_EQ(Job("a1").state, JobState::kVerifying);
  EXPECT_EQ(Payloads("a1").back(), "stopping verifying");
}

TEST_F(QueueConformance, StopOfAQueuedJobWithoutCheckpointCancelsIt) {
  Add("a1", "ann");
  const auto stopped = Stop("a1");
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->job.state, JobState::kCancelled);
  EXPECT_EQ(stopped->job.end_time, At(40));
  EXPECT_EQ(stopped->job.error, (StoredError{9, "no model", "y"}));
  EXPECT_THAT(Payloads("a1"), ElementsAre("queued", "stopped"));
  EXPECT_EQ(ClaimedId(), "nothing");
}

TEST_F(QueueConformance, StopOfAQueuedJobWithACheckpointLetsItRunOn) {
  Add("a1", "ann");
  Requeue("a1", absl::Seconds(80), /*checkpoint=*/true);
  const auto stopped = Stop("a1");
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->job.state, JobState::kQueued);
  EXPECT_EQ(stopped->job.not_before, absl::InfinitePast()) << "it need not wait to end";
  EXPECT_EQ(Payloads("a1").back(), "stopping queued");
  const auto claimed = ClaimWith({});
  ASSERT_TRUE(claimed.has_value());
  EXPECT_TRUE(claimed->stop_requested);
  ASSERT_TRUE(storage_->jobs().GetCheckpoint("a1")->has_value());
}

TEST_F(QueueConformance, CancellationWinsOverAStop) {
  Add("a1", "ann");
  ASSERT_EQ(ClaimedId(), "a1");
  ASSERT_TRUE(Stop("a1").ok());
  EXPECT_EQ(storage_->jobs().CancelJob({"a1", At(41), {0, "c"}, {0, "d"}})->job.state,
            JobState::kCancelling);
  EXPECT_EQ(GetReason(storage_->jobs().EndAttempt(MakeSuccess(Job("a1"), "blob")).status()),
            "CANCEL_REQUESTED");
  const auto again = Stop("a1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->job.state, JobState::kCancelling);
  EXPECT_THAT(again->events, IsEmpty());
}

// Whatever the phase in which a worker has lost its job, nothing of what it still does has an effect.
TEST_F(QueueConformance, LostLeaseChangesNothingInAnyPhase) {
  for (const std::string phase : {"run", "verify", "cancel", "stop", "checkpoint"}) {
    SCOPED_TRACE(phase);
    Add(phase, "ann");
    ASSERT_EQ(ClaimedId(), phase);
    const JobRecord old = Job(phase);
    ASSERT_TRUE(storage_->jobs()
                    .EndAttempt(MakeEnd(old, JobState::kQueued, AttemptReason::kWorkerLost))
                    .ok());
    ASSERT_EQ(ClaimedId(), phase);  // the same worker, but the next epoch
    const Lease held = LeaseOf(Job(phase));
    if (phase == "verify") {
      ASSERT_TRUE(storage_->jobs().BeginVerifying(held, {1, "v"}, At(42)).ok());
    } else if (phase == "cancel") {
      ASSERT_TRUE(storage_->jobs().CancelJob({phase, At(41), {0, "c"}, {0, "d"}}).ok());
    } else if (phase == "stop") {
      ASSERT_TRUE(Stop(phase).ok());
    } else if (phase == "checkpoint") {
      ASSERT_TRUE(storage_->jobs().SaveCheckpoint(held, {5, "v1", "mine", At(43)}).ok());
    }
    const JobRecord before = Job(phase);
    const std::vector<std::string> told = Payloads(phase);
    const Lease lost = LeaseOf(old);
    AttemptEnd retry = MakeEnd(old, JobState::kQueued, AttemptReason::kRetry);
    retry.delay = absl::Seconds(80);
    for (const absl::Status& refused :
         {storage_->jobs().RenewLease(lost, absl::Seconds(79)).status(),
          storage_->events().Append(lost, {{1, "x"}}, At(31)).status(),
          storage_->jobs().BeginVerifying(lost, {1, "x"}, At(31)).status(),
          storage_->jobs().SaveCheckpoint(lost, {9, "v1", "theirs", At(31)}).status(),
          storage_->jobs().EndAttempt(MakeSuccess(old, "blob")).status(),
          storage_->jobs().EndAttempt(retry).status(),
          storage_->jobs()
              .EndAttempt(MakeEnd(old, JobState::kFailed, AttemptReason::kFailed))
              .status(),
          storage_->jobs()
              .EndAttempt(MakeEnd(old, JobState::kCancelled, AttemptReason::kCancelled))
              .status()}) {
      EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
      EXPECT_EQ(GetReason(refused), "LEASE_LOST");
    }
    const JobRecord after = Job(phase);
    EXPECT_EQ(after.state, before.state);
    EXPECT_EQ(after.epoch, before.epoch);
    EXPECT_EQ(after.lease_until, before.lease_until);
    EXPECT_EQ(after.not_before, before.not_before);
    EXPECT_EQ(Payloads(phase), told);
    EXPECT_EQ(storage_->jobs().ListAttempts(phase)->back().reason, AttemptReason::kRunning);
    const auto checkpoint = storage_->jobs().GetCheckpoint(phase);
    EXPECT_EQ(checkpoint->has_value() ? (*checkpoint)->blob : "",
              phase == "checkpoint" ? "mine" : "");
    EXPECT_EQ(storage_->models().GetModel("model").status().code(), absl::StatusCode::kNotFound);
    ASSERT_TRUE(
        storage_->jobs()
            .EndAttempt(MakeEnd(Job(phase), JobState::kCancelled, AttemptReason::kCancelled))
            .ok());
  }
}

}  // namespace
}  // namespace mercer::server
