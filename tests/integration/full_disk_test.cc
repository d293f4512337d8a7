// A disk that is nearly full, and one that is full.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mount.h>

#include <gmock/gmock.h>

#include "mercer/v1/admin_service.grpc.pb.h"
#include "server/blobs/disk_guard.h"
#include "server/maintenance/folder_check.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

class FullDiskTest : public ServerTest {
 protected:
  ~FullDiskTest() override {
    KillServer();
    if (mounted_) {
      umount2(folder_.c_str(), MNT_DETACH);
    }
  }

  // A small disk in place of the server's folder; false where this process may not make one.
  bool MountSmallDisk() {
    std::filesystem::create_directories(folder_);
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=48m,mode=0700") == 0;
    return mounted_;
  }
  // Takes all that is free.
  void FillDisk() const {
    std::ofstream filler(folder_ / "filler", std::ios::binary);
    const std::string piece(4096, 'x');
    while (filler.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
    }
  }
  void EmptyDisk() const { std::filesystem::remove(folder_ / "filler"); }

  grpc::Status Train(const v1::TrainRequest& request, v1::Job* job) {
    grpc::ClientContext context;
    return training_->Train(&context, request, job);
  }
  grpc::Status DeleteDataset(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteDatasetRequest request;
    request.set_name(name);
    google::protobuf::Empty empty;
    return datasets_->DeleteDataset(&context, request, &empty);
  }
  grpc::Status Predict(const std::string& model) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    return prediction_->Predict(&context, MakePrediction(model, 3, 4), &response);
  }
  grpc::Status Cancel(const std::string& name) {
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_name(name);
    v1::Job job;
    return training_->CancelJob(&context, request, &job);
  }

 private:
  bool mounted_ = false;
};

TEST_F(FullDiskTest, NearlyFullRefusesNewWorkAndGoesOnWithTheOld) {
  ServerOptions options;
  options.workers = 1;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(80, 4, 1), "clouds", &dataset).ok());
  const std::string model = WaitForEnd(TrainOk(MakeRequest(dataset.name())).name()).model();
  v1::Dataset large;
  ASSERT_TRUE(Upload(CloudsCsv(600, 4, 2), "large", &large).ok());
  const v1::Job running = TrainOk(MakeEndlessRequest(large.name()));
  v1::TrainRequest accepted = MakeRequest(dataset.name());
  accepted.set_request_id("accepted-before");
  const v1::Job queued = TrainOk(accepted);
  DrainServer();

  options.min_free_disk_bytes = int64_t{1} << 60;
  StartServer(options);
  v1::Dataset refused_data;
  const grpc::Status upload = Upload(CloudsCsv(80, 4, 2), "more", &refused_data);
  v1::Job job;
  const grpc::Status train = Train(MakeRequest(dataset.name()), &job);
  for (const grpc::Status& refused : {upload, train}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(refused), "DISK_NEARLY_FULL");
    EXPECT_TRUE(HasDetail<google::rpc::RetryInfo>(refused));
  }
  EXPECT_EQ(FilesIn("uploads"), 0u);
  v1::TrainRequest bad = MakeRequest(dataset.name());
  bad.clear_learner();
  EXPECT_EQ(Train(bad, &job).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
      << "a bad request is a bad request on any disk";
  ASSERT_TRUE(Train(accepted, &job).ok()) << "the repetition of an accepted request";
  EXPECT_EQ(job.name(), queued.name());
  EXPECT_TRUE(Predict(model).ok());
  WaitForStart(running.name());
  EXPECT_TRUE(Cancel(running.name()).ok());
  EXPECT_EQ(WaitForEnd(queued.name()).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(DeleteDataset(dataset.name()).ok());
}

TEST_F(FullDiskTest, BackupNeedsRoomForACopyOfTheDatabase) {
  ServerOptions options;
  options.min_free_disk_bytes = int64_t{1} << 60;
  StartServer(options);
  grpc::ClientContext context;
  const auto stream = v1::AdminService::NewStub(channel_)->Backup(&context, v1::BackupRequest());
  v1::BackupResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status refused = stream->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "DISK_NEARLY_FULL");
  const auto database = static_cast<int64_t>(std::filesystem::file_size(folder_ / "mercer.db"));
  ASSERT_GT(database, 0);
  EXPECT_GE(std::stoll(InfoOf(refused).metadata().at("needed_bytes")),
            options.min_free_disk_bytes + database);
  EXPECT_EQ(FilesIn("backup"), 0u);
}

TEST_F(FullDiskTest, FullDiskLosesNothingAndIsOverWhenThereIsRoom) {
  if (!MountSmallDisk()) {
    GTEST_SKIP() << "a disk cannot be mounted here: error " << errno;
  }
  ServerOptions options;
  options.min_free_disk_bytes = 1;
  options.workers = 1;
  StartServer(options);
  ASSERT_EQ(std::filesystem::file_size(folder_ / "reserve"), size_t{DiskReserve::kBytes});
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 4, 1), "clouds", &dataset).ok());
  v1::Dataset unwanted;
  ASSERT_TRUE(Upload(CloudsCsv(300, 4, 2), "unwanted", &unwanted).ok());
  const std::string model = WaitForEnd(TrainOk(MakeRequest(dataset.name())).name()).model();
  const v1::Job running = TrainOk(MakeEndlessRequest(dataset.name()));
  WaitForStart(running.name());
  const v1::Job queued = TrainOk(MakeRequest(dataset.name()));

  FillDisk();
  v1::Dataset refused_data;
  const grpc::Status upload = Upload(CloudsCsv(20'000, 4, 3), "more", &refused_data);
  EXPECT_EQ(upload.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << upload.error_message();
  EXPECT_THAT(ReasonOf(upload), testing::AnyOf("DISK_FULL", "DISK_NEARLY_FULL"));
  EXPECT_TRUE(Predict(model).ok());
  EXPECT_TRUE(Cancel(running.name()).ok());
  EXPECT_TRUE(DeleteDataset(unwanted.name()).ok());

  EmptyDisk();
  EXPECT_EQ(WaitForEnd(running.name()).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(WaitForEnd(queued.name()).state(), v1::JOB_STATE_SUCCEEDED);
  ASSERT_TRUE(Upload(CloudsCsv(20'000, 4, 3), "more", &refused_data).ok());
  EXPECT_EQ(DeleteDataset(unwanted.name()).error_code(), grpc::StatusCode::NOT_FOUND);
  DrainServer();
  FolderCheckOptions check;
  check.data_dir = folder_;
  const auto report = CheckFolder(check, [](const Finding& finding) {
    EXPECT_EQ(finding.severity, Severity::kNote) << finding.reason << " " << finding.subject;
  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->num_errors, 0);
}

}  // namespace
}  // namespace mercer::server
