// A drain ends streams at once and says so; what a client did wrong it still hears.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/storage/forwarding_storage.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

class DrainTest : public ApiTest {
 protected:
  static void ExpectDraining(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_EQ(ReasonOf(status), "DRAINING");
  }
  grpc::Status Train(const v1::TrainRequest& request, v1::Job* job) {
    grpc::ClientContext context;
    return training_->Train(&context, request, job);
  }
  void WaitUntilRunning(int64_t calls) {
    while (environment_.calls->running() != calls) {
      std::this_thread::yield();
    }
  }
};

TEST_F(DrainTest, OpenStreamsEndAtOnce) {
  TrainClouds();
  Serve();
  v1::Dataset dataset;
  grpc::ClientContext silent_context;
  auto silent = datasets_->UploadDataset(&silent_context, &dataset);
  grpc::ClientContext upload_context;
  auto upload = datasets_->UploadDataset(&upload_context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->add_parts()->mutable_csv();
  upload->Write(message);
  message.mutable_chunk()->set_data("a,b\n1,2\n");
  upload->Write(message);
  grpc::ClientContext predict_context;
  auto predictions = prediction_->PredictStream(&predict_context);
  v1::PredictStreamRequest rows;
  rows.mutable_header()->set_model("models/clouds");
  predictions->Write(rows);
  *rows.mutable_rows() = CloudsRows("", 3).rows();
  predictions->Write(rows);
  v1::PredictResponse response;
  ASSERT_TRUE(predictions->Read(&response));
  WaitUntilRunning(3);

  environment_.calls->Drain();
  // No hook cancels, nobody hangs up: the server has ended them.
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
  ExpectDraining(silent->Finish());
  ExpectDraining(upload->Finish());
  EXPECT_FALSE(predictions->Read(&response));
  ExpectDraining(predictions->Finish());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "uploads"));

  grpc::ClientContext late_context;
  auto late = datasets_->UploadDataset(&late_context, &dataset);
  ExpectDraining(late->Finish());
}

TEST_F(DrainTest, CallsThatBeginAfterItEndToo) {
  TrainClouds();
  Serve();
  environment_.calls->Drain();
  grpc::ClientContext watch_context;
  auto watch = training_->WatchJobs(&watch_context, v1::WatchJobsRequest());
  v1::WatchJobsResponse event;
  while (watch->Read(&event)) {
  }
  ExpectDraining(watch->Finish());
  grpc::ClientContext context;
  v1::VerifyModelRequest request;
  request.set_name("models/clouds/versions/1");
  v1::VerifyModelResponse response;
  ExpectDraining(models_->VerifyModel(&context, request, &response));
}

TEST_F(DrainTest, ExportWhoseEveryByteWasSentEndsWell) {
  TrainClouds();
  HeldExecutor held;
  environment_.io = &held;
  Serve();
  grpc::ClientContext context;
  v1::ExportModelRequest request;
  request.set_name("models/clouds/versions/1");
  auto reader = models_->ExportModel(&context, request);
  held.WaitForWork();
  held.RunAll();
  v1::ExportModelResponse response;
  ASSERT_TRUE(reader->Read(&response));
  held.WaitForWork();  // the only chunk is about to be read
  environment_.calls->Drain();
  held.RunAll();
  EXPECT_TRUE(reader->Read(&response));
  EXPECT_FALSE(reader->Read(&response));
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(DrainTest, TrainThatWaitsForItsDataDelaysNoOtherCall) {
  const std::string earlier = TrainClouds();
  HeldExecutor held;
  environment_.submission = &held;
  Serve();
  v1::Job job;
  grpc::Status trained;
  std::thread client([&] { trained = Train(CloudsRequest(), &job); });
  held.WaitForWork();
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(earlier);
  v1::Job found;
  EXPECT_TRUE(training_->GetJob(&context, request, &found).ok());
  held.RunAll();
  client.join();
  EXPECT_TRUE(trained.ok()) << trained.error_message();
}

TEST_F(DrainTest, StepThatIsUnderWayIsFinished) {
  HeldExecutor held;
  environment_.compute = &held;
  Serve();
  v1::Dataset dataset;
  grpc::ClientContext context;
  auto upload = datasets_->UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->set_dataset_id("mine");
  message.mutable_header()->add_parts()->mutable_csv();
  upload->Write(message);
  message.mutable_chunk()->set_data("a,b\n1,2\n");
  upload->Write(message);
  upload->WritesDone();
  held.WaitForWork();
  environment_.calls->Drain();
  EXPECT_FALSE(environment_.calls->WaitForCalls(absl::ZeroDuration()));
  held.RunAll();
  EXPECT_TRUE(upload->Finish().ok());
  EXPECT_EQ(dataset.name(), "datasets/mine");
}

TEST_F(DrainTest, ClientThatDoesNotReadIsCutOff) {
  TrainClouds();
  Serve();
  grpc::ClientContext context;
  auto stream = prediction_->PredictStream(&context);
  v1::PredictStreamRequest message;
  message.mutable_header()->set_model("models/clouds");
  stream->Write(message);
  *message.mutable_rows() = CloudsRows("", 100'000).rows();
  // More than the transport keeps for a client that does not read.
  std::thread writer([&] {
    while (stream->Write(message)) {
    }
  });
  WaitUntilRunning(1);
  environment_.calls->Drain();
  while (!environment_.calls->WaitForCalls(absl::Milliseconds(1))) {
    environment_.calls->Cancel();
  }
  writer.join();
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(DrainTest, PredictStreamOfAClientThatGoesAwayIsFreed) {
  TrainClouds();
  Serve();
  for (int i = 0; i < 10; ++i) {
    grpc::ClientContext context;
    auto stream = prediction_->PredictStream(&context);
    v1::PredictStreamRequest message;
    message.mutable_header()->set_model("models/clouds");
    stream->Write(message);
    *message.mutable_rows() = CloudsRows("", 50'000).rows();
    if (i % 2 == 1) {
      stream->Write(message);  // the server works on it, or waits for somebody to read its answer
    }
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
  EXPECT_EQ(environment_.calls->running(), 0);
  // The cache and this test are all that holds the model, once the rows of the last call are
  // computed, for which nobody waits.
  const std::shared_ptr<const LoadedModel> model = cache_->Find("clouds", 1);
  ASSERT_NE(model, nullptr);
  while (model.use_count() > 2) {
    std::this_thread::yield();
  }
  grpc::ClientContext context;
  v1::PredictResponse response;
  EXPECT_TRUE(prediction_->Predict(&context, CloudsRows("models/clouds", 1), &response).ok());
}

TEST_F(DrainTest, BadRequestsAreBadAndEarlierOnesAreFoundWhileDraining) {
  StoreClouds(40);
  Serve();
  v1::TrainRequest request = CloudsRequest();
  request.set_request_id("r-1");
  v1::Job first;
  ASSERT_TRUE(Train(request, &first).ok());
  environment_.calls->Drain();
  jobs_->Drain();
  v1::Job job;
  v1::TrainRequest bad = CloudsRequest();
  bad.mutable_learner()->mutable_lp_mkl()->set_c(-1);
  EXPECT_EQ(Train(bad, &job).error_code(), StatusCode::INVALID_ARGUMENT);
  ExpectDraining(Train(CloudsRequest(), &job));
  EXPECT_TRUE(Train(request, &job).ok());
  EXPECT_EQ(job.name(), first.name());
  grpc::ClientContext context;
  v1::ListJobsResponse list;
  EXPECT_TRUE(training_->ListJobs(&context, v1::ListJobsRequest(), &list).ok());
}

// A log that does not answer in time.
class BusyStorage final : public ForwardingStorage, private EventLog {
 public:
  explicit BusyStorage(Storage& inner) : ForwardingStorage(&inner) {}

  EventLog& events() override { return *this; }

 private:
  void Append(Lease, std::vector<EventDraft>, absl::Time,
              Done<std::vector<EventRecord>> done) override {
    done(absl::UnimplementedError("nobody appends here"));
  }
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string&, int64_t, int) override {
    return WithReason(absl::UnavailableError("the database did not answer in time"),
                      "DATABASE_BUSY");
  }
};

TEST_F(DrainTest, BusyDatabaseIsNoDrain) {
  const std::string job = TrainClouds();
  BusyStorage busy(*real_storage_);
  ProgressHub hub(&busy, &hub_io_);
  context_.hub = &hub;
  Serve();
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(job);
  auto reader = training_->StreamProgress(&context, request);
  v1::StreamProgressResponse response;
  EXPECT_FALSE(reader->Read(&response));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DATABASE_BUSY");
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
}

TEST_F(DrainTest, RefusalToCancelKeepsWhatTheStoreSaid) {
  v1::CancelJobRequest request;
  request.set_name(TrainClouds());
  const auto job = TrainingHandlers(context_).CancelJob(request);
  EXPECT_EQ(GetReason(job.status()), "JOB_IS_FINAL") << job.status();
  const ErrorMetadata metadata = GetErrorMetadata(job.status());
  EXPECT_THAT(metadata, testing::Contains(testing::Pair("state", "SUCCEEDED")));
  EXPECT_THAT(metadata, testing::Contains(testing::Pair("resource_name", request.name())));
}

TEST_F(DrainTest, NegativeSequenceHasItsOwnReason) {
  Serve();
  const auto stream = [&](const std::string& job) {
    grpc::ClientContext context;
    v1::StreamProgressRequest request;
    request.set_job(job);
    request.set_after_sequence(-1);
    auto reader = training_->StreamProgress(&context, request);
    return reader->Finish();
  };
  EXPECT_EQ(ReasonOf(stream("jobs/x")), "BAD_SEQUENCE");
  EXPECT_EQ(ReasonOf(stream("x")), "BAD_FIELDS");
}

}  // namespace
}  // namespace mercer::server
