// Jobs and verifications want the same memory.
#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "core/training/model/model.h"
#include "core/training/model/witness.h"
#include "server/jobs/attempt_frame.h"
#include "server/jobs/job_work.h"
#include "server/jobs/model_verification.h"
#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

// Every verification lasts until another one has begun, if that happens soon: a chain without a gap, where the server
// allows one.
class VerificationChain {
 public:
  void Enter() {
    absl::MutexLock lock(&mutex_);
    const int64_t mine = ++entered_;
    const auto may_leave = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ended_ || entered_ > mine;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&may_leave), absl::Milliseconds(200));
  }
  void WaitUntilEntered(int64_t verifications) {
    const auto entered = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return entered_ >= verifications;
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&entered));
  }
  void End() {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  bool ended() {
    absl::MutexLock lock(&mutex_);
    return ended_;
  }

 private:
  absl::Mutex mutex_;
  int64_t entered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class VerificationMemoryTest : public JobManagerFixture {
 protected:
  static constexpr int64_t kSmall = 1000;
  static constexpr int64_t kLarge = 1'000'000;

  // Trains what is verified, and starts again with a budget that is just enough for a large job.
  void TrainAndLowerTheBudget() {
    StartManager();
    const std::string id = Submit(Steps(2));
    manager_->WaitUntilIdle();
    const auto [model, witness] = Blobs(id);
    const auto model_file = blobs_->Read(model);
    const auto witness_file = blobs_->Read(witness);
    ASSERT_TRUE(model_file.ok() && witness_file.ok());
    model_ = *LoadModel((*model_file)->contents());
    witness_ = *LoadWitness((*witness_file)->contents());
    stored_ = {"2 data", {storage_->datasets().GetDataset("data")->blob}, &model_, &witness_};
    control_.memory_bytes = kLarge;
    options_.memory_budget_bytes = manager_->Estimate(Steps(2))->memory_bytes;
    control_.memory_bytes = kSmall;
    manager_->Drain();
    CloseAll();
    OpenStores();
    entry_.verify = [this, verify = entry_.verify](const OptionValues& options,
                                                   const TrainingProblem& problem,
                                                   const Witness& witness_of, RunContext& context) {
      chain_.Enter();
      return verify(options, problem, witness_of, context);
    };
    StartManager();
  }
  void VerifyUntilTheEnd() {
    while (!chain_.ended()) {
      const auto certificate = manager_->Verify(stored_, CancellationToken());
      EXPECT_TRUE(certificate.ok()) << certificate.status();
    }
  }
  // While verifications keep coming.
  void ExpectThatALargeJobBegins(bool empty_pages);
  // Lasts until it is let go.
  class LongWork final : public JobWork {
   public:
    LongWork(const std::atomic<bool>* let_go, AttemptFrame& frame)
        : let_go_(let_go), frame_(frame) {}
    absl::StatusOr<WorkOutcome> Run() override {
      while (!*let_go_ && !frame_.token().cancelled()) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      WorkOutcome outcome;
      outcome.result = "done";
      return outcome;
    }

   private:
    const std::atomic<bool>* const let_go_;
    AttemptFrame& frame_;
  };
  // False after a time that is long enough for any machine.
  bool WaitUntilFinal(const std::string& id) {
    const absl::Duration limit = RealClock().Monotonic() + absl::Seconds(20);
    while (RealClock().Monotonic() < limit) {
      if (IsFinal(Job(id).state)) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }

  Model model_;
  Witness witness_;
  StoredModel stored_;
  VerificationChain chain_;
};

void VerificationMemoryTest::ExpectThatALargeJobBegins(bool empty_pages) {
  TrainAndLowerTheBudget();
  failures_.empty_pages = empty_pages;
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([this] { VerifyUntilTheEnd(); });
  }
  chain_.WaitUntilEntered(2);
  control_.memory_bytes = kLarge;
  const std::string id = Submit(Steps(2));
  control_.memory_bytes = kSmall;
  EXPECT_TRUE(WaitUntilFinal(id));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  chain_.End();
  for (std::thread& client : clients) {
    client.join();
  }
}

TEST_F(VerificationMemoryTest, JobThatNeedsTheWholeBudgetBeginsAlthoughVerificationsKeepComing) {
  ExpectThatALargeJobBegins(false);
}

TEST_F(VerificationMemoryTest, ItBeginsAlsoWhenAPageDoesNotReachTheJobsThatWait) {
  ExpectThatALargeJobBegins(true);
}

// It takes a little of the memory that the head of the queue wants, for long; the rest is there for others.
TEST_F(VerificationMemoryTest, LongJobInTheWayOfAnotherStopsNoVerification) {
  std::atomic<bool> let_go{false};
  other_works_[JobKind::kEvaluation] = [&](AttemptFrame& frame) {
    return std::make_unique<LongWork>(&let_go, frame);
  };
  options_.num_workers = 1;
  TrainAndLowerTheBudget();
  chain_.End();
  control_.Allow(0);
  const std::string first = Submit(Steps(2));
  control_.WaitUntilAsked(3);  // two of what is verified
  JobSubmission evaluation;
  evaluation.kind = JobKind::kEvaluation;
  const auto beside = manager_->SubmitOther(evaluation, [] {
    return AdmittedJob{"evaluate", {"data"}, kSmall};
  });
  ASSERT_TRUE(beside.ok()) << beside.status();
  while (Job(beside->job.id).state != JobState::kRunning) {
    std::this_thread::yield();
  }
  control_.memory_bytes = kLarge;
  const std::string big = Submit(Steps(2));
  control_.memory_bytes = kSmall;
  control_.AllowAll();
  ASSERT_TRUE(WaitUntilFinal(first));
  for (int i = 0; i < 20; ++i) {  // the worker looks at the head of the queue meanwhile
    absl::SleepFor(absl::Milliseconds(5));
    const CancellationToken token;
    auto certificate =
        std::async(std::launch::async, [&] { return manager_->Verify(stored_, token); });
    if (certificate.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
      token.Cancel();
    }
    const absl::Status verified = certificate.get().status();
    ASSERT_TRUE(verified.ok()) << verified;
  }
  EXPECT_EQ(Job(big).state, JobState::kQueued);
  let_go = true;
  EXPECT_TRUE(WaitUntilFinal(big));
  EXPECT_EQ(Job(big).state, JobState::kSucceeded);
}

}  // namespace
}  // namespace mercer::server
