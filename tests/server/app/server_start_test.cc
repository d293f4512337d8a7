// A start that fails harms nothing: jobs stay queued, and no file tells of a port that nobody listens on.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/app/server.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {
namespace {

class ServerStartTest : public ::testing::Test {
 protected:
  ServerStartTest()
      : folder_(std::filesystem::temp_directory_path() /
                absl::StrCat("mercer_start_", getpid(), "_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ServerStartTest() override { std::filesystem::remove_all(folder_); }

  ServerOptions Options(const std::string& name) const {
    ServerOptions options;
    options.data_dir = folder_ / name;
    options.listen = "127.0.0.1:0";
    return options;
  }
  std::unique_ptr<Storage> OpenStorage(const std::string& name) const {
    std::filesystem::create_directories(folder_ / name);
    SqliteOptions options;
    options.folder = folder_ / name;
    auto storage = OpenSqliteStorage(options);
    EXPECT_TRUE(storage.ok()) << storage.status();
    return storage.ok() ? *std::move(storage) : nullptr;
  }
  // A job that any worker would claim at once.
  static void QueueJob(Storage& storage) {
    DatasetRecord dataset;
    dataset.id = "data";
    dataset.blob = std::string(64, 'a');
    ASSERT_TRUE(storage.datasets().CreateDataset(dataset).ok());
    NewJob job;
    job.id = "job";
    job.request = "not a request";
    job.dataset_ids = {"data"};
    job.model_name = "model";
    job.now = absl::FromUnixSeconds(1000);
    job.event = StateEvent(JobState::kQueued);
    const auto created = storage.jobs().CreateJob(job);
    ASSERT_TRUE(created.ok()) << created.status();
  }

  const std::filesystem::path folder_;
};

TEST_F(ServerStartTest, StartThatFindsItsPortTakenTouchesNoJob) {
  auto first = Server::Start(Options("first"), MakeLogger("off"));
  ASSERT_TRUE(first.ok()) << first.status();
  QueueJob(*OpenStorage("second"));
  ServerOptions options = Options("second");
  options.listen = (*first)->address();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(GetReason(Server::Start(options, MakeLogger("off")).status()), "ADDRESS_IN_USE");
  }
  const auto storage = OpenStorage("second");
  const auto job = storage->jobs().GetJob("job");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state, JobState::kQueued);
  EXPECT_EQ(job->attempt, 0) << "a worker has claimed it";
}

TEST_F(ServerStartTest, StartThatCannotWriteItsPortFileTouchesNoJob) {
  QueueJob(*OpenStorage("data"));
  std::filesystem::create_directories(folder_ / "data" / "port.new" / "in the way");
  const auto server = Server::Start(Options("data"), MakeLogger("off"));
  ASSERT_FALSE(server.ok());
  const auto storage = OpenStorage("data");
  EXPECT_EQ(storage->jobs().GetJob("job")->attempt, 0) << "a worker has claimed it";
}

TEST_F(ServerStartTest, PortFileOfADeadServerIsGoneBeforeTheNextOneListens) {
  auto first = Server::Start(Options("first"), MakeLogger("off"));
  ASSERT_TRUE(first.ok()) << first.status();
  std::filesystem::create_directories(folder_ / "second");
  std::ofstream(folder_ / "second" / "port") << "12345\n";
  ServerOptions options = Options("second");
  options.listen = (*first)->address();
  EXPECT_FALSE(Server::Start(options, MakeLogger("off")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "second" / "port"));
}

}  // namespace
}  // namespace mercer::server
