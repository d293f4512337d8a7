// A stop that was accepted is done, also when the server dies before it has any effect.
#include <string>

#include <gtest/gtest.h>

#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

class StopKillTest : public FaultTest {
 protected:
  // Watches until a second event says that there is a model: the step of the first is in a checkpoint then.
  static void WaitForASavedModel(client::Client& client, const std::string& job) {
    int seen = 0;
    std::stop_source enough;
    client::WatchOptions watch;
    watch.stop = enough.get_token();
    watch.on_event = [&](const v1::ProgressEvent& event) {
      seen += event.progress().has_model() ? 1 : 0;
      if (seen == 2) {
        enough.request_stop();
      }
    };
    EXPECT_TRUE(absl::IsCancelled(client.WatchJob(job, watch))) << "it has ended already";
  }
};

TEST_F(StopKillTest, StopIsDoneByTheNextServer) {
  ServerProcessOptions options = Options("data");
  options.flags = {"--checkpoint-interval=0"};
  std::string job;
  {
    ServerProcess server(options);
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    UploadClouds(client, 2500);
    v1::TrainRequest request = CloudsRequest();
    request.mutable_learner()->mutable_lp_mkl()->set_c(10'000);
    request.mutable_stopping()->set_relative_gap(1e-10);
    const absl::StatusOr<v1::Job> begun = client.Train(request);
    ASSERT_TRUE(begun.ok()) << begun.status();
    job = begun->name();
    WaitForASavedModel(client, job);
    const absl::StatusOr<v1::Job> stopped = client.StopJob(job);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    ASSERT_TRUE(stopped->stop_requested());
    server.Kill();
    server.WaitForExit();
  }
  ServerProcess server(options);
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  client::Client client(OneTry(server.address()));
  client::WatchOptions watch;
  watch.on_event = [](const v1::ProgressEvent&) {};
  ASSERT_TRUE(client.WatchJob(job, watch).ok());
  const absl::StatusOr<v1::Job> ended = client.GetJob(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->state(), v1::JOB_STATE_SUCCEEDED);
  const absl::StatusOr<v1::ModelVersion> model =
      client.GetModelVersion(ended->model(), v1::MODEL_VERSION_VIEW_BASIC);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->stop_reason(), v1::STOP_REASON_STOP_REQUESTED);
}

}  // namespace
}  // namespace mercer::server
