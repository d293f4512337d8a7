// Jobs that take the server down: by a crash of their own thread, or again and again without headway.
#include <csignal>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>

#include "tests/fault/connection.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The thread of the process that has this name; 0 if none.
pid_t FindThread(pid_t process, const std::string& name) {
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", process, "/task"))) {
    if (FirstLine(entry.path() / "comm") == name) {
      return static_cast<pid_t>(std::stol(entry.path().filename().string()));
    }
  }
  return 0;
}

class WorkerCrashTest : public FaultTest {
 protected:
  ServerProcessOptions OneWorker() const {
    ServerProcessOptions options = Options("data");
    options.flags = {"--workers=1", "--threads=1", "--max-lost-attempts=3"};
    return options;
  }

  // Lasts much longer than it takes to kill a server.
  static v1::TrainRequest LongRequest() {
    v1::TrainRequest request = CloudsRequest();
    request.mutable_validation()->mutable_folds()->set_count(50);
    request.mutable_stopping()->set_relative_gap(1e-9);
    return request;
  }

  // Returns when an attempt at the job has made its first step.
  static void WaitForProgress(Connection& connection, const std::string& job, int attempt) {
    grpc::ClientContext context;
    v1::StreamProgressRequest request;
    request.set_job(job);
    const auto reader = connection.training->StreamProgress(&context, request);
    v1::StreamProgressResponse response;
    bool seen = false;
    while (!seen && reader->Read(&response)) {
      seen = response.event().has_progress() && response.event().attempt() == attempt;
    }
    EXPECT_TRUE(seen) << job << " attempt " << attempt;
    context.TryCancel();
    reader->Finish();
  }

  // What the thread of the only worker does when it reads where it may not.
  static void CrashWorker(const ServerProcess& server) {
    const pid_t thread = FindThread(server.pid(), "mercer-job-0");
    ASSERT_GT(thread, 0);
    ASSERT_EQ(syscall(SYS_tgkill, server.pid(), thread, SIGSEGV), 0);
  }
};

TEST_F(WorkerCrashTest, JobThatCrashesItsWorkerTwiceFailsAndTheRestGoesOn) {
  std::string bad;
  std::string waiting;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    SCOPED_TRACE(absl::StrCat("attempt ", attempt));
    ServerProcess server(OneWorker());
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    {
      Connection connection(server.address());
      if (attempt == 1) {
        UploadClouds(connection.client, 1500);
        bad = connection.client.Train(LongRequest())->name();
        waiting = connection.client.Train(CloudsRequest())->name();
      }
      WaitForProgress(connection, bad, attempt);
      CrashWorker(server);
    }
    EXPECT_EQ(server.WaitForExit(), -SIGSEGV) << server.Log();
    EXPECT_EQ(FirstLine(folder_ / "data" / "crashes"),
              absl::StrCat(absl::StripPrefix(bad, "jobs/"), " ", attempt, " ", SIGSEGV));
  }
  ServerProcess server(OneWorker());
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  EXPECT_THAT(server.Log(), HasSubstr("taken down by job="));
  client::Client client(OneTry(server.address()));
  const absl::StatusOr<v1::Job> job = client.GetJob(bad);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job->reason(), "JOB_CRASHED_WORKER");
  ASSERT_EQ(job->attempts_size(), 2);
  EXPECT_EQ(job->attempts(0).end_reason(), "CRASHED");
  EXPECT_EQ(job->attempts(1).end_reason(), "CRASHED");
  client::WatchOptions watch;
  watch.on_event = [](const v1::ProgressEvent&) {};
  EXPECT_TRUE(client.WatchJob(waiting, watch).ok());
  EXPECT_EQ(client.GetJob(waiting)->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(FirstLine(folder_ / "data" / "crashes"), "");
}

TEST_F(WorkerCrashTest, JobWhoseServerIsKilledAgainAndAgainWithoutHeadwayFails) {
  const ServerProcessOptions options = OneWorker();
  std::string job_name;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    SCOPED_TRACE(absl::StrCat("attempt ", attempt));
    ServerProcess server(options);
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    Connection connection(server.address());
    if (attempt == 1) {
      UploadClouds(connection.client, 1500);
      job_name = connection.client.Train(LongRequest())->name();
    }
    WaitForProgress(connection, job_name, attempt);
    server.Kill();  // before the first checkpoint, after five seconds
    server.WaitForExit();
  }
  ServerProcess server(options);
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  client::Client client(OneTry(server.address()));
  const absl::StatusOr<v1::Job> job = client.GetJob(job_name);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job->reason(), "JOB_LOST_REPEATEDLY");
  EXPECT_EQ(job->attempts_size(), 3);
}

}  // namespace
}  // namespace mercer::server
