#include "server/watching/job_feed.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "tests/server/watching/job_feed_fixture.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(JobFeedTest, TellsExistingJobsAndThenEveryStateUpToTheEnd) {
  Submit("a");
  Submit("b");
  Submit("c");
  Watch();
  EXPECT_THAT(Take(), ElementsAre("+c QUEUED", "+b QUEUED", "+a QUEUED", "|"));
  const Lease lease = Claim();
  EXPECT_THAT(Take(), ElementsAre("a RUNNING"));
  ASSERT_TRUE(storage_->jobs()
                  .BeginVerifying(lease, StateEvent(JobState::kVerifying), absl::FromUnixSeconds(1))
                  .ok());
  EXPECT_THAT(Take(), ElementsAre("a VERIFYING"));
  End(lease, JobState::kFailed);
  EXPECT_THAT(Take(), ElementsAre("a FAILED"));
  Cancel("b");
  Submit("d");
  EXPECT_THAT(Take(), UnorderedElementsAre("b CANCELLED", "d QUEUED"));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(JobFeedTest, TellsWhatHappensBetweenTheBeginAndThePages) {
  Submit("a");
  Submit("b");
  Watch();
  EXPECT_EQ(watch_->Next().kind, NextJob::kWait);
  // Before the first page is read, and between that and its use: the page holds what was before.
  Cancel("a");
  hooks_.after_list = [this] {
    hooks_.after_list = nullptr;
    Cancel("b");
    Submit("c");
  };
  const std::vector<std::string> taken = Take();
  const auto bar = std::find(taken.begin(), taken.end(), "|");
  EXPECT_THAT(std::vector(taken.begin(), bar), ElementsAre("+b QUEUED", "+a CANCELLED"));
  ASSERT_NE(bar, taken.end());
  EXPECT_THAT(std::vector(bar + 1, taken.end()),
              UnorderedElementsAre("a CANCELLED", "b CANCELLED", "c QUEUED"));
}

TEST_F(JobFeedTest, ReadsAndWakesLaterWhereThatCouldNotBePosted) {
  Submit("a");
  failing_.FailAfter(0);
  Watch();
  EXPECT_EQ(watch_->Next().kind, NextJob::kWait);
  EXPECT_TRUE(failing_.has_failed());
  EXPECT_FALSE(executor_.RunOne());
  EXPECT_THAT(Take(), ElementsAre("+a QUEUED", "|"));
  for (const int posted : {0, 1}) {  // the waking; its portion
    const int before = wakes_;
    failing_.FailAfter(posted);
    Submit(absl::StrCat("later", posted));
    executor_.RunAll();
    EXPECT_TRUE(failing_.has_failed());
    EXPECT_EQ(wakes_, before);
    feed_->Tick();
    executor_.RunAll();
    EXPECT_EQ(wakes_, before + (posted == 0 ? 1 : 0)) << "after the other it asks at its heartbeat";
    EXPECT_THAT(Take(), ElementsAre(absl::StrCat("later", posted, " QUEUED")));
  }
}

TEST_F(JobFeedTest, GoesOnBehindTheSequenceOfAnEarlierWatch) {
  Submit("a");
  Submit("b");
  Watch();
  ASSERT_EQ(watch_->Next().kind, NextJob::kWait);
  executor_.RunAll();
  EXPECT_EQ(watch_->Next().sequence, 0) << "a list that is broken off is no place to go on from";
  Take();
  const int64_t listed = sequence_;
  const Lease lease = Claim();
  EXPECT_THAT(Take(), ElementsAre("a RUNNING"));
  const int64_t told = sequence_;
  EXPECT_GT(told, listed);
  watch_.reset();  // nobody watches meanwhile
  Progress(lease, 3);
  End(lease, JobState::kFailed);
  Submit("c");
  ASSERT_TRUE(storage_->jobs().DeleteJob("a").ok());
  Watch({}, told);
  EXPECT_THAT(Take(), ElementsAre("c QUEUED", "-a deleted FAILED"));
  const int64_t newest = sequence_;
  Watch({}, listed);
  EXPECT_THAT(Take(), ElementsAre("c QUEUED", "-a deleted FAILED"));
  Watch({}, newest);
  EXPECT_THAT(Take(), IsEmpty());
  Cancel("b");
  EXPECT_THAT(Take(), ElementsAre("b CANCELLED"));
  EXPECT_EQ(hooks_.lists, 1);
}

TEST_F(JobFeedTest, BeginsAnewBehindASequenceThatItDoesNotKnow) {
  Submit("a");
  Watch();
  Take();
  const int64_t newest = sequence_;
  const std::vector<int64_t> strange = {1, newest - 2, newest + 1, int64_t{1} << 62};
  for (const int64_t after : strange) {
    Watch({}, after);
    EXPECT_THAT(Take(), ElementsAre("+a QUEUED", "|")) << after;
    EXPECT_EQ(sequence_, newest);
  }
  // Another server, or the same one after its next start, even over the same storage.
  watch_.reset();
  MakeFeed({.page_jobs = 2});
  Cancel("a");
  Watch({}, newest);
  EXPECT_THAT(Take(), ElementsAre("+a CANCELLED", "|"));
  EXPECT_NE(sequence_, newest + 1);
}

TEST_F(JobFeedTest, TellsOfTheKindsThatAreWantedAlone) {
  Submit("a");
  Submit("p", {}, "", JobKind::kPrediction);
  JobFilter filter;
  filter.kinds = {JobKind::kPrediction, JobKind::kEvaluation};
  Watch(filter);
  EXPECT_THAT(Take(), ElementsAre("+p QUEUED", "|"));
  Submit("b");
  Submit("e", {}, "", JobKind::kEvaluation);
  Cancel("a");
  Cancel("p");
  EXPECT_THAT(Take(), ElementsAre("e QUEUED", "p CANCELLED"));
}

TEST_F(JobFeedTest, PageOfLargeJobsIsReadInParts) {
  const std::string large(700'000, 'x');
  MakeFeed({.page_jobs = 4});
  for (const char* id : {"a", "b", "c", "d"}) {
    Submit(id, {}, large);
  }
  Watch();
  int pages = 0;
  std::vector<std::string> told;
  for (NextJob next = watch_->Next(); told.size() < 4; next = watch_->Next()) {
    if (next.kind == NextJob::kWait) {
      ASSERT_TRUE(executor_.RunOne());
      ++pages;
    } else if (next.item != nullptr) {
      told.push_back(next.item->record.id);
    }
  }
  EXPECT_THAT(told, ElementsAre("d", "c", "b", "a"));
  EXPECT_EQ(pages, 4) << "two would take more than a page holds";
}

TEST_F(JobFeedTest, ShowsProgressAtTheTickAndOnlyTheNewest) {
  Submit("a");
  const Lease lease = Claim();
  Watch();
  Take();
  Progress(lease, 1);
  Progress(lease, 2);
  EXPECT_THAT(Take(), IsEmpty());
  feed_->Tick();
  EXPECT_THAT(Take(), ElementsAre("a RUNNING 2"));
  Progress(lease, 3);
  End(lease, JobState::kFailed);  // waits for no tick
  EXPECT_THAT(Take(), ElementsAre("a FAILED"));
  feed_->Tick();
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(JobFeedTest, TicksOfAllPartsShowTheProgressOfEachJobOnce) {
  constexpr size_t kParts = 5;
  std::vector<std::string> shown_once;
  std::vector<Lease> leases;
  for (int i = 0; i < 40; ++i) {
    Submit(absl::StrCat("job-", i));
    leases.push_back(Claim());
    shown_once.push_back(absl::StrCat("job-", i, " RUNNING 7"));
  }
  Watch();
  Take();
  for (const Lease& lease : leases) {
    Progress(lease, 7);
  }
  std::vector<std::string> shown;
  for (size_t part = 0; part < kParts; ++part) {
    feed_->Tick(part, kParts);
    const std::vector<std::string> now = Take();
    EXPECT_LT(now.size(), leases.size()) << "part " << part;
    shown.insert(shown.end(), now.begin(), now.end());
  }
  EXPECT_THAT(shown, testing::UnorderedElementsAreArray(shown_once));
}

TEST_F(JobFeedTest, GivesASlowWatcherTheNewestAlone) {
  Submit("a");
  Submit("b");
  Watch();
  Take();
  const Lease lease = Claim();
  executor_.RunAll();
  for (int64_t i = 1; i <= 100; ++i) {
    Progress(lease, i);
    feed_->Tick();
    executor_.RunAll();
  }
  // One change of the state, one of the progress; both with the job as it is now.
  EXPECT_THAT(Take(), ElementsAre("a RUNNING 100", "a RUNNING 100"));
}

TEST_F(JobFeedTest, FiltersByStatesAndLabelsAndTellsWhoLeaves) {
  Submit("a", {{"team", "red"}});
  Submit("b", {{"team", "blue"}});
  Submit("c", {{"team", "red"}, {"kind", "x"}});
  Watch({{JobState::kQueued}, {{"team", "red"}}});
  EXPECT_THAT(Take(), ElementsAre("+c QUEUED", "+a QUEUED", "|"));
  const Lease a = Claim();
  EXPECT_THAT(Take(), ElementsAre("-a RUNNING"));
  Progress(a, 1);
  feed_->Tick();
  EXPECT_THAT(Take(), IsEmpty());  // it has left already
  End(a, JobState::kQueued);
  EXPECT_THAT(Take(), ElementsAre("a QUEUED"));
  Cancel("b");
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(JobFeedTest, TellsNobodyThatAJobLeftWhereItNeverWas) {
  Watch({{JobState::kSucceeded, JobState::kRunning}, {}});
  Submit("a");
  EXPECT_THAT(Take(), ElementsAre("|"));
  Cancel("a");
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(JobFeedTest, WakesAWatcherOnceUntilItAsksAgain) {
  Watch();
  Take();
  const int before = wakes_;
  Submit("a");
  Submit("b");
  executor_.RunAll();
  Submit("c");
  executor_.RunAll();
  EXPECT_EQ(wakes_, before + 1);
  EXPECT_EQ(Take().size(), 3u);
}

TEST_F(JobFeedTest, AWatchThatIsLeftBehindBeginsAnew) {
  MakeFeed({.page_jobs = 2, .kept_bytes = 200'000});
  Submit("a");
  Watch();
  Take();
  Cancel("a");
  const std::string large(60'000, 'x');
  Submit("b", {}, large);
  EXPECT_THAT(Take(), ElementsAre("a CANCELLED", "b QUEUED"));
  Cancel("b");
  Submit("c", {}, large);
  Submit("d", {}, large);
  EXPECT_THAT(Take(), ElementsAre("+d QUEUED", "+c QUEUED", "+b CANCELLED", "+a CANCELLED", "|"));
  Cancel("d");
  EXPECT_THAT(Take(), ElementsAre("d CANCELLED"));
}

TEST_F(JobFeedTest, EndsWithTheErrorOfThePages) {
  hooks_.failing_lists = 1;
  Watch();
  EXPECT_THAT(Take(), ElementsAre("end TEST_FAILURE"));
}

TEST_F(JobFeedTest, HoldsNoPagesThatNobodyAsksFor) {
  for (int i = 0; i < 10; ++i) {
    Submit(absl::StrCat("job", i));
  }
  Watch();
  EXPECT_EQ(watch_->Next().kind, NextJob::kWait);
  executor_.RunAll();
  EXPECT_EQ(hooks_.lists, 1);
  EXPECT_EQ(watch_->Next().kind, NextJob::kItem);
  EXPECT_EQ(watch_->Next().kind, NextJob::kItem);
  EXPECT_EQ(hooks_.lists, 1);
  Take();
  EXPECT_EQ(hooks_.lists, 5);
}

// Random changes from threads against a watcher that pulls: in the end it knows what the storage knows.
TEST(JobFeedThreadsTest, EndsWithTheStateOfTheStorage) {
  WatchedStorage storage(MakeTestStorage());
  DatasetRecord dataset;
  dataset.id = "data";
  ASSERT_TRUE(storage.datasets().CreateDataset(dataset).ok());
  ThreadPool executor(3);
  JobFeed feed(&storage, &executor, {.page_jobs = 3});
  constexpr int kThreads = 3;
  constexpr int kJobs = 40;

  absl::Mutex mutex;
  std::map<std::string, JobState> known;
  std::unique_ptr<JobWatch> watch;
  const auto pump = [&] {
    absl::MutexLock lock(&mutex);
    for (NextJob next = watch->Next(); next.kind != NextJob::kWait; next = watch->Next()) {
      if (next.kind == NextJob::kItem) {
        known[next.item->record.id] = next.item->record.state;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&storage, t] {
      for (int i = 0; i < kJobs; ++i) {
        NewJob job;
        job.id = absl::StrCat("job-", t, "-", i);
        job.dataset_ids = {"data"};
        job.model_name = "model";
        job.event = StateEvent(JobState::kQueued);
        EXPECT_TRUE(storage.jobs().CreateJob(job).ok());
        if (i % 3 != 0) {
          EXPECT_TRUE(
              storage.jobs()
                  .CancelJob({job.id, absl::FromUnixSeconds(1), StateEvent(JobState::kCancelling),
                              StateEvent(JobState::kCancelled)})
                  .ok());
        }
      }
    });
  }
  {
    absl::MutexLock lock(&mutex);
    watch = feed.Watch({}, 0, pump);
  }
  pump();
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto complete = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    int cancelled = 0;
    for (const auto& [id, state] : known) {
      cancelled += state == JobState::kCancelled ? 1 : 0;
    }
    return known.size() == kThreads * kJobs && cancelled == kThreads * (kJobs - (kJobs + 2) / 3);
  };
  {
    absl::MutexLock lock(&mutex);
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&complete), absl::Seconds(60)));
  }
  watch.reset();
}

}  // namespace
}  // namespace mercer::server
