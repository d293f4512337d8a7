// Clients that do nothing: they delay neither jobs, nor events of others, nor the end of the server.
#include <thread>

#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

// Far above what a drain of an idle server takes, far below the five seconds that it grants to calls.
constexpr absl::Duration kAtOnce = absl::Seconds(3);

class SlowClientsTest : public ServerTest {
 protected:
  absl::Duration TimeToDrain() {
    const absl::Time begin = absl::Now();
    server_->Drain();
    return absl::Now() - begin;
  }
  static void ExpectDraining(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_EQ(ReasonOf(status), "DRAINING");
    EXPECT_TRUE(HasDetail<google::rpc::RetryInfo>(status));
  }
  // A connection that holds back all but a few bytes of what is not read.
  std::shared_ptr<grpc::Channel> ConnectNarrow() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
};

TEST_F(SlowClientsTest, IdleConnectionsDoNotDelayTheDrain) {
  StartServer();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 5; ++i) {
    channels.push_back(Connect());
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    ASSERT_TRUE(v1::TrainingService::NewStub(channels.back())
                    ->ListJobs(&context, v1::ListJobsRequest(), &response)
                    .ok());
  }
  EXPECT_LT(TimeToDrain(), kAtOnce);
}

TEST_F(SlowClientsTest, OpenStreamsEndWithDrainingAndDoNotDelayTheDrain) {
  ServerOptions options;
  options.workers = 1;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 3, 1), "clouds", &dataset).ok());
  const v1::Job trained = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(trained.state(), v1::JOB_STATE_SUCCEEDED) << trained.ShortDebugString();
  const v1::Job busy = TrainOk(MakeEndlessRequest("datasets/clouds"));
  WaitForStart(busy.name());
  const v1::Job queued = TrainOk(MakeRequest("datasets/clouds"));

  grpc::ClientContext watch_context;
  v1::StreamProgressRequest watch_request;
  watch_request.set_job(queued.name());
  auto watch = training_->StreamProgress(&watch_context, watch_request);
  v1::StreamProgressResponse event;
  ASSERT_TRUE(watch->Read(&event));

  grpc::ClientContext upload_context;
  auto upload = datasets_->UploadDataset(&upload_context, &dataset);
  v1::UploadDatasetRequest chunk;
  chunk.mutable_header()->set_dataset_id("half");
  chunk.mutable_header()->add_parts()->mutable_csv();
  upload->Write(chunk);
  chunk.mutable_chunk()->set_data("a,b\n1,2\n");
  upload->Write(chunk);

  grpc::ClientContext predict_context;
  auto predictions = prediction_->PredictStream(&predict_context);
  v1::PredictStreamRequest rows;
  rows.mutable_header()->set_model(trained.model());
  predictions->Write(rows);
  *rows.mutable_rows() = MakePrediction("", 2, 3).rows();
  predictions->Write(rows);
  v1::PredictResponse response;
  ASSERT_TRUE(predictions->Read(&response));

  EXPECT_LT(TimeToDrain(), kAtOnce);
  while (watch->Read(&event)) {
  }
  ExpectDraining(watch->Finish());
  ExpectDraining(upload->Finish());
  EXPECT_FALSE(predictions->Read(&response));
  ExpectDraining(predictions->Finish());
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(SlowClientsTest, StreamsThatNobodyReadsDoNotDelayTheDrain) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(20'000, 3, 1), "large", &dataset).ok());
  ASSERT_TRUE(Upload(CloudsCsv(100, 3, 1), "clouds", &dataset).ok());
  const v1::Job trained = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(trained.state(), v1::JOB_STATE_SUCCEEDED) << trained.ShortDebugString();
  grpc::ClientContext context;
  const auto stub = v1::PredictionService::NewStub(ConnectNarrow());
  auto predictions = stub->PredictStream(&context);
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model(trained.model());
  header.mutable_header()->set_dataset("datasets/large");
  predictions->Write(header);
  v1::PredictResponse response;
  ASSERT_TRUE(predictions->Read(&response));
  EXPECT_LT(TimeToDrain(), kAtOnce);
  while (predictions->Read(&response)) {
  }
  EXPECT_FALSE(predictions->Finish().ok());
}

TEST_F(SlowClientsTest, WatcherThatStopsReadingDelaysNobodyAndLosesNothing) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(300, 4, 3), "clouds", &dataset).ok());
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.mutable_validation()->mutable_folds()->set_count(40);
  const v1::Job job = TrainOk(request);
  const auto stub = v1::TrainingService::NewStub(ConnectNarrow());
  grpc::ClientContext context;
  v1::StreamProgressRequest watch;
  watch.set_job(job.name());
  auto slow = stub->StreamProgress(&context, watch);
  v1::StreamProgressResponse response;
  ASSERT_TRUE(slow->Read(&response));
  std::vector<v1::ProgressEvent> events = {response.event()};
  // All of the training goes by, watched by others.
  std::vector<v1::ProgressEvent> seen_by_others;
  ASSERT_TRUE(Stream(job.name(), 0, &seen_by_others).ok());
  EXPECT_EQ(seen_by_others.back().state_change().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_GT(seen_by_others.size(), 40u);
  while (slow->Read(&response)) {
    if (response.has_event()) {
      events.push_back(response.event());
    }
  }
  EXPECT_TRUE(slow->Finish().ok());
  ASSERT_EQ(events.size(), seen_by_others.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].SerializeAsString(), seen_by_others[i].SerializeAsString()) << i;
  }
}

TEST_F(SlowClientsTest, PredictStreamThatItsClientCancelsLeavesAServerThatWorks) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(20'000, 3, 1), "large", &dataset).ok());
  ASSERT_TRUE(Upload(CloudsCsv(100, 3, 1), "clouds", &dataset).ok());
  const v1::Job trained = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(trained.state(), v1::JOB_STATE_SUCCEEDED) << trained.ShortDebugString();
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    auto stream = prediction_->PredictStream(&context);
    v1::PredictStreamRequest header;
    header.mutable_header()->set_model(trained.model());
    header.mutable_header()->set_dataset("datasets/large");
    stream->Write(header);
    v1::PredictResponse response;
    if (i % 2 == 0) {
      EXPECT_TRUE(stream->Read(&response));
    }
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  v1::PredictResponse response;
  EXPECT_TRUE(
      prediction_->Predict(&context, MakePrediction(trained.model(), 2, 3), &response).ok());
  EXPECT_LT(TimeToDrain(), kAtOnce);
}

}  // namespace
}  // namespace mercer::server
