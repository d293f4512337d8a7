// Watching jobs over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

class JobWatchTest : public ApiTest {
 protected:
  using Reader = grpc::ClientReader<v1::WatchJobsResponse>;

  v1::Job Train(const v1::TrainRequest& request) {
    const auto job = TrainingHandlers(context_).Train(request);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : v1::Job();
  }
  // Reads up to the first response that `wanted` holds for.
  template <typename Wanted>
  static v1::WatchJobsResponse ReadUntil(Reader& reader, const Wanted& wanted) {
    v1::WatchJobsResponse response;
    bool read = reader.Read(&response);
    while (read && !wanted(response)) {
      read = reader.Read(&response);
    }
    EXPECT_TRUE(read) << "the stream has ended";
    return response;
  }
};

TEST_F(JobWatchTest, TellsOfAJobFromItsSubmissionToItsModel) {
  const std::string first = TrainClouds();
  Serve();
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, {});
  v1::WatchJobsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.job().name(), first);
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(response.existing());
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.existing_sent());
  EXPECT_FALSE(response.has_job());

  const v1::Job job = Train(CloudsRequest());
  const v1::WatchJobsResponse end = ReadUntil(*reader, [](const v1::WatchJobsResponse& next) {
    return next.job().state() == v1::JOB_STATE_SUCCEEDED;
  });
  EXPECT_EQ(end.job().name(), job.name());
  EXPECT_EQ(end.job().model(), "models/clouds/versions/2");
  EXPECT_FALSE(end.existing());
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
  EXPECT_EQ(feed_->num_watches(), 0);
}

TEST_F(JobWatchTest, FiltersByStateKindAndLabel) {
  StoreClouds(40);
  v1::TrainRequest request = CloudsRequest();
  (*request.mutable_labels())["team"] = "red";
  const v1::Job red = Train(request);
  (*request.mutable_labels())["team"] = "blue";
  Train(request);
  jobs_->WaitUntilIdle();
  Serve();
  grpc::ClientContext context;
  v1::WatchJobsRequest filter;
  filter.add_states(v1::JOB_STATE_SUCCEEDED);
  (*filter.mutable_labels())["team"] = "red";
  filter.add_kinds(v1::JOB_KIND_TRAINING);
  const auto reader = training_->WatchJobs(&context, filter);
  v1::WatchJobsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.job().name(), red.name());
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.existing_sent());
  context.TryCancel();
}

TEST_F(JobWatchTest, GoesOnBehindTheLastMessage) {
  TrainClouds();
  Serve();
  const auto existing_sent = [](const v1::WatchJobsResponse& next) { return next.existing_sent(); };
  v1::WatchJobsRequest request;
  {
    grpc::ClientContext context;
    const auto reader = training_->WatchJobs(&context, request);
    request.set_after_sequence(ReadUntil(*reader, existing_sent).sequence());
    EXPECT_GT(request.after_sequence(), 0);
    context.TryCancel();
  }
  const v1::Job job = Train(CloudsRequest());
  jobs_->WaitUntilIdle();
  v1::GetJobRequest get;
  get.set_name(job.name());
  const auto stored = TrainingHandlers(context_).GetJob(get);
  ASSERT_TRUE(stored.ok()) << stored.status();
  v1::Job expected = *stored;
  expected.clear_attempts();
  {
    grpc::ClientContext context;
    const auto reader = training_->WatchJobs(&context, request);
    v1::WatchJobsResponse response;
    ASSERT_TRUE(reader->Read(&response));
    EXPECT_FALSE(response.existing());
    EXPECT_GT(response.sequence(), request.after_sequence());
    EXPECT_EQ(response.job().SerializeAsString(), expected.SerializeAsString());
    context.TryCancel();
  }
  request.set_after_sequence(5);  // of another server
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, request);
  v1::WatchJobsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.existing());
  EXPECT_EQ(response.sequence(), 0);
  ReadUntil(*reader, existing_sent);
  context.TryCancel();
}

TEST_F(JobWatchTest, RefusesABadSequence) {
  Serve();
  v1::WatchJobsRequest request;
  request.set_after_sequence(-1);
  grpc::ClientContext context;
  const grpc::Status status = training_->WatchJobs(&context, request)->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "BAD_SEQUENCE");
}

TEST_F(JobWatchTest, RefusesABadFilter) {
  Serve();
  grpc::ClientContext context;
  v1::WatchJobsRequest filter;
  filter.add_states(v1::JOB_STATE_UNSPECIFIED);
  const grpc::Status status = training_->WatchJobs(&context, filter)->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "BAD_FIELDS");
}

TEST_F(JobWatchTest, EndsWithTheDrain) {
  Serve();
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, {});
  v1::WatchJobsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  environment_.calls->Drain();
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DRAINING");
}

TEST_F(JobWatchTest, SendsSignsOfLife) {
  Ticker fast(absl::Milliseconds(1));
  environment_.ticker = &fast;
  Serve();
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, {});
  const v1::WatchJobsResponse response =
      ReadUntil(*reader, [](const v1::WatchJobsResponse& next) { return next.has_heartbeat(); });
  EXPECT_GT(response.heartbeat().seconds(), 0);
  EXPECT_FALSE(response.has_job());
  context.TryCancel();
  reader->Finish();
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
}

TEST_F(JobWatchTest, EndsWhenTheJobsCannotBeRead) {
  TrainClouds();
  Serve();
  NewJob damaged;
  damaged.id = "damaged";
  damaged.dataset_ids = {"clouds"};
  damaged.model_name = "model";
  damaged.request = "\xff\xff no request";
  damaged.priority = -1;
  damaged.event = StateEvent(JobState::kQueued);
  ASSERT_TRUE(real_storage_->jobs().CreateJob(damaged).ok());
  grpc::ClientContext context;
  const grpc::Status status = training_->WatchJobs(&context, {})->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(ReasonOf(status), "STORED_REQUEST_DAMAGED");
}

}  // namespace
}  // namespace mercer::server
