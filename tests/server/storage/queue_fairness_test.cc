// Random workloads against the order of the queue as job_store.h states it, worked out from scratch for every claim, and
// against what follows from it: nobody starves.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "tests/server/storage/storage_conformance.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

constexpr int kCallers = 5;
constexpr size_t kWorkers = 3;
constexpr int64_t kBudget = 100;

struct ModelJob {
  std::string caller;
  int32_t priority = 0;
  int64_t memory = 0;
  int64_t number = 0;
  JobKind kind = JobKind::kTraining;
  absl::Time not_before = absl::InfinitePast();
};

class QueueFairness : public StorageConformance {
 protected:
  // Takes the seed of the run.
  void Run(uint32_t seed, int steps, bool priorities, int64_t max_running) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", priorities ", priorities, ", limit ", max_running));
    random_.seed(seed);
    priorities_ = priorities;
    max_running_ = max_running;
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      TakeStep();
    }
    // Everything that was submitted runs.
    for (int i = 0; (!queued_.empty() || !running_.empty()) && !HasFailure(); ++i) {
      ASSERT_LT(i, 100'000) << "a job is stuck";
      clock_ += absl::Minutes(1);
      if (!running_.empty()) {
        Finish(false);
      }
      TakeHead(ClaimedJobs::kAll);
    }
  }
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }

 private:
  int Pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  void TakeStep() {
    clock_ += absl::Seconds(Pick(3));
    switch (Pick(5)) {
      case 0:
      case 1:
        Submit();
        break;
      case 2:
        if (!running_.empty()) {
          Finish(Pick(4) == 0);
        }
        break;
      default:
        TakeHead(Pick(3) == 0 ? ClaimedJobs::kAllButTrainings : ClaimedJobs::kAll);
    }
  }

  void Submit() {
    ModelJob job;
    job.caller =
        absl::StrCat("c", std::min(Pick(kCallers), Pick(kCallers)));  // some ask more than others
    job.priority = priorities_ ? Pick(3) : 0;
    job.memory = Pick(10) == 0 ? kBudget : 1 + Pick(40);
    job.kind = Pick(3) == 0 ? JobKind::kPrediction : JobKind::kTraining;
    NewJob row = MakeJob(absl::StrCat("j", ++last_));
    row.kind = job.kind;
    row.caller = job.caller;
    row.priority = job.priority;
    row.memory_bytes = job.memory;
    job.number = AddJob(row).number;
    queued_[row.id] = job;
  }

  // Ends a random job, or sends it back to the queue for later.
  void Finish(bool retry) {
    auto entry = running_.begin();
    std::advance(entry, Pick(static_cast<int>(running_.size())));
    AttemptEnd end = MakeEnd(entry->second, retry ? JobState::kQueued : JobState::kFailed,
                             retry ? AttemptReason::kRetry : AttemptReason::kFailed);
    ModelJob job = started_.at(entry->first);
    if (retry) {
      end.delay = absl::Seconds(Pick(8));
      job.not_before = clock_ + end.delay;
      queued_[entry->first] = job;
    }
    ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
    started_.erase(entry->first);
    running_.erase(entry);
  }

  int64_t Held(const std::string& caller) const {
    return std::count_if(started_.begin(), started_.end(),
                         [&](const auto& entry) { return entry.second.caller == caller; });
  }
  static bool IsSeen(const ModelJob& job, ClaimedJobs jobs) {
    return jobs == ClaimedJobs::kAll || job.kind != JobKind::kTraining;
  }
  bool IsCandidate(const ModelJob& job, ClaimedJobs jobs) const {
    return IsSeen(job, jobs) && job.not_before <= clock_ &&
           (max_running_ == 0 || Held(job.caller) < max_running_);
  }

  std::string ExpectedHead(ClaimedJobs jobs) const {
    std::string head;
    const auto rank = [this](const ModelJob& job) {
      const auto turn = turns_.find(job.caller);
      return std::tuple(-job.priority, Held(job.caller), turn == turns_.end() ? 0 : turn->second,
                        job.number);
    };
    for (const auto& [id, job] : queued_) {
      if (IsCandidate(job, jobs) && (head.empty() || rank(job) < rank(queued_.at(head)))) {
        head = id;
      }
    }
    return head;
  }

  int64_t FreeMemory() const {
    int64_t used = 0;
    for (const auto& [id, job] : started_) {
      used += job.memory;
    }
    return kBudget - used;
  }

  void TakeHead(ClaimedJobs jobs) {
    ForgetThoseWhoDoNotWait(ClaimedJobs::kAll);
    ForgetThoseWhoDoNotWait(ClaimedJobs::kAllButTrainings);
    if (running_.size() == kWorkers) {
      return;
    }
    ClaimRequest request{"w", "host", clock_, absl::Seconds(30), FreeMemory(), {0, "running"}};
    request.max_running_per_caller = max_running_;
    request.jobs = jobs;
    const auto claimed = storage_->jobs().ClaimJob(request);
    ASSERT_TRUE(claimed.ok()) << claimed.status();
    const std::string head = ExpectedHead(jobs);
    const bool fits = !head.empty() && queued_.at(head).memory <= FreeMemory();
    ASSERT_EQ(claimed->has_value() ? (*claimed)->id : "", fits ? head : "");
    if (!claimed->has_value()) {
      return;
    }
    const ModelJob job = queued_.at(head);
    queued_.erase(head);
    CountOvertaking(job.caller, jobs);
    started_[head] = job;
    running_[head] = **claimed;
    turns_[job.caller] = ++last_turn_;
  }

  // Callers who wait in a queue with nothing running: how often each other one has begun a job out of it meanwhile.
  void ForgetThoseWhoDoNotWait(ClaimedJobs jobs) {
    for (int c = 0; c < kCallers; ++c) {
      const std::string caller = absl::StrCat("c", c);
      const bool waits =
          Held(caller) == 0 && std::any_of(queued_.begin(), queued_.end(), [&](const auto& entry) {
            return entry.second.caller == caller && entry.second.not_before <= clock_ &&
                   IsSeen(entry.second, jobs);
          });
      if (!waits) {
        overtakings_[jobs].erase(caller);
      } else {
        overtakings_[jobs].try_emplace(caller);
      }
    }
  }
  void CountOvertaking(const std::string& winner, ClaimedJobs jobs) {
    for (auto& [queue, callers] : overtakings_) {
      callers.erase(winner);
    }
    for (auto& [caller, by_other] : overtakings_[jobs]) {
      const int times = ++by_other[winner];
      if (!priorities_) {
        EXPECT_LE(times, 1) << caller << " was overtaken by " << winner;
      }
    }
  }

  std::mt19937 random_;
  bool priorities_ = false;
  int64_t max_running_ = 0;
  int64_t last_ = 0;
  int64_t last_turn_ = 0;
  std::map<std::string, ModelJob> queued_;
  std::map<std::string, ModelJob> started_;
  std::map<std::string, JobRecord> running_;
  std::map<std::string, int64_t> turns_;
  std::map<ClaimedJobs, std::map<std::string, std::map<std::string, int>>> overtakings_;
};

TEST_F(QueueFairness, FollowsTheStatedOrderAndStarvesNobody) {
  const uint32_t seeds = IsThorough() ? 8 : 2;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    Run(seed, 400, false, 0);
    Run(seed, 400, false, 1);
    Run(seed, 400, true, 2);
  }
}

TEST_F(QueueFairness, OneJobAmongAThousandOfAnotherBeginsNext) {
  for (int i = 0; i < 1000; ++i) {
    NewJob job = MakeJob(absl::StrCat("many", i));
    job.caller = "greedy";
    AddJob(job);
  }
  const JobRecord first = *Claim("w");
  NewJob job = MakeJob("one");
  job.caller = "modest";
  AddJob(job);
  ASSERT_TRUE(
      storage_->jobs().EndAttempt(MakeEnd(first, JobState::kFailed, AttemptReason::kFailed)).ok());
  EXPECT_EQ(Claim("w")->id, "one");
}

}  // namespace
}  // namespace mercer::server
