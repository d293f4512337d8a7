// Watchers whose connection is cut again and again hear what those hear whose connection holds.
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "core/base/numeric/random.h"
#include "tests/network/network_fixture.h"

namespace mercer::server {
namespace {

constexpr int kCuts = 25;

// Cuts the first connections within so many bytes of answers.
class AnswersCutAtRandom {
 public:
  explicit AnswersCutAtRandom(uint64_t most) : most_(most) {}
  NetworkProxy::Plan operator()() {
    NetworkProxy::Plan plan;
    if (connections_++ < kCuts) {
      plan.to_client = 1 + static_cast<int64_t>(random_.Below(most_));
      plan.ending =
          connections_ % 2 == 0 ? NetworkProxy::Ending::kReset : NetworkProxy::Ending::kClose;
    }
    return plan;
  }

 private:
  const uint64_t most_;
  RandomStream random_{3, "answers"};
  int connections_ = 0;
};

class CutWatchTest : public NetworkTest {};

TEST_F(CutWatchTest, ProgressIsHeardOnceAndInOrderOverAnyNumberOfCuts) {
  Start(AnswersCutAtRandom(600));
  UploadClouds(200);
  const auto job = direct_->Train(CloudsRequest(40));
  ASSERT_TRUE(job.ok()) << job.status();
  client::Client client(Patient(network_->address()));
  std::vector<v1::ProgressEvent> heard;
  int interruptions = 0;
  client::WatchOptions watch;
  watch.on_event = [&](const v1::ProgressEvent& event) { heard.push_back(event); };
  watch.on_interruption = [&](const absl::Status&, absl::Duration) { ++interruptions; };
  const absl::Status watched = client.WatchJob(job->name(), watch);
  ASSERT_TRUE(watched.ok()) << watched;
  EXPECT_EQ(network_->counts().cut, kCuts) << "the job said too little";
  EXPECT_GT(interruptions, 0);
  const std::vector<v1::ProgressEvent> stored = EventsOf(server_->address(), job->name());
  ASSERT_EQ(heard.size(), stored.size());
  for (size_t i = 0; i < heard.size(); ++i) {
    ASSERT_EQ(heard[i].sequence(), static_cast<int64_t>(i) + 1);
    EXPECT_EQ(heard[i].SerializeAsString(), stored[i].SerializeAsString());
  }
  EXPECT_EQ(heard.back().state_change().state(), v1::JOB_STATE_SUCCEEDED);
}

// What a watcher of all jobs has heard over its connections.
class HeardOfJobs {
 public:
  // A list that is broken off comes again; behind a whole one only what has changed does.
  void Interrupt() {
    if (!complete_) {
      existing_.clear();
    }
  }
  void Hear(const v1::WatchJobsResponse& response) {
    if (response.existing_sent()) {
      EXPECT_FALSE(complete_) << "said twice";
      complete_ = true;
      return;
    }
    const v1::Job& job = response.job();
    states_[job.name()] = job.state();
    if (response.existing()) {
      EXPECT_FALSE(complete_) << "all that existed had been sent, and the server was the same";
      EXPECT_TRUE(existing_.insert(job.name()).second) << job.name() << " came twice";
    }
  }
  bool complete() const { return complete_; }
  const std::set<std::string>& existing() const { return existing_; }
  size_t Ended() const {
    size_t ended = 0;
    for (const auto& [name, state] : states_) {
      ended += state >= v1::JOB_STATE_SUCCEEDED ? 1 : 0;
    }
    return ended;
  }
  const std::map<std::string, v1::JobState>& states() const { return states_; }

 private:
  std::map<std::string, v1::JobState> states_;
  std::set<std::string> existing_;
  bool complete_ = false;
};

TEST_F(CutWatchTest, WatchersOfAllJobsHearOfEachEndOverAnyNumberOfCuts) {
  constexpr size_t kJobs = 8;
  constexpr int kCutsAtLeast = 12;
  options_.heartbeat = absl::Milliseconds(2);  // the cuts come, also when there is no more to say
  Start(AnswersCutAtRandom(6'000));
  UploadClouds(120);
  std::set<std::string> jobs;
  for (size_t i = 0; i < kJobs; ++i) {
    const auto job = direct_->Train(CloudsRequest(5));
    ASSERT_TRUE(job.ok()) << job.status();
    jobs.insert(job->name());
  }
  client::Client client(Patient(network_->address()));
  HeardOfJobs heard;
  std::stop_source all_ended;
  client::WatchJobsOptions watch;
  watch.stop = all_ended.get_token();
  watch.on_message = [&](const v1::WatchJobsResponse& response) {
    heard.Hear(response);
    if (heard.complete()) {
      EXPECT_EQ(heard.existing(), jobs) << "a job is missing among those that exist";
    }
  };
  watch.on_interruption = [&](const absl::Status&, absl::Duration) {
    heard.Interrupt();
    // Behind the ends of all jobs there are signs of life alone, and cuts.
    if (heard.complete() && heard.Ended() == kJobs && network_->counts().cut >= kCutsAtLeast) {
      all_ended.request_stop();
    }
  };
  EXPECT_TRUE(absl::IsCancelled(client.WatchJobs({}, watch)));
  for (const auto& [name, state] : heard.states()) {
    EXPECT_EQ(state, v1::JOB_STATE_SUCCEEDED) << name;
  }
}

class LostAnswerTest : public NetworkTest {};

TEST_F(LostAnswerTest, TrainWhoseAnswerIsLostMakesOneJobWhenRepeated) {
  constexpr int kTrainings = 3;
  Start();
  UploadClouds(60);
  client::Client client(Patient(network_->address()));
  for (int training = 1; training <= kTrainings; ++training) {
    ASSERT_TRUE(client.ListJobs({}, 1).ok());  // connects
    network_->HoldAnswers();
    absl::StatusOr<v1::Job> answered = absl::UnknownError("not finished");
    std::thread calling([&] { answered = client.Train(CloudsRequest(2)); });
    // The server has accepted it, and its answer has gone nowhere.
    std::stop_source accepted;
    client::WatchJobsOptions watch;
    watch.stop = accepted.get_token();
    std::set<std::string> jobs;
    watch.on_message = [&](const v1::WatchJobsResponse& response) {
      if (response.has_job()) {
        jobs.insert(response.job().name());
      }
      if (jobs.size() == static_cast<size_t>(training)) {
        accepted.request_stop();
      }
    };
    EXPECT_TRUE(absl::IsCancelled(direct_->WatchJobs({}, watch)));
    network_->Cut(training % 2 == 0 ? NetworkProxy::Ending::kReset : NetworkProxy::Ending::kClose);
    calling.join();
    ASSERT_TRUE(answered.ok()) << answered.status();
    EXPECT_TRUE(jobs.contains(answered->name())) << answered->name() << " is another job";
    const auto all = direct_->ListJobs({}, 100);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->size(), static_cast<size_t>(training));
  }
}

}  // namespace
}  // namespace mercer::server
