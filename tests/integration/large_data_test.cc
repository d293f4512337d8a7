// A data set that is larger than the memory for jobs.
#include <cerrno>
#include <filesystem>
#include <string>
#include <sys/mount.h>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

constexpr int64_t kLargeRows = 30'000;
constexpr int64_t kLargeColumns = 500;  // 120 MB
constexpr int64_t kLargeBudget = 100'000'000;

class LargeDataTest : public ServerTest {
 protected:
  ~LargeDataTest() override {
    KillServer();
    UnmountScratch();
  }

  // A disk with room for `megabytes` in the place of the folder of the tables; false where this process may not make one.
  bool MountScratch(int megabytes) {
    const std::string room = absl::StrCat("size=", megabytes, "m,mode=0700");
    mounted_ = mount("tmpfs", (folder_ / "scratch").c_str(), "tmpfs", 0, room.c_str()) == 0;
    return mounted_;
  }
  void UnmountScratch() {
    if (std::exchange(mounted_, false)) {
      umount2((folder_ / "scratch").c_str(), MNT_DETACH);
    }
  }

  // Reads the job's events until it waits for the reason to pass; false when it ends before.
  bool WaitUntilQueuedFor(const std::string& job, const std::string& reason) {
    grpc::ClientContext context;
    v1::StreamProgressRequest request;
    request.set_job(job);
    const auto reader = training_->StreamProgress(&context, request);
    v1::StreamProgressResponse response;
    bool waits = false;
    while (!waits && reader->Read(&response)) {
      const v1::StateChange& change = response.event().state_change();
      waits = change.state() == v1::JOB_STATE_QUEUED && change.reason() == reason;
    }
    context.TryCancel();
    while (reader->Read(&response)) {
    }
    reader->Finish();
    return waits;
  }
  v1::Job Job(const std::string& name) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(name);
    v1::Job job;
    EXPECT_TRUE(training_->GetJob(&context, request, &job).ok());
    return job;
  }
  std::string DigestOf(const std::string& model) {
    grpc::ClientContext context;
    v1::GetModelVersionRequest request;
    request.set_name(model);
    v1::ModelVersion found;
    EXPECT_TRUE(models_->GetModelVersion(&context, request, &found).ok());
    return found.digest();
  }

  void Start() {
    ServerOptions options;
    options.workers = 1;
    options.memory_budget_bytes = kLargeBudget;
    options.max_upload_bytes = int64_t{200} << 20;
    options.cache_mb = 0;
    StartServer(options);
  }

  // Two clouds as binary numbers.
  v1::Dataset UploadLarge() {
    v1::UploadDatasetRequest message;
    message.mutable_header()->set_dataset_id("large");
    v1::DenseFormat& format = *message.mutable_header()->add_parts()->mutable_dense();
    for (int64_t column = 0; column < kLargeColumns; ++column) {
      format.add_columns()->set_name(absl::StrCat("x", column));
    }
    v1::DenseColumn& label = *format.add_columns();
    label.set_name("label");
    label.set_role(v1::COLUMN_ROLE_TARGET);
    grpc::ClientContext context;
    v1::Dataset dataset;
    auto writer = datasets_->UploadDataset(&context, &dataset);
    writer->Write(message);
    RandomStream random(3, "large-data");
    constexpr int64_t kRowsOfChunk = 100;
    std::vector<double> values(kRowsOfChunk * (kLargeColumns + 1));
    for (int64_t row = 0; row < kLargeRows; row += kRowsOfChunk) {
      for (int64_t r = 0; r < kRowsOfChunk; ++r) {
        double* const numbers = values.data() + r * (kLargeColumns + 1);
        for (int64_t column = 0; column < kLargeColumns; ++column) {
          numbers[column] = random.Uniform() + (r % 2 == 1 && column < 50 ? 0.3 : 0.0);
        }
        numbers[kLargeColumns] = static_cast<double>(r % 2);
      }
      message.mutable_chunk()->set_data(values.data(), values.size() * sizeof(double));
      writer->Write(message);
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return dataset;
  }

  static v1::TrainRequest LargeRequest(const v1::Dataset& dataset, v1::LpMkl::Approximation kind) {
    v1::TrainRequest request;
    request.add_data()->set_dataset(dataset.name());
    v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
    learner.set_approximation(kind);
    learner.set_landmarks(20);
    v1::KernelGrid& grid = *learner.add_kernels();
    grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
    grid.add_bandwidths(9.0);
    request.mutable_validation()->mutable_hold_out()->set_fraction(0.2);
    request.mutable_stopping()->set_relative_gap(0.05);
    return request;
  }

  // A value of the status' ErrorInfo.
  static int64_t NumberOf(const grpc::Status& status, const std::string& key) {
    google::rpc::Status rpc;
    rpc.ParseFromString(status.error_details());
    for (const google::protobuf::Any& any : rpc.details()) {
      google::rpc::ErrorInfo info;
      int64_t number = 0;
      if (any.UnpackTo(&info) && absl::SimpleAtoi(info.metadata().at(key), &number)) {
        return number;
      }
    }
    return -1;
  }

 private:
  bool mounted_ = false;
};

TEST_F(LargeDataTest, TrainsWithKernelsOfLowRankAndRefusesExactOnesByNumber) {
  Start();
  const v1::Dataset dataset = UploadLarge();
  ASSERT_GT(kLargeRows * kLargeColumns * 8, kLargeBudget);

  grpc::ClientContext context;
  v1::Job refused;
  const grpc::Status status =
      training_->Train(&context, LargeRequest(dataset, v1::LpMkl::APPROXIMATION_NONE), &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "JOB_TOO_LARGE");
  EXPECT_GT(NumberOf(status, "estimate_bytes"), kLargeRows * kLargeRows);
  EXPECT_EQ(NumberOf(status, "budget_bytes"), kLargeBudget);

  // More landmarks than the memory has room for.
  v1::TrainRequest too_many = LargeRequest(dataset, v1::LpMkl::APPROXIMATION_NYSTROM);
  too_many.mutable_learner()->mutable_lp_mkl()->set_landmarks(2000);
  grpc::ClientContext other;
  const grpc::Status of_many = training_->Train(&other, too_many, &refused);
  EXPECT_EQ(ReasonOf(of_many), "JOB_TOO_LARGE") << of_many.error_message();
  EXPECT_GT(NumberOf(of_many, "estimate_bytes"), kLargeRows * 2000 * 4);

  // The table has no other place than a file: without the folder there is no training.
  std::filesystem::remove(folder_ / "scratch");
  const v1::Job homeless =
      WaitForEnd(TrainOk(LargeRequest(dataset, v1::LpMkl::APPROXIMATION_NYSTROM)).name());
  EXPECT_EQ(homeless.state(), v1::JOB_STATE_FAILED);
  std::filesystem::create_directory(folder_ / "scratch");

  const v1::Job job =
      WaitForEnd(TrainOk(LargeRequest(dataset, v1::LpMkl::APPROXIMATION_NYSTROM)).name());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  EXPECT_EQ(FilesIn("scratch"), 0U);
}

// The table finds room at first, and the rows that train do not.
TEST_F(LargeDataTest, JobWhoseTableFindsNoRoomWaitsAndGoesOnWhenThereIsSome) {
  Start();
  const v1::Dataset dataset = UploadLarge();
  const v1::TrainRequest request = LargeRequest(dataset, v1::LpMkl::APPROXIMATION_NYSTROM);
  if (!MountScratch(180)) {
    GTEST_SKIP() << "a disk cannot be mounted here: error " << errno;
  }
  const std::string name = TrainOk(request).name();
  ASSERT_TRUE(WaitUntilQueuedFor(name, "DISK_FULL"));
  const v1::Job waiting = Job(name);
  EXPECT_EQ(waiting.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(waiting.reason(), "DISK_FULL");
  EXPECT_TRUE(waiting.has_next_attempt_time());
  EXPECT_FALSE(waiting.has_error());
  EXPECT_EQ(waiting.attempts(0).end_reason(), "RETRY");
  const std::filesystem::space_info room = std::filesystem::space(folder_ / "scratch");
  EXPECT_EQ(room.free, room.capacity) << "the first table is gone";

  UnmountScratch();
  const v1::Job ended = WaitForEnd(name);
  ASSERT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED) << ended.ShortDebugString();
  EXPECT_EQ(ended.reason(), "");
  const v1::Job undisturbed = WaitForEnd(TrainOk(request).name());
  EXPECT_EQ(DigestOf(ended.model()), DigestOf(undisturbed.model()));
}

}  // namespace
}  // namespace mercer::server
