#include "server/watching/progress_hub.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/watching/wake_slot.h"
#include "tests/support/server/failing_executor.h"
#include "tests/support/server/test_storage.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

// Pulls whenever it is told to, as a stream does; keeps the sequence numbers.
class PullingWatcher {
 public:
  PullingWatcher(ProgressHub& hub, const std::string& job, int64_t after, bool paused = false)
      : paused_(paused) {
    absl::MutexLock lock(&mutex_);
    subscription_ = hub.Subscribe(job, after, [this] { Pump(); });
  }

  void Pump() {
    absl::MutexLock lock(&mutex_);
    while (!paused_ && !ended_) {
      NextEvent next = subscription_->Next();
      if (next.kind == NextEvent::kWait) {
        return;
      }
      if (next.kind == NextEvent::kEnd) {
        ended_ = true;
        status_ = next.status;
      } else {
        sequences_.push_back(next.item->record.sequence);
      }
    }
  }
  void LookAgain() {
    {
      absl::MutexLock lock(&mutex_);
      subscription_->LookAgain();
    }
    Pump();
  }
  void Resume() {
    {
      absl::MutexLock lock(&mutex_);
      paused_ = false;
    }
    Pump();
  }
  absl::Status WaitForEnd() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&ended_));
    return status_;
  }
  void WaitFor(size_t count) {
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return sequences_.size() >= count;
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&enough));
  }
  std::vector<int64_t> sequences() {
    absl::MutexLock lock(&mutex_);
    return sequences_;
  }

 private:
  absl::Mutex mutex_;
  std::unique_ptr<ProgressSubscription> subscription_;
  bool paused_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> sequences_ ABSL_GUARDED_BY(mutex_);
};

std::vector<int64_t> Range(int64_t first, int64_t last) {
  std::vector<int64_t> numbers;
  for (int64_t i = first; i <= last; ++i) {
    numbers.push_back(i);
  }
  return numbers;
}

class ProgressHubTest : public ::testing::Test {
 protected:
  // A running job, whose log holds events 1 (queued) and 2 (running).
  void SetUp() override {
    DatasetRecord dataset;
    dataset.id = "data";
    ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
    NewJob job;
    job.id = "job";
    job.dataset_ids = {"data"};
    job.model_name = "model";
    job.event = StateEvent(JobState::kQueued);
    ASSERT_TRUE(storage_->jobs().CreateJob(job).ok());
    ClaimRequest claim;
    claim.worker = "w";
    claim.event = StateEvent(JobState::kRunning);
    const auto claimed = storage_->jobs().ClaimJob(claim);
    ASSERT_TRUE(claimed.ok() && claimed->has_value());
    lease_ = {"job", "w", (*claimed)->epoch};
  }

  static EventDraft Progress(int64_t iteration) {
    JobEvent event;
    event.kind = JobEventKind::kProgress;
    event.phase = "train";
    return {iteration, EncodeJobEvent(event)};
  }
  std::vector<EventRecord> Append(int count) {
    std::vector<EventDraft> drafts;
    for (int i = 0; i < count; ++i) {
      drafts.push_back(Progress(++iteration_));
    }
    auto stored = storage_->events().Append(lease_, drafts, absl::FromUnixSeconds(1));
    EXPECT_TRUE(stored.ok()) << stored.status();
    return *stored;
  }
  void Emit(int count) { hub_.Publish("job", Append(count)); }
  void Finish() {
    AttemptEnd end;
    end.lease = lease_;
    end.state = JobState::kFailed;
    end.events = {StateEvent(JobState::kFailed)};
    const auto ended = storage_->jobs().EndAttempt(end);
    ASSERT_TRUE(ended.ok()) << ended.status();
    hub_.Publish("job", ended->events);
  }

  std::unique_ptr<Storage> storage_ = MakeTestStorage();
  Lease lease_;
  int64_t iteration_ = 0;
  ThreadPool executor_{4};
  ProgressHub hub_{storage_.get(), &executor_, {.tail_events = 8, .page_events = 3}};
};

TEST_F(ProgressHubTest, ReplaysThenFollowsToTheEnd) {
  Emit(10);
  PullingWatcher watcher(hub_, "job", 0);
  watcher.Pump();
  watcher.WaitFor(12);
  Emit(5);
  watcher.WaitFor(17);
  Finish();
  EXPECT_TRUE(watcher.WaitForEnd().ok());
  EXPECT_EQ(watcher.sequences(), Range(1, 18));
}

TEST_F(ProgressHubTest, GoesOnAfterTheGivenSequence) {
  Emit(10);
  PullingWatcher watcher(hub_, "job", 7);
  watcher.Pump();
  Finish();
  EXPECT_TRUE(watcher.WaitForEnd().ok());
  EXPECT_EQ(watcher.sequences(), Range(8, 13));
}

TEST_F(ProgressHubTest, FinishedJobIsReplayed) {
  Emit(2);
  Finish();
  PullingWatcher watcher(hub_, "job", 0);
  watcher.Pump();
  EXPECT_TRUE(watcher.WaitForEnd().ok());
  EXPECT_EQ(watcher.sequences(), Range(1, 5));
  PullingWatcher nothing_left(hub_, "job", 5);
  nothing_left.Pump();
  EXPECT_TRUE(nothing_left.WaitForEnd().ok());
  EXPECT_THAT(nothing_left.sequences(), ElementsAre());
}

TEST_F(ProgressHubTest, RefusesWrongJobsAndSequences) {
  const auto end_of = [&](const std::string& job, int64_t after) {
    PullingWatcher watcher(hub_, job, after);
    watcher.Pump();
    return watcher.WaitForEnd().code();
  };
  EXPECT_EQ(end_of("nobody", 0), absl::StatusCode::kNotFound);
  EXPECT_EQ(end_of("job", -1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(end_of("job", 3), absl::StatusCode::kInvalidArgument);
}

// Its destructor waits for callbacks, so it would hang on one that was never seen to end.
TEST_F(ProgressHubTest, WatcherThatThrowsGoesAndCostsTheOthersNothing) {
  Emit(1);
  auto thrower = hub_.Subscribe("job", 3, [] { throw std::runtime_error("out of patience"); });
  PullingWatcher other(hub_, "job", 3);
  EXPECT_EQ(thrower->Next().kind, NextEvent::kWait);
  other.Pump();
  Finish();
  EXPECT_TRUE(other.WaitForEnd().ok());
  EXPECT_EQ(other.sequences(), Range(4, 4));
  thrower.reset();
}

TEST(WakeSlotTest, CallbackThatThrowsDoesNotHoldClose) {
  WakeSlot slot([] { throw std::runtime_error("out of patience"); });
  std::thread([&slot] { EXPECT_THROW(slot.Run(), std::runtime_error); }).join();
  slot.Close();
}

TEST_F(ProgressHubTest, SlowWatcherGetsEverythingWhenItComesBack) {
  PullingWatcher slow(hub_, "job", 0, /*paused=*/true);
  PullingWatcher quick(hub_, "job", 0);
  quick.Pump();
  for (int i = 0; i < 50; ++i) {
    Emit(1);
  }
  Finish();
  EXPECT_TRUE(quick.WaitForEnd().ok());
  EXPECT_EQ(quick.sequences(), Range(1, 53));
  EXPECT_THAT(slow.sequences(), ElementsAre());
  slow.Resume();
  EXPECT_TRUE(slow.WaitForEnd().ok());
  EXPECT_EQ(slow.sequences(), Range(1, 53));
}

TEST_F(ProgressHubTest, SlowWatcherCostsACursorAndAPage) {
  auto slow = hub_.Subscribe("job", 0, [] {});
  EXPECT_EQ(slow->Next().kind, NextEvent::kWait);  // has a page fetched, and takes none of it
  std::vector<std::weak_ptr<const WatchedEvent>> events;
  absl::Mutex mutex;
  absl::Notification done;
  std::unique_ptr<ProgressSubscription> collector;
  const auto pump = [&] {
    absl::MutexLock lock(&mutex);
    for (NextEvent next = collector->Next(); next.kind != NextEvent::kWait;
         next = collector->Next()) {
      if (next.kind == NextEvent::kEnd) {
        done.Notify();
        return;
      }
      events.push_back(next.item);
    }
  };
  {
    absl::MutexLock lock(&mutex);
    collector = hub_.Subscribe("job", 0, pump);
  }
  pump();
  for (int i = 0; i < 2000; ++i) {
    Emit(1);
  }
  Finish();
  done.WaitForNotification();
  ASSERT_EQ(events.size(), 2003U);
  const auto alive = std::count_if(events.begin(), events.end(),
                                   [](const auto& event) { return !event.expired(); });
  EXPECT_LE(alive, 8 + 3) << "the tail and a page";
  EXPECT_EQ(slow->Next().sequence, 1) << "nothing was taken before";
}

TEST_F(ProgressHubTest, WatcherThatHangsInItsCallbackDelaysNeitherTrainingNorOthers) {
  absl::Notification entered;
  absl::Notification leave;
  auto stuck = hub_.Subscribe("job", 2, [&] {
    if (!entered.HasBeenNotified()) {
      entered.Notify();
    }
    leave.WaitForNotification();
  });
  EXPECT_EQ(stuck->Next().kind, NextEvent::kWait);
  Emit(1);
  entered.WaitForNotification();
  PullingWatcher other(hub_, "job", 0);
  other.Pump();
  for (int i = 0; i < 100; ++i) {
    Emit(1);
  }
  Finish();
  EXPECT_TRUE(other.WaitForEnd().ok());
  EXPECT_EQ(other.sequences(), Range(1, 104));
  leave.Notify();
}

TEST_F(ProgressHubTest, TwoHundredWatchersGetEveryEventOnceAndInOrder) {
  std::vector<std::unique_ptr<PullingWatcher>> watchers;
  for (int i = 0; i < 100; ++i) {
    watchers.push_back(std::make_unique<PullingWatcher>(hub_, "job", 0));
    watchers.back()->Pump();
  }
  std::thread producer([&] {
    for (int i = 0; i < 300; ++i) {
      Emit(1 + i % 3);
    }
    Finish();
  });
  for (int i = 0; i < 100; ++i) {  // join while events flow
    watchers.push_back(std::make_unique<PullingWatcher>(hub_, "job", i % 3));
    watchers.back()->Pump();
  }
  producer.join();
  EXPECT_EQ(hub_.num_subscriptions(), 200);
  const int64_t last = storage_->jobs().GetJob("job")->last_event->sequence;
  for (size_t i = 0; i < watchers.size(); ++i) {
    EXPECT_TRUE(watchers[i]->WaitForEnd().ok());
    const int64_t first = i < 100 ? 1 : static_cast<int64_t>((i - 100) % 3) + 1;
    EXPECT_EQ(watchers[i]->sequences(), Range(first, last)) << "watcher " << i;
  }
  watchers.clear();
  EXPECT_EQ(hub_.num_subscriptions(), 0);
}

TEST_F(ProgressHubTest, EventsPublishedOutOfOrderComeInOrder) {
  PullingWatcher watcher(hub_, "job", 0);
  watcher.Pump();
  watcher.WaitFor(2);
  const std::vector<EventRecord> third = Append(1);
  const std::vector<EventRecord> fourth = Append(1);
  hub_.Publish("job", fourth);
  hub_.Publish("job", third);
  hub_.Publish("job", fourth);
  Finish();
  EXPECT_TRUE(watcher.WaitForEnd().ok());
  EXPECT_EQ(watcher.sequences(), Range(1, 5));
}

TEST_F(ProgressHubTest, WatchersOfAnEventShareIt) {
  const auto one = hub_.Subscribe("job", 2, [] {});
  const auto other = hub_.Subscribe("job", 2, [] {});
  Emit(1);
  const NextEvent next = one->Next();
  ASSERT_EQ(next.kind, NextEvent::kItem);
  EXPECT_EQ(other->Next().item, next.item);
  const auto write = [](const JobEvent& event) { return absl::StrCat(event.sequence); };
  EXPECT_EQ(next.item->Written(write).value(), next.item->Written(write).value())
      << "written once for both";
}

TEST_F(ProgressHubTest, HearsOfEventsFromTheStorageThatCommitsThem) {
  WatchedStorage watched(std::move(storage_));
  ProgressHub hub(&watched, &executor_);
  {
    PullingWatcher watcher(hub, "job", 0);
    watcher.Pump();
    watcher.WaitFor(2);
    ASSERT_TRUE(watched.events().Append(lease_, {Progress(1)}, absl::FromUnixSeconds(1)).ok());
    watcher.WaitFor(3);
    ASSERT_TRUE(
        watched.jobs()
            .BeginVerifying(lease_, StateEvent(JobState::kVerifying), absl::FromUnixSeconds(2))
            .ok());
    AttemptEnd end;
    end.lease = lease_;
    end.state = JobState::kFailed;
    end.events = {StateEvent(JobState::kFailed)};
    ASSERT_TRUE(watched.jobs().EndAttempt(end).ok());
    EXPECT_TRUE(watcher.WaitForEnd().ok());
    EXPECT_EQ(watcher.sequences(), Range(1, 5));
  }
}

// As where there was no memory to tell of them.
TEST_F(ProgressHubTest, EventsThatNobodyToldOfAreFoundByWhoLooksAgain) {
  PullingWatcher watcher(hub_, "job", 0);
  watcher.Pump();
  watcher.WaitFor(2);
  Append(2);
  watcher.LookAgain();
  watcher.WaitFor(4);
  AttemptEnd end;
  end.lease = lease_;
  end.state = JobState::kFailed;
  end.events = {StateEvent(JobState::kFailed)};
  ASSERT_TRUE(storage_->jobs().EndAttempt(end).ok());
  watcher.LookAgain();
  EXPECT_TRUE(watcher.WaitForEnd().ok());
  EXPECT_EQ(watcher.sequences(), Range(1, 5));
}

TEST_F(ProgressHubTest, LogIsReadLaterWhereReadingCouldNotBePosted) {
  ThreadPool pool(1);
  FailingExecutor failing(pool);
  ProgressHub hub(storage_.get(), &failing);
  failing.FailAfter(0);
  PullingWatcher watcher(hub, "job", 0);
  watcher.Pump();
  EXPECT_TRUE(failing.has_failed());
  EXPECT_EQ(watcher.sequences(), Range(1, 0));
  watcher.LookAgain();
  watcher.WaitFor(2);
}

TEST_F(ProgressHubTest, CloseEndsWatchersThatWaitAndLaterOnes) {
  PullingWatcher watcher(hub_, "job", 0);
  watcher.Pump();
  watcher.WaitFor(2);
  Emit(3);
  hub_.Close();
  EXPECT_EQ(watcher.WaitForEnd().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(watcher.sequences(), Range(1, 5));
  PullingWatcher late(hub_, "job", 0);
  late.Pump();
  EXPECT_EQ(late.WaitForEnd().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ProgressHubTest, SubscriptionMayEndInsideItsOwnCallback) {
  std::unique_ptr<ProgressSubscription> subscription;
  absl::Mutex mutex;
  absl::Notification done;
  {
    absl::MutexLock lock(&mutex);
    subscription = hub_.Subscribe("job", 2, [&] {
      absl::MutexLock inner(&mutex);
      if (subscription->Next().kind == NextEvent::kItem) {
        subscription.reset();
        done.Notify();
      }
    });
    EXPECT_EQ(subscription->Next().kind, NextEvent::kWait);
  }
  Emit(1);
  done.WaitForNotification();
  absl::MutexLock lock(&mutex);
  EXPECT_EQ(subscription, nullptr);
}

TEST_F(ProgressHubTest, EndingASubscriptionWaitsForItsCallback) {
  for (int i = 0; i < 200; ++i) {
    auto touched = std::make_unique<int>(0);
    auto subscription = hub_.Subscribe("job", 0, [counter = touched.get()] { ++*counter; });
    EXPECT_EQ(subscription->Next().kind, NextEvent::kWait);
    Emit(1);
    subscription.reset();
    touched.reset();  // a callback after this would be seen by the sanitizers
  }
}

}  // namespace
}  // namespace mercer::server
