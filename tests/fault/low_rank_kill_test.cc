// A training on kernels of low rank that is killed comes to the same model, whatever it was doing: choosing landmarks, finding their
// joint basis, filling the factor, solving, weighing, or verifying.
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
    request.mutable_stopping()->set_relative_gap(1e-3);
    return request;
  }

  static bool Reaches(const v1::ProgressEvent& event, const std::string& stage) {
    if (stage == kRuns) {
      return event.state_change().state() == v1::JOB_STATE_RUNNING;
    }
    if (stage == kVerifies) {
      return event.state_change().state() == v1::JOB_STATE_VERIFYING;
    }
    return event.progress().stage() == stage;
  }

  // Watches the job until it is in the stage for the first time, and kills the server then; false when the job never was. Every new
  // stage has an event, which is written while the stage goes on.
  static bool KillInStage(ServerProcess& server, client::Client& client, const std::string& job,
                          const std::string& stage) {
    std::stop_source enough;
    bool seen = false;
    client::WatchOptions watch;
    watch.stop = enough.get_token();
    watch.on_event = [&](const v1::ProgressEvent& event) {
      if (!seen && Reaches(event, stage)) {
        seen = true;
        server.Kill();
        enough.request_stop();
      }
    };
    client.WatchJob(job, watch).IgnoreError();
    server.Kill();
    server.WaitForExit();
    return seen;
  }

  // Trains, with a kill in the stage, and expects that the model has the digest. The number of attempts: one when the job had ended
  // before the kill came.
  int TrainThroughKill(const ServerProcessOptions& options, const std::string& stage,
                       const std::string& expected) {
    std::string job;
    {
      ServerProcess server(options);
      EXPECT_TRUE(server.WaitUntilListening()) << server.Log();
      client::Client client(OneTry(server.address()));
      const absl::StatusOr<v1::Job> begun = client.Train(LowRankRequest());
      EXPECT_TRUE(begun.ok()) << begun.status();
      job = begun.ok() ? begun->name() : "";
      EXPECT_TRUE(KillInStage(server, client, job, stage));
    }
    ServerProcess server(options);
    EXPECT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    EXPECT_EQ(ExportedDigest(client, WatchToEnd(client, job)), expected);
    const absl::StatusOr<v1::Job> ended = client.GetJob(job);
    EXPECT_TRUE(ended.ok()) << ended.status();
    return ended.ok() ? ended->attempts_size() : 0;
  }

  static constexpr const char* kRuns = "(runs)";
  static constexpr const char* kVerifies = "(verifies)";
};

// What is shown of each stage is that a kill at its first event, or soon after it, is survived: the event tells that the stage has
// begun, and the processes between take the time of a message. A job that ended before the kill shows nothing of it: it is tried
// again, which a machine under load does not need more often than one at rest, since it delays the training as well.
TEST_F(LowRankKillTest, KilledInAnyStageItEndsWithTheSameBits) {
  constexpr int kTries = 5;
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
  // Up to the first "solve" there is no checkpoint: the kernels are made in the first step.
  for (const char* stage :
       {kRuns, "landmarks", "compression", "factor", "solve", "weights", kVerifies}) {
    SCOPED_TRACE(stage);
    int attempts = 1;
    for (int tried = 0; attempts == 1 && tried < kTries && !HasFailure(); ++tried) {
      attempts = TrainThroughKill(options, stage, expected);
    }
    EXPECT_GT(attempts, 1) << "every one of " << kTries << " jobs had ended before its kill";
  }
}

}  // namespace
}  // namespace mercer::server
