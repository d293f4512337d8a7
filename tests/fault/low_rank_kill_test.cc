// A training on kernels of low rank that is killed comes to the same model: while its kernels are made, and between its steps.
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

class LowRankKillTest : public FaultTest {
 protected:
  static v1::TrainRequest LowRankRequest() {
    v1::TrainRequest request = CloudsRequest();
    v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
    learner.set_approximation(v1::LpMkl::APPROXIMATION_NYSTROM);
    learner.set_landmark_selection(v1::LpMkl::LANDMARK_SELECTION_K_MEANS);
    learner.set_landmarks(150);
    request.mutable_stopping()->set_relative_gap(1e-4);
    return request;
  }

  // Watches until the job is in a stage for the first time, or, without one, until it runs; false when it ends before. Every new
  // stage has an event.
  static bool WaitForStage(client::Client& client, const std::string& job,
                           const std::string& stage) {
    std::stop_source enough;
    bool seen = false;
    client::WatchOptions watch;
    watch.stop = enough.get_token();
    watch.on_event = [&](const v1::ProgressEvent& event) {
      const bool runs = event.state_change().state() == v1::JOB_STATE_RUNNING;
      if (stage.empty() ? runs : event.progress().stage() == stage) {
        seen = true;
        enough.request_stop();
      }
    };
    client.WatchJob(job, watch).IgnoreError();
    return seen;
  }
};

TEST_F(LowRankKillTest, KilledBeforeAndBetweenStepsItEndsWithTheSameBits) {
  ServerProcessOptions options = Options("data");
  options.flags = {"--checkpoint-interval=0", "--workers=1"};
  std::string expected;
  {
    ServerProcess server(options);
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    UploadClouds(client, 6000);
    expected = ExportedDigest(client, TrainToEnd(client, LowRankRequest()));
    server.Kill();
    server.WaitForExit();
  }
  // The kernels are made in the first step, before there is a checkpoint: landmarks, joint basis, factor.
  for (const char* stage : {"", "solve", "weights"}) {
    SCOPED_TRACE(stage);
    std::string job;
    {
      ServerProcess server(options);
      ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
      client::Client client(OneTry(server.address()));
      const absl::StatusOr<v1::Job> begun = client.Train(LowRankRequest());
      ASSERT_TRUE(begun.ok()) << begun.status();
      job = begun->name();
      EXPECT_TRUE(WaitForStage(client, job, stage));
      server.Kill();
      server.WaitForExit();
    }
    ServerProcess server(options);
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    EXPECT_EQ(ExportedDigest(client, WatchToEnd(client, job)), expected);
    const absl::StatusOr<v1::Job> ended = client.GetJob(job);
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_GT(ended->attempts_size(), 1) << "it had ended before it was killed";
  }
}

}  // namespace
}  // namespace mercer::server
