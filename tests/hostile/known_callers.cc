#include "tests/hostile/known_callers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(5);
constexpr std::chrono::seconds kLimit(20);
constexpr int kRows = 60;

std::string Csv() {
  std::string csv = "x,y,label\n";
  for (int row = 0; row < kRows; ++row) {
    absl::StrAppend(&csv, row % 2 + 0.1 * (row % 7), ",", row % 5, ",", row % 2, "\n");
  }
  return csv;
}

}  // namespace

double KnownCallers::Percentile99(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto rank = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 99 / 100);
  std::nth_element(values.begin(), rank, values.end());
  return *rank;
}

KnownCallers::KnownCallers(const HostileServer& server) : server_(server) {
  Prepare();
  Start("health", [](const auto& channel) {
    return CallRaw(
        channel,
        {.path = "/grpc.health.v1.Health/Check", .message = MessageOf(""), .limit = kLimit});
  });
  Start("GetJob", [this](const auto& channel) {
    v1::GetJobRequest request;
    request.set_name(finished_job_);
    v1::Job job;
    return v1::TrainingService::NewStub(channel)->GetJob(NewContext().get(), request, &job);
  });
  Start("StreamProgress",
        [this](const auto& channel) { return FollowToEnd(channel, finished_job_); });
  Start("Predict", [this](const auto& channel) {
    v1::PredictRequest request;
    request.set_model(model_);
    v1::DenseBlock& block = *request.mutable_rows()->add_dense();
    block.mutable_values()->set_rows(1);
    block.mutable_values()->set_columns(2);
    block.mutable_values()->add_values(1);
    block.mutable_values()->add_values(2);
    v1::PredictResponse response;
    return v1::PredictionService::NewStub(channel)->Predict(NewContext().get(), request, &response);
  });
  const CallOnce train = [this](const auto& channel) {
    v1::Job job;
    const grpc::Status status =
        v1::TrainingService::NewStub(channel)->Train(NewContext().get(), Training(), &job);
    followed_job_ = job.name();
    return status;
  };
  Start("Train", train,
        [this](const auto& channel) { return FollowToEnd(channel, followed_job_); });
}

KnownCallers::~KnownCallers() { Finish(); }

void KnownCallers::Prepare() {
  const auto channel = server_.NewChannel();
  const auto context = NewContext();
  v1::Dataset dataset;
  const auto stub = v1::DatasetService::NewStub(channel);
  const auto writer = stub->UploadDataset(context.get(), &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->set_dataset_id("known");
  (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
      v1::COLUMN_ROLE_TARGET;
  writer->Write(message);
  message.mutable_chunk()->set_data(Csv());
  writer->Write(message);
  writer->WritesDone();
  const grpc::Status uploaded = writer->Finish();
  EXPECT_TRUE(uploaded.ok()) << uploaded.error_message();
  v1::Job job;
  const grpc::Status trained =
      v1::TrainingService::NewStub(channel)->Train(NewContext().get(), Training(), &job);
  EXPECT_TRUE(trained.ok()) << trained.error_message();
  finished_job_ = job.name();
  EXPECT_TRUE(FollowToEnd(channel, finished_job_).ok());
  v1::GetJobRequest request;
  request.set_name(finished_job_);
  EXPECT_TRUE(
      v1::TrainingService::NewStub(channel)->GetJob(NewContext().get(), request, &job).ok());
  model_ = job.model();
  EXPECT_FALSE(model_.empty()) << job.ShortDebugString();
}

v1::TrainRequest KnownCallers::Training() const {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/known");
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  grid.add_bandwidths(1);
  request.set_threads(1);
  return request;
}

grpc::Status KnownCallers::FollowToEnd(const std::shared_ptr<grpc::Channel>& channel,
                                       const std::string& job) const {
  const auto context = NewContext();
  v1::StreamProgressRequest request;
  request.set_job(job);
  const auto stub = v1::TrainingService::NewStub(channel);
  const auto reader = stub->StreamProgress(context.get(), request);
  v1::StreamProgressResponse response;
  while (reader->Read(&response)) {
  }
  return reader->Finish();
}

std::unique_ptr<grpc::ClientContext> KnownCallers::NewContext() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->AddMetadata("authorization", absl::StrCat("Bearer ", server_.token()));
  context->set_deadline(std::chrono::system_clock::now() + kLimit);
  return context;
}

void KnownCallers::Start(const std::string& kind, CallOnce call, CallOnce rest) {
  threads_.emplace_back(
      [this, kind, call = std::move(call), rest = std::move(rest), channel = server_.NewChannel()] {
        while (!over_) {
          const absl::Time begin = absl::Now();
          grpc::Status status = call(channel);
          const double milliseconds = absl::ToDoubleMilliseconds(absl::Now() - begin);
          if (status.ok() && rest != nullptr) {
            status = rest(channel);
          }
          Note(kind, status, milliseconds);
          absl::SleepFor(kPause);
        }
      });
}

void KnownCallers::Note(const std::string& kind, const grpc::Status& status, double milliseconds) {
  absl::MutexLock lock(&mutex_);
  if (status.ok()) {
    figures_.milliseconds[kind].push_back(milliseconds);
  } else {
    figures_.failures.push_back(absl::StrCat(kind, ": ", static_cast<int>(status.error_code()), " ",
                                             status.error_message()));
  }
}

bool KnownCallers::WaitForEachKind(absl::Duration patience) {
  const auto each_is_answered = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return figures_.milliseconds.size() == threads_.size();
  };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&each_is_answered), patience);
}

KnownCallers::Figures KnownCallers::Take() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(figures_, Figures());
}

KnownCallers::Figures KnownCallers::Finish() {
  over_ = true;
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  return Take();
}

}  // namespace mercer::server
