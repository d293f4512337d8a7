// The services over real gRPC within the process, on stores and pools that a test can break and hold.
#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "core/learners/registry.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/model_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "server/api/request_planner.h"
#include "server/api/services.h"
#include "server/api/training_handlers.h"
#include "server/jobs/attempt_frame.h"
#include "server/storage/forwarding_storage.h"
#include "server/uploads/dataset_upload.h"
#include "tests/support/server/forwarding_blobs.h"
#include "tests/support/server/test_storage.h"

namespace mercer::server {

// Runs nothing until it is told to.
class HeldExecutor final : public Executor {
 public:
  void Post(absl::AnyInvocable<void()> work) override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    work_.push_back(std::move(work));
  }
  void WaitForWork() ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !work_.empty(); };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_work));
  }
  void RunAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<absl::AnyInvocable<void()>> work;
    {
      absl::MutexLock lock(&mutex_);
      work.swap(work_);
    }
    for (auto& piece : work) {
      piece();
    }
  }

 private:
  absl::Mutex mutex_;
  std::vector<absl::AnyInvocable<void()>> work_ ABSL_GUARDED_BY(mutex_);
};

// Throws where a test wants it, as everything may when there is no memory.
class FaultyStorage final : public ForwardingStorage {
 public:
  explicit FaultyStorage(Storage& inner) : ForwardingStorage(&inner) {}

  DatasetStore& datasets() override { return Check(no_datasets), ForwardingStorage::datasets(); }
  JobStore& jobs() override { return Check(no_jobs), ForwardingStorage::jobs(); }
  ModelStore& models() override { return Check(no_models), ForwardingStorage::models(); }
  // Some pieces of a backup.
  absl::StatusOr<std::vector<BlobDigest>> WriteSnapshot(
      const std::string& path, const std::function<bool()>& /*is_cancelled*/) override {
    std::ofstream(path) << std::string(size_t{3} << 20, 'x');
    return std::vector<BlobDigest>();
  }

  std::atomic<bool> no_datasets{false};
  std::atomic<bool> no_jobs{false};
  std::atomic<bool> no_models{false};

 private:
  static void Check(const std::atomic<bool>& fails) {
    if (fails) {
      throw std::bad_alloc();
    }
  }
};

// Calls a function before each reading of a blob.
class HookedBlobStore final : public ForwardingBlobStore {
 public:
  using ForwardingBlobStore::ForwardingBlobStore;

  absl::StatusOr<std::unique_ptr<BlobWriter>> NewBlob() override {
    const absl::Status status = before_new_blob();
    if (!status.ok()) {
      return status;
    }
    auto writer = inner_->NewBlob();
    return writer.ok() ? hook_writer(*std::move(writer)) : std::move(writer);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Read(const std::string& digest,
                                                   const CancellationToken& cancellation) override {
    auto file = inner_->Read(digest, cancellation);
    before_answer(digest);
    return file;
  }
  absl::StatusOr<FileIdentity> Verify(const std::string& digest,
                                      const CancellationToken& cancellation) override {
    auto file = inner_->Verify(digest, cancellation);
    before_answer(digest);
    return file;
  }

  std::function<absl::Status()> before_new_blob = [] { return absl::OkStatus(); };
  std::function<std::unique_ptr<BlobWriter>(std::unique_ptr<BlobWriter>)> hook_writer =
      [](std::unique_ptr<BlobWriter> writer) { return writer; };
  std::function<void(const std::string&)> before_answer = [](const std::string&) {};
};

class ApiTest : public testing::Test {
 protected:
  ApiTest()
      : real_storage_(std::make_unique<WatchedStorage>(MakeTestStorage())),
        storage_(*real_storage_),
        hub_io_(2),
        io_(4),
        compute_(2),
        intake_(2),
        submission_(2),
        predictions_(2),
        ticker_(absl::Seconds(10)) {
    folder_ = std::filesystem::temp_directory_path() /
              ("api_test_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    removal_.folder = folder_;
    std::filesystem::create_directories(folder_ / "uploads");
    auto blobs = OpenBlobStore(folder_ / "blobs");
    EXPECT_TRUE(blobs.ok()) << blobs.status();
    real_blobs_ = *std::move(blobs);
    blobs_ = std::make_unique<HookedBlobStore>(real_blobs_.get());
    hub_ = std::make_unique<ProgressHub>(real_storage_.get(), &hub_io_);
    feed_ = std::make_unique<JobFeed>(real_storage_.get(), &hub_io_);
    StartJobs();
    cache_ = std::make_unique<ModelCache>(real_storage_->models(), *blobs_, int64_t{64} << 20,
                                          /*threads=*/2);
    context_.storage = &storage_;
    context_.blobs = blobs_.get();
    model_jobs_ = {&storage_,
                   blobs_.get(),
                   cache_.get(),
                   jobs_.get(),
                   nullptr,
                   1,
                   context_.limits.message_bytes};
    context_.model_jobs = &model_jobs_;
    context_.hub = hub_.get();
    context_.call_hub = hub_.get();
    context_.feed = feed_.get();
    context_.learners = AllLearners();
    context_.upload_folder = folder_ / "uploads";
    environment_.io = &io_;
    environment_.watching = &hub_io_;
    environment_.compute = &compute_;
    environment_.intake = &intake_;
    environment_.submission = &submission_;
    environment_.predictions = &predictions_;
    environment_.ticker = &ticker_;
    environment_.max_message_bytes = context_.limits.message_bytes;
  }
  ~ApiTest() override {
    if (server_ != nullptr) {
      hub_->Close();
      server_->Shutdown(std::chrono::system_clock::now());
      server_->Wait();
      server_.reset();
    }
  }

  // Call it when everything is as the test wants it.
  void Serve() {
    services_.push_back(MakeDatasetService(environment_, context_));
    services_.push_back(MakeTrainingService(environment_, context_));
    services_.push_back(MakeModelService(environment_, context_, *cache_));
    services_.push_back(MakePredictionService(environment_, context_, *cache_));
    grpc::ServerBuilder builder;
    for (const std::unique_ptr<grpc::Service>& service : services_) {
      builder.RegisterService(service.get());
    }
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel({});
    datasets_ = v1::DatasetService::NewStub(channel_);
    training_ = v1::TrainingService::NewStub(channel_);
    models_ = v1::ModelService::NewStub(channel_);
    prediction_ = v1::PredictionService::NewStub(channel_);
  }

  // A data set "clouds" of columns x1, x2 and a target "label" with classes 0 and 1.
  void StoreClouds(int rows) {
    std::string csv = "x1,x2,label\n";
    for (int r = 0; r < rows; ++r) {
      csv += std::to_string(r % 7 + 3 * (r % 2)) + "," + std::to_string(r % 5) + "," +
             std::to_string(r % 2) + "\n";
    }
    v1::UploadDatasetRequest header;
    header.mutable_header()->set_dataset_id("clouds");
    (*header.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
        v1::COLUMN_ROLE_TARGET;
    v1::UploadDatasetRequest chunk;
    chunk.mutable_chunk()->set_data(csv);
    DatasetUpload upload(context_);
    ASSERT_TRUE(upload.Add(header).ok());
    ASSERT_TRUE(upload.Add(chunk).ok());
    const auto dataset = upload.Finish([] { return false; });
    ASSERT_TRUE(dataset.ok()) << dataset.status();
  }
  static v1::TrainRequest CloudsRequest() {
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/clouds");
    request.set_model("models/clouds");
    v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
    grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
    grid.add_bandwidths(1);
    grid.add_bandwidths(2);
    return request;
  }
  // Makes the version 1 of "models/clouds"; answers the job's name.
  std::string TrainClouds() {
    StoreClouds(40);
    const auto job = TrainingHandlers(context_).Train(CloudsRequest());
    EXPECT_TRUE(job.ok()) << job.status();
    jobs_->WaitUntilIdle();
    EXPECT_TRUE(real_storage_->models().GetVersion("clouds", 1).ok());
    return job.ok() ? job->name() : "";
  }
  static v1::PredictRequest CloudsRows(const std::string& model, int rows) {
    v1::PredictRequest request;
    request.set_model(model);
    v1::Matrix& values = *request.mutable_rows()->add_dense()->mutable_values();
    values.set_rows(rows);
    values.set_columns(2);
    values.mutable_values()->Resize(2 * rows, 1.0);
    return request;
  }

  // After the workers and what calls have left on the pools, which may still write to it.
  struct FolderRemoval {
    ~FolderRemoval() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
    std::filesystem::path folder;
  };

  FolderRemoval removal_;
  std::filesystem::path folder_;
  std::unique_ptr<WatchedStorage> real_storage_;
  FaultyStorage storage_;  // what the API sees
  Storage* jobs_storage_ = real_storage_.get();
  std::unique_ptr<BlobStore> real_blobs_;
  std::unique_ptr<HookedBlobStore> blobs_;
  ThreadPool hub_io_;
  std::unique_ptr<ProgressHub> hub_;
  std::unique_ptr<JobFeed> feed_;
  // Of the jobs, from StartJobs on.
  LearnerLookup find_learner_ = [](std::string_view name) { return FindLearner(name); };
  JobManagerOptions job_options_;
  Clock* job_clock_ = &RealClock();
  std::function<void(AttemptFrame&)> before_work_ = [](AttemptFrame&) {
  };  // of other kinds than trainings
  std::unique_ptr<RequestPlanner> planner_;
  ModelJobContext model_jobs_;
  std::unique_ptr<JobManager> jobs_;
  ApiContext context_;
  std::unique_ptr<ModelCache> cache_;
  // Services use all above, and what calls have left on the pools uses the services.
  std::vector<std::unique_ptr<grpc::Service>> services_;
  RpcEnvironment environment_;
  ThreadPool io_;
  ThreadPool compute_;
  ThreadPool intake_;
  ThreadPool submission_;
  ThreadPool predictions_;
  Ticker ticker_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  std::unique_ptr<v1::ModelService::Stub> models_;
  std::unique_ptr<v1::PredictionService::Stub> prediction_;

  // Without workers, what is submitted waits for StartWorkers.
  void StartJobs(bool workers = true) {
    planner_ = std::make_unique<RequestPlanner>(find_learner_, 1);
    JobManagerOptions options = job_options_;
    options.host = "test";
    options.num_workers = 1;
    JobManagerDependencies dependencies;
    dependencies.storage = jobs_storage_;
    dependencies.blobs = real_blobs_.get();
    dependencies.planner = planner_.get();
    dependencies.find_learner = find_learner_;
    dependencies.clock = job_clock_;
    for (auto& [kind, maker] : WorksOfModels(&model_jobs_)) {
      dependencies.other_works[kind] = [this, maker = maker](AttemptFrame& frame) {
        before_work_(frame);
        return maker(frame);
      };
    }
    jobs_ = std::make_unique<JobManager>(options, dependencies);
    EXPECT_TRUE(jobs_->Recover().ok());
    if (workers) {
      EXPECT_TRUE(jobs_->StartWorkers().ok());
    }
    context_.jobs = jobs_.get();
    context_.planner = planner_.get();
    model_jobs_.jobs = jobs_.get();
  }
};

// The reason of the ErrorInfo; empty without one.
inline std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status rpc;
  EXPECT_TRUE(rpc.ParseFromString(status.error_details()));
  google::rpc::ErrorInfo info;
  for (const google::protobuf::Any& any : rpc.details()) {
    if (any.UnpackTo(&info)) {
      return info.reason();
    }
  }
  return "";
}

}  // namespace mercer::server
