// StreamProgress: every event once, in order, for any number of watchers and reconnections.
#include <thread>

#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

class ProgressTest : public ServerTest {
 protected:
  static void ExpectDense(const std::vector<v1::ProgressEvent>& events) {
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i].sequence(), static_cast<int64_t>(i) + 1);
    }
  }
};

TEST_F(ProgressTest, ReconnectingAfterEveryEventGivesEachOnce) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(300, 4, 1), "clouds", &dataset).ok());
  const v1::Job job = TrainOk(MakeRequest("datasets/clouds"));
  std::vector<v1::ProgressEvent> events;
  bool ended = false;
  while (!ended) {
    grpc::ClientContext context;
    v1::StreamProgressRequest request;
    request.set_job(job.name());
    request.set_after_sequence(events.empty() ? 0 : events.back().sequence());
    auto reader = training_->StreamProgress(&context, request);
    v1::StreamProgressResponse response;
    // One event of each connection, whatever else is on its way.
    while (reader->Read(&response) && !response.has_event()) {
    }
    if (response.has_event()) {
      events.push_back(response.event());
    }
    ended = !events.empty() && events.back().state_change().state() >= v1::JOB_STATE_SUCCEEDED;
    context.TryCancel();
    while (reader->Read(&response)) {
    }
    reader->Finish();
  }
  ExpectDense(events);
  std::vector<v1::ProgressEvent> at_once;
  ASSERT_TRUE(Stream(job.name(), 0, &at_once).ok());
  ASSERT_EQ(at_once.size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(at_once[i].SerializeAsString(), events[i].SerializeAsString());
  }
}

TEST_F(ProgressTest, StreamOfAnEndedJobAfterItsLastEventIsEmptyAndOk) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(60, 3, 2), "clouds", &dataset).ok());
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  std::vector<v1::ProgressEvent> events;
  EXPECT_TRUE(Stream(job.name(), job.last_sequence(), &events).ok());
  EXPECT_TRUE(events.empty());
  const grpc::Status beyond = Stream(job.name(), job.last_sequence() + 1, &events);
  EXPECT_EQ(beyond.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(beyond), "BEYOND_LAST_EVENT");
}

TEST_F(ProgressTest, TwoHundredWatchersGetEveryEventOnceInOrder) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(400, 4, 3), "clouds", &dataset).ok());
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.mutable_validation()->mutable_folds()->set_count(5);
  const v1::Job job = TrainOk(request);
  constexpr int kWatchers = 200;
  std::vector<std::vector<v1::ProgressEvent>> events(kWatchers);
  std::vector<grpc::Status> ends(kWatchers);
  std::vector<std::thread> watchers;
  for (size_t i = 0; i < kWatchers; ++i) {
    watchers.emplace_back([&, i] { ends[i] = Stream(job.name(), 0, &events[i]); });
  }
  for (std::thread& watcher : watchers) {
    watcher.join();
  }
  for (size_t i = 0; i < kWatchers; ++i) {
    ASSERT_TRUE(ends[i].ok()) << ends[i].error_message();
    ExpectDense(events[i]);
    ASSERT_EQ(events[i].size(), events[0].size()) << "watcher " << i;
    EXPECT_EQ(events[i].back().state_change().state(), v1::JOB_STATE_SUCCEEDED);
  }
}

TEST_F(ProgressTest, QuietJobsSendHeartbeats) {
  ServerOptions options;
  options.workers = 1;
  options.heartbeat = absl::Milliseconds(20);
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 5, 4), "clouds", &dataset).ok());
  const v1::Job busy = TrainOk(MakeEndlessRequest("datasets/clouds"));
  const v1::Job waiting = TrainOk(MakeRequest("datasets/clouds"));
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(waiting.name());
  auto reader = training_->StreamProgress(&context, request);
  v1::StreamProgressResponse response;
  int heartbeats = 0;
  while (heartbeats < 3 && reader->Read(&response)) {
    heartbeats += response.has_heartbeat() ? 1 : 0;
  }
  EXPECT_EQ(heartbeats, 3);
  EXPECT_EQ(response.heartbeat().last_sequence(), 1);
  context.TryCancel();
  reader->Finish();
}

}  // namespace
}  // namespace mercer::server
