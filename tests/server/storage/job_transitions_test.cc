// The state machine of a job without a store: every state, every request, every lease.
#include "server/storage/job_transitions.h"

#include <array>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

constexpr char kTold[] = "state";  // the payload of every event that tells a state
constexpr char kBlob[] = "checkpoint";
const StoredError kNoModel{9, "no model", "details"};

absl::Time Second(int64_t seconds) { return absl::FromUnixSeconds(1'700'000'000 + seconds); }

constexpr std::array<JobState, 7> kStates = {
    JobState::kQueued,    JobState::kRunning, JobState::kCancelling, JobState::kVerifying,
    JobState::kSucceeded, JobState::kFailed,  JobState::kCancelled};

bool Held(JobState state) {
  return state == JobState::kRunning || state == JobState::kCancelling ||
         state == JobState::kVerifying;
}

// A job in its third attempt, or between it and the next.
JobRecord MakeRecord(JobState state, bool stop_requested) {
  JobRecord job;
  job.id = "job";
  job.number = 17;
  job.state = state;
  job.attempt = 3;
  job.epoch = 5;
  job.memory_bytes = 100;
  job.caller = "ann";
  job.stop_requested = stop_requested;
  job.create_time = Second(0);
  job.start_time = Second(1);
  job.last_event = EventRecord{41, 3, 7, Second(2), "before"};
  if (Held(state)) {
    job.lease_worker = "worker";
    job.lease_until = Second(100);
  }
  if (IsFinal(state)) {
    job.end_time = Second(3);
  }
  return job;
}

// What a request has come to: a change, or a word why there is none.
struct Outcome {
  std::string word;
  std::optional<JobTransition> change;
};

Outcome Of(std::optional<JobTransition> change) {
  if (!change.has_value()) {
    return {"nothing", std::nullopt};
  }
  std::string state(JobStateName(change->job.state));
  return {std::move(state), std::move(change)};
}
Outcome Of(absl::StatusOr<std::optional<JobTransition>> change) {
  return change.ok() ? Of(*std::move(change)) : Outcome{GetReason(change.status()), std::nullopt};
}
Outcome Of(absl::StatusOr<JobTransition> change) {
  return change.ok() ? Of(std::optional<JobTransition>(*std::move(change)))
                     : Outcome{GetReason(change.status()), std::nullopt};
}

struct Situation {
  JobRecord job;
  std::optional<BlobDigest> checkpoint;
  Lease lease;
};

AttemptEnd MakeEnd(const Lease& lease, JobState state) {
  AttemptEnd end;
  end.lease = lease;
  end.state = state;
  end.reason = AttemptReason::kRetry;
  end.error = StoredError{8, "disk full", ""};
  if (state == JobState::kQueued) {
    end.delay = absl::Seconds(10);
  }
  end.now = Second(50);
  end.events = {{8, "progress"}, {8, kTold}};
  return end;
}

// What the clock of the store says: another time than that of the requests.
const absl::Time kClock = Second(110);

ClaimRequest MakeClaim(int64_t free, int64_t budget) {
  ClaimRequest request{"next worker", "host", Second(50), absl::Seconds(30), free, {0, kTold}};
  request.memory_budget_bytes = budget;
  return request;
}

StopRequest MakeStop() {
  return {"job", Second(50), {0, kTold}, {0, kTold}, {0, kTold}, {0, kTold}, kNoModel};
}

struct Request {
  std::string name;
  bool leased;  // a worker's
  std::function<Outcome(const Situation&)> apply;
  std::array<std::string, 7>
      expected;  // for the states in the order of kStates, when the lease is right
};

constexpr char kNone[] = "nothing";
constexpr char kLost[] = "LEASE_LOST";
constexpr char kOver[] = "JOB_IS_FINAL";
constexpr char kAsked[] = "CANCEL_REQUESTED";

Request EndRequest(JobState state, const std::string& cancelling) {
  const std::string to(JobStateName(state));
  return {absl::StrCat("end as ", to),
          true,
          [state](const Situation& s) {
            return Of(PlanEnd(s.job, s.checkpoint, MakeEnd(s.lease, state), kClock));
          },
          {kLost, to, cancelling, to, kLost, kLost, kLost}};
}

Request ClaimOf(const std::string& name, int64_t free, int64_t budget, const std::string& queued) {
  return {name,
          false,
          [free, budget](const Situation& s) {
            return Of(PlanClaim(s.job, MakeClaim(free, budget), kClock));
          },
          {queued, kNone, kNone, kNone, kNone, kNone, kNone}};
}

std::vector<Request> AllRequests() {
  return {
      ClaimOf("claim of one that fits", 100, 100, "RUNNING"),
      ClaimOf("claim of one that waits", 99, 100, kNone),
      ClaimOf("claim of one that never fits", 50, 99, "RUNNING"),
      {"renewal",
       true,
       [](const Situation& s) {
         return Of(PlanRenewal(s.job, s.lease, absl::Seconds(90), kClock));
       },
       {kLost, "RUNNING", "CANCELLING", "VERIFYING", kLost, kLost, kLost}},
      {"events",
       true,
       [](const Situation& s) {
         return Of(PlanEvents(s.job, s.lease, {{8, "progress"}, {9, "progress"}}, Second(50)));
       },
       {kLost, "RUNNING", "CANCELLING", "VERIFYING", kLost, kLost, kLost}},
      {"verifying",
       true,
       [](const Situation& s) {
         return Of(PlanVerifying(s.job, s.lease, {8, kTold}, Second(50)));
       },
       {kLost, "VERIFYING", kAsked, "VERIFYING", kLost, kLost, kLost}},
      EndRequest(JobState::kQueued, kAsked),
      EndRequest(JobState::kSucceeded, kAsked),
      EndRequest(JobState::kFailed, kAsked),
      EndRequest(JobState::kCancelled, "CANCELLED"),
      {"cancel",
       false,
       [](const Situation& s) {
         return Of(PlanCancel(s.job, s.checkpoint, {"job", Second(50), {0, kTold}, {0, kTold}}));
       },
       {"CANCELLED", "CANCELLING", kNone, "CANCELLING", kOver, kOver, kOver}},
      {"stop",
       false,
       [](const Situation& s) { return Of(PlanStop(s.job, s.checkpoint, MakeStop())); },
       {"QUEUED", "RUNNING", kNone, "VERIFYING", kOver, kOver, kOver}},
  };
}

std::string Expected(const Request& request, const Situation& situation, size_t state) {
  if (request.leased && situation.lease.worker != situation.job.lease_worker) {
    return kLost;
  }
  if (request.leased && situation.lease.epoch != situation.job.epoch) {
    return kLost;
  }
  if (request.name == "stop" && !IsFinal(kStates[state])) {
    if (situation.job.stop_requested) {
      return kNone;
    }
    if (kStates[state] == JobState::kQueued && !situation.checkpoint.has_value()) {
      return "CANCELLED";
    }
  }
  return request.expected[state];
}

// What holds of every change, whatever was asked for.
void CheckChange(const Situation& before, const JobTransition& change) {
  const JobRecord& job = before.job;
  const JobRecord& next = change.job;
  EXPECT_FALSE(IsFinal(job.state)) << "a final state is left";
  EXPECT_EQ(Held(next.state), !next.lease_worker.empty());
  EXPECT_EQ(Held(next.state), next.lease_until != absl::InfinitePast());
  EXPECT_EQ(IsFinal(next.state), next.end_time != absl::InfinitePast());
  EXPECT_TRUE(next.stop_requested || !job.stop_requested) << "a stop is forgotten";

  const bool begins = !Held(job.state) && Held(next.state);
  const bool ends = Held(job.state) && !Held(next.state);
  EXPECT_EQ(next.epoch, job.epoch + (begins ? 1 : 0));
  EXPECT_EQ(next.attempt, job.attempt + (begins ? 1 : 0));
  ASSERT_EQ(change.attempt.has_value(), begins || ends);
  if (begins || ends) {
    EXPECT_EQ(change.attempt->attempt, next.attempt);
    EXPECT_EQ(change.attempt->reason == AttemptReason::kRunning, begins);
    EXPECT_EQ(change.attempt->end_time, ends ? Second(50) : absl::InfinitePast());
  }
  EXPECT_EQ(change.dropped_checkpoint, IsFinal(next.state) ? before.checkpoint : std::nullopt);

  int64_t sequence = job.last_event->sequence;
  int told = 0;
  for (const EventRecord& event : change.events) {
    EXPECT_EQ(event.sequence, ++sequence);
    EXPECT_EQ(event.attempt, next.attempt);
    told += event.payload == kTold ? 1 : 0;
  }
  const EventRecord& last = change.events.empty() ? *job.last_event : change.events.back();
  EXPECT_EQ(next.last_event, last);
  if (next.state != job.state || next.stop_requested != job.stop_requested) {
    EXPECT_EQ(told, 1);
    EXPECT_EQ(last.payload, kTold) << "the state is the last thing that is told";
  }
  EXPECT_EQ(next.id, job.id);
  EXPECT_EQ(next.number, job.number);
  EXPECT_EQ(next.caller, job.caller);
  EXPECT_EQ(next.start_time, job.start_time);
}

TEST(JobTransitionsTest, EveryRequestInEveryStateWithEveryLease) {
  const std::vector<Lease> leases = {
      {"job", "worker", 5}, {"job", "worker", 4}, {"job", "worker", 6},
      {"job", "other", 5},  {"job", "", 5},
  };
  int changes = 0;
  int refusals = 0;
  for (size_t state = 0; state < kStates.size(); ++state) {
    for (const bool stopping : {false, true}) {
      for (const bool saved : {false, true}) {
        for (const Lease& lease : leases) {
          for (const Request& request : AllRequests()) {
            const Situation situation{MakeRecord(kStates[state], stopping),
                                      saved ? std::optional<BlobDigest>(kBlob) : std::nullopt,
                                      lease};
            SCOPED_TRACE(absl::StrCat(request.name, " of ",
                                      std::string(JobStateName(kStates[state])), ", stop ",
                                      stopping, ", checkpoint ", saved, ", lease of '",
                                      lease.worker, "' in epoch ", lease.epoch));
            const Outcome outcome = request.apply(situation);
            EXPECT_EQ(outcome.word, Expected(request, situation, state));
            if (outcome.change.has_value()) {
              ++changes;
              CheckChange(situation, *outcome.change);
              EXPECT_EQ(outcome.change->job.stop_requested, stopping || request.name == "stop");
            } else {
              ++refusals;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(changes + refusals, 7 * 2 * 2 * 5 * 12);
  // Of workers 17, with the one right lease; claims 2, cancellations 3; stops 3, where there was none.
  EXPECT_EQ(changes, 4 * 17 + 4 * 5 * (2 + 3) + 2 * 5 * 3);
}

// From the first event to the end, whatever order the requests come in.
TEST(JobTransitionsTest, LifeOfAJobIsDenseAndEndsOnce) {
  const std::vector<Request> requests = AllRequests();
  int ended = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Situation situation;
    situation.job = MakeRecord(JobState::kQueued, false);
    situation.job.last_event = PlanFirstEvent({0, kTold}, Second(0)).job.last_event;
    ASSERT_EQ(situation.job.last_event->sequence, 1);
    for (int i = 0; i < 60; ++i) {
      // Half of the workers are those of an epoch before.
      situation.lease = {"job", situation.job.lease_worker,
                         situation.job.epoch - static_cast<int64_t>(random() % 2)};
      const Outcome outcome = requests[random() % requests.size()].apply(situation);
      if (outcome.change.has_value()) {
        CheckChange(situation, *outcome.change);
        situation.job = outcome.change->job;
        situation.job.not_before = absl::InfinitePast();
        if (outcome.change->dropped_checkpoint.has_value()) {
          situation.checkpoint.reset();
        } else if (Held(situation.job.state)) {
          situation.checkpoint = kBlob;
        }
      }
    }
    ended += IsFinal(situation.job.state) ? 1 : 0;
  }
  EXPECT_GT(ended, 250);
}

TEST(JobTransitionsTest, ClaimBeginsAnAttempt) {
  JobRecord job = MakeRecord(JobState::kQueued, false);
  job.error = kNoModel;
  const std::optional<JobTransition> change = PlanClaim(job, MakeClaim(100, 100), kClock);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->job.lease_worker, "next worker");
  EXPECT_EQ(change->job.lease_until, Second(140)) << "by the clock of the store";
  EXPECT_EQ(change->job.start_time, Second(1)) << "that of the first attempt";
  EXPECT_FALSE(change->job.error.has_value());
  EXPECT_EQ(change->attempt->host, "host");
  EXPECT_EQ(change->attempt->worker, "next worker");
  EXPECT_EQ(change->attempt->start_time, Second(50));
  job.start_time = absl::InfinitePast();
  EXPECT_EQ(PlanClaim(job, MakeClaim(100, 100), kClock)->job.start_time, Second(50));
}

TEST(JobTransitionsTest, ClaimWaitsForTheTimeOfTheJobUnlessThatIsAMistake) {
  JobRecord job = MakeRecord(JobState::kQueued, false);
  for (const auto& [not_before, claimed] : std::vector<std::pair<absl::Time, bool>>{
           {absl::InfinitePast(), true},
           {kClock, true},
           {kClock + absl::Microseconds(1), false},
           {kClock + kLongestDelay, false},
           {kClock + kLongestDelay + absl::Seconds(1), true}}) {
    job.not_before = not_before;
    const std::optional<JobTransition> change = PlanClaim(job, MakeClaim(100, 100), kClock);
    EXPECT_EQ(change.has_value(), claimed) << not_before;
    EXPECT_TRUE(!claimed || change->job.not_before == absl::InfinitePast());
  }
}

TEST(JobTransitionsTest, ClaimLeavesToAnotherServerWhatFitsThereAlone) {
  const JobRecord job = MakeRecord(JobState::kQueued, false);  // needs 100
  ClaimRequest request = MakeClaim(50, 99);
  for (const auto& [largest, claimed] :
       std::vector<std::pair<int64_t, bool>>{{0, true}, {99, true}, {100, false}, {1000, false}}) {
    request.largest_budget_bytes = largest;
    EXPECT_EQ(PlanClaim(job, request, kClock).has_value(), claimed) << largest;
  }
  request = MakeClaim(100, 100);
  request.largest_budget_bytes = 1000;
  EXPECT_TRUE(PlanClaim(job, request, kClock).has_value()) << "it fits here";
}

TEST(JobTransitionsTest, OnlyAnExpiredLeaseIsTakenOver) {
  const Lease lease{"job", "worker", 5};
  const absl::Time until = Second(100);
  for (const JobState state : kStates) {
    const JobRecord job = MakeRecord(state, false);
    SCOPED_TRACE(std::string(JobStateName(state)));
    EXPECT_EQ(GetReason(CheckExpired(job, lease, until - absl::Microseconds(1))),
              Held(state) ? "LEASE_HELD" : kLost);
    EXPECT_EQ(GetReason(CheckExpired(job, lease, until)), Held(state) ? "" : kLost);
    EXPECT_EQ(GetReason(CheckExpired(job, {"job", "worker", 4}, until)), kLost)
        << "the worker of an epoch before";
    const AttemptEnd end = MakeEnd(lease, JobState::kCancelled);
    EXPECT_EQ(Of(PlanEnd(job, kBlob, end, until)).word, Held(state) ? "CANCELLED" : kLost)
        << "the worker itself may end it";
  }
}

TEST(JobTransitionsTest, EndKeepsItsErrorAndItsDelay) {
  const JobRecord job = MakeRecord(JobState::kRunning, true);
  const auto change = PlanEnd(job, kBlob, MakeEnd({"job", "worker", 5}, JobState::kQueued), kClock);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->job.error, (StoredError{8, "disk full", ""}));
  EXPECT_EQ(change->job.not_before, kClock + absl::Seconds(10)) << "by the clock of the store";
  EXPECT_TRUE(change->job.stop_requested);
  EXPECT_EQ(change->attempt->reason, AttemptReason::kRetry);
}

TEST(JobTransitionsTest, CancelAndStopMakeADelayedJobReadyOrEndIt) {
  JobRecord job = MakeRecord(JobState::kQueued, false);
  job.not_before = Second(60);
  job.error = StoredError{8, "disk full", ""};
  const auto cancelled = PlanCancel(job, kBlob, {"job", Second(50), {0, "a"}, {0, "b"}});
  ASSERT_TRUE(cancelled.ok() && cancelled->has_value());
  EXPECT_EQ((*cancelled)->job.not_before, absl::InfinitePast());
  EXPECT_FALSE((*cancelled)->job.error.has_value()) << "it was asked for";
  EXPECT_EQ((*cancelled)->job.end_time, Second(50));
  EXPECT_EQ((*cancelled)->events.front().payload, "b");

  const auto stopped = PlanStop(job, std::nullopt, MakeStop());
  ASSERT_TRUE(stopped.ok() && stopped->has_value());
  EXPECT_EQ((*stopped)->job.error, kNoModel);
  EXPECT_EQ((*stopped)->job.not_before, absl::InfinitePast());
  const auto goes_on = PlanStop(job, kBlob, MakeStop());
  ASSERT_TRUE(goes_on.ok() && goes_on->has_value());
  EXPECT_EQ((*goes_on)->job.error, job.error);
  EXPECT_EQ((*goes_on)->job.not_before, absl::InfinitePast());
  job.kind = JobKind::kPrediction;  // of which there is no model to keep
  const auto nothing = PlanStop(job, kBlob, MakeStop());
  ASSERT_TRUE(nothing.ok() && nothing->has_value());
  EXPECT_EQ((*nothing)->job.state, JobState::kCancelled);
  EXPECT_EQ((*nothing)->dropped_checkpoint, kBlob);
}

TEST(JobTransitionsTest, StopTellsTheStateThatTheJobStaysIn) {
  const StopRequest request{"job", Second(50), {0, "q"}, {0, "r"}, {0, "v"}, {0, "c"}, kNoModel};
  const auto told = [&](JobState state, std::optional<BlobDigest> checkpoint) {
    return PlanStop(MakeRecord(state, false), checkpoint, request)->value().events.front().payload;
  };
  EXPECT_EQ(told(JobState::kQueued, kBlob), "q");
  EXPECT_EQ(told(JobState::kQueued, std::nullopt), "c");
  EXPECT_EQ(told(JobState::kRunning, std::nullopt), "r");
  EXPECT_EQ(told(JobState::kVerifying, kBlob), "v");
}

TEST(JobTransitionsTest, WhoMayNotIsToldSoBeforeAnythingElse) {
  const OwnerCheck check = [](const std::string& owner) {
    return absl::PermissionDeniedError(owner);
  };
  for (const JobState state : kStates) {
    const JobRecord job = MakeRecord(state, true);
    CancelRequest cancel{"job", Second(50), {0, "a"}, {0, "b"}, check};
    StopRequest stop = MakeStop();
    stop.check = check;
    for (const absl::Status& refused :
         {PlanCancel(job, kBlob, cancel).status(), PlanStop(job, kBlob, stop).status()}) {
      EXPECT_EQ(refused, absl::PermissionDeniedError("ann"));
    }
  }
}

TEST(JobTransitionsTest, CheckpointIsOfTheAttemptThatHoldsTheLease) {
  const NewCheckpoint checkpoint{12, "v1", "blob", Second(50)};
  for (const JobState state : kStates) {
    const JobRecord job = MakeRecord(state, false);
    const auto kept = PlanCheckpoint(job, {"job", "worker", 5}, checkpoint);
    ASSERT_EQ(kept.ok(), Held(state)) << kept.status();
    if (kept.ok()) {
      EXPECT_EQ(kept->attempt, 3);
      EXPECT_EQ(kept->iteration, 12);
      EXPECT_EQ(kept->create_time, Second(50));
    }
    EXPECT_EQ(GetReason(PlanCheckpoint(job, {"job", "worker", 4}, checkpoint).status()), kLost);
  }
}

// A change answers what a later read answers, so no time may be finer than a store keeps it.
TEST(JobTransitionsTest, TimesAreThoseThatAreReadBack) {
  const absl::Time fine = Second(50) + absl::Nanoseconds(1'999);
  const absl::Time kept = Second(50) + absl::Microseconds(1);
  const JobRecord job = MakeRecord(JobState::kRunning, false);
  const Lease lease{"job", "worker", 5};
  const auto events = PlanEvents(job, lease, {{1, "a"}, {1, "b", fine}}, Second(70));
  ASSERT_TRUE(events.ok());
  EXPECT_THAT(events->events, ElementsAre(EventRecord{42, 3, 1, Second(70), "a"},
                                          EventRecord{43, 3, 1, kept, "b"}));
  EXPECT_EQ(PlanRenewal(job, lease, absl::ZeroDuration(), fine)->job.lease_until, kept);
  AttemptEnd end = MakeEnd(lease, JobState::kFailed);
  end.now = fine;
  const auto ended = PlanEnd(job, kBlob, end, kClock);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->job.end_time, kept);
  EXPECT_EQ(ended->attempt->end_time, kept);
  EXPECT_EQ(ended->events.back().time, kept);
}

}  // namespace
}  // namespace mercer::server
