// Backups of a server that works, and what becomes of them.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "client/cpp/client.h"
#include "mercer/v1/admin_service.grpc.pb.h"
#include "server/maintenance/folder_check.h"
#include "server/maintenance/restore.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

constexpr int kColumns = 4;

class BackupTest : public ServerTest {
 protected:
  BackupTest() : archive_(folder_.string() + ".tar"), restored_(folder_.string() + "-restored") {
    std::filesystem::remove_all(restored_);
  }
  ~BackupTest() override {
    std::filesystem::remove_all(restored_);
    std::filesystem::remove(archive_);
  }

  client::Client MakeClient() const {
    client::ClientOptions options;
    options.address = server_->address();
    options.retry.max_attempts = 1;
    return client::Client(options);
  }

  void Restore() {
    RestoreOptions options;
    options.archive = archive_;
    options.data_dir = restored_;
    const absl::StatusOr<BackupManifest> restored = RestoreBackup(options);
    ASSERT_TRUE(restored.ok()) << restored.status();
  }

  // What check says of the restored folder.
  std::vector<std::string> Findings() const {
    std::vector<std::string> findings;
    FolderCheckOptions options;
    options.data_dir = restored_;
    const auto report = CheckFolder(options, [&](const Finding& finding) {
      findings.push_back(absl::StrCat(finding.reason, " ", finding.subject, ": ", finding.meaning));
    });
    EXPECT_TRUE(report.ok()) << report.status();
    return findings;
  }

  // The values that the model gives, in full precision.
  std::string Predict(const std::string& model) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    const grpc::Status status =
        prediction_->Predict(&context, MakePrediction(model, 7, kColumns), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.SerializeAsString();
  }

  // Goes on with the restored folder in place of the old one.
  void StartRestored(const ServerOptions& options = ServerOptions()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::rename(restored_, folder_);
    StartServer(options);
  }

  const std::string archive_;
  const std::string restored_;
};

TEST_F(BackupTest, RestoredServerGoesOnWhereTheBackupWasMade) {
  ServerOptions one_worker;
  one_worker.workers = 1;
  StartServer(one_worker);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(120, kColumns, 1), "clouds", &dataset).ok());
  const std::string model = WaitForEnd(TrainOk(MakeRequest(dataset.name())).name()).model();
  const std::string predicted = Predict(model);
  // One job runs, one waits behind it, while others write.
  v1::Dataset large;
  ASSERT_TRUE(Upload(CloudsCsv(600, kColumns, 2), "large", &large).ok());
  const v1::Job running = TrainOk(MakeEndlessRequest(large.name()));
  WaitForStart(running.name());
  const v1::Job queued = TrainOk(MakeRequest(dataset.name()));
  std::atomic<bool> done{false};
  std::thread load([&] {
    for (int i = 0; !done; ++i) {
      v1::Dataset more;
      EXPECT_TRUE(Upload(CloudsCsv(50, kColumns, 100 + static_cast<uint64_t>(i)),
                         absl::StrCat("load-", i), &more)
                      .ok());
      if (i % 2 == 1) {
        EXPECT_TRUE(MakeClient().DeleteDataset(more.name()).ok());
      }
    }
  });
  const absl::StatusOr<int64_t> bytes = MakeClient().Backup(archive_);
  done = true;
  load.join();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(static_cast<uintmax_t>(*bytes), std::filesystem::file_size(archive_));
  EXPECT_EQ(FilesIn("backup"), 0u) << "the copy of the database";
  DrainServer();

  Restore();
  EXPECT_THAT(Findings(), testing::IsEmpty());
  StartRestored(one_worker);
  EXPECT_EQ(Predict(model), predicted);
  grpc::ClientContext context;
  v1::CancelJobRequest cancel;
  cancel.set_name(running.name());
  v1::Job job;
  EXPECT_TRUE(training_->CancelJob(&context, cancel, &job).ok());
  const v1::Job ended = WaitForEnd(queued.name());
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Predict(ended.model()), [&] {
    // The same request on the same data, trained before the backup: the same function, of another name.
    v1::PredictResponse first;
    first.ParseFromString(predicted);
    first.set_model(ended.model());
    return first.SerializeAsString();
  }());
}

TEST_F(BackupTest, OneBackupAtATimeAndNothingStaysOfACancelledOne) {
  StartServer();
  v1::Dataset dataset;
  // More than the transport buffers, so that the stream waits for its reader.
  ASSERT_TRUE(Upload(CloudsCsv(30'000, 40, 1), "clouds", &dataset).ok());
  const auto admin = v1::AdminService::NewStub(channel_);
  {
    grpc::ClientContext first_context;
    const auto first = admin->Backup(&first_context, v1::BackupRequest());
    v1::BackupResponse response;
    ASSERT_TRUE(first->Read(&response));
    EXPECT_EQ(FilesIn("backup"), 1u);
    grpc::ClientContext second_context;
    const auto second = admin->Backup(&second_context, v1::BackupRequest());
    EXPECT_FALSE(second->Read(&response));
    const grpc::Status refused = second->Finish();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(refused), "BACKUP_RUNNING");
    first_context.TryCancel();
    while (first->Read(&response)) {
    }
    first->Finish();
  }
  // The server notices the cancellation in its own time; then there is room for the next backup.
  absl::StatusOr<int64_t> third = absl::UnknownError("not yet");
  for (int i = 0; i < 1000 && !third.ok(); ++i) {
    third = MakeClient().Backup(archive_);
    absl::SleepFor(absl::Milliseconds(1));
  }
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ(FilesIn("backup"), 0u);
  DrainServer();
  Restore();
  EXPECT_THAT(Findings(), testing::IsEmpty());
}

TEST_F(BackupTest, EmptyServerHasABackupToo) {
  StartServer();
  ASSERT_TRUE(MakeClient().Backup(archive_).ok());
  DrainServer();
  Restore();
  EXPECT_THAT(Findings(), testing::IsEmpty());
  StartRestored();
}

TEST_F(BackupTest, UnfinishedRestoreIsNoDataFolder) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / kUnfinishedRestore) << "half of a database";
  ServerOptions options;
  options.data_dir = folder_;
  options.listen = "127.0.0.1:0";
  const absl::Status refused = Server::Start(options, MakeLogger("off")).status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mercer.db"));
}

}  // namespace
}  // namespace mercer::server
