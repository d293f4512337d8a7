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

TEST_F(JobWatchTest, FiltersByStateAndLabel) {
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

TEST_F(JobWatchTest, GoesOnBehindTheLastResponseOfABrokenCall) {
  const std::string first = TrainClouds();
  Serve();
  v1::WatchJobsRequest request;
  {
    grpc::ClientContext context;
    const auto reader = training_->WatchJobs(&context, request);
    const auto listed = ReadUntil(*reader, [&request](const v1::WatchJobsResponse& next) {
      EXPECT_TRUE(next.existing_sent() || next.sequence() == 0) << "in the middle of a list";
      request.set_after_sequence(next.sequence());
      return next.existing_sent();
    });
    EXPECT_GT(listed.sequence(), 0);
    context.TryCancel();
    reader->Finish();
  }
  EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
  const v1::Job job = Train(CloudsRequest());  // nobody watches
  jobs_->WaitUntilIdle();
  {
    grpc::ClientContext context;
    const auto reader = training_->WatchJobs(&context, request);
    const auto end = ReadUntil(*reader, [&](const v1::WatchJobsResponse& next) {
      EXPECT_FALSE(next.existing() || next.existing_sent());
      EXPECT_EQ(next.job().name(), job.name());
      EXPECT_GT(next.sequence(), request.after_sequence());
      return next.job().state() == v1::JOB_STATE_SUCCEEDED;
    });
    EXPECT_EQ(end.job().model(), "models/clouds/versions/2");
    context.TryCancel();
    reader->Finish();
  }
  // A number of another server.
  request.set_after_sequence(request.after_sequence() + (int64_t{1} << 40));
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, request);
  int existing = 0;
  ReadUntil(*reader, [&existing](const v1::WatchJobsResponse& next) {
    existing += next.existing() ? 1 : 0;
    return next.existing_sent();
  });
  EXPECT_EQ(existing, 2);
  context.TryCancel();
  reader->Finish();
}

TEST_F(JobWatchTest, RefusesNegativeSequences) {
  Serve();
  grpc::ClientContext context;
  v1::WatchJobsRequest request;
  request.set_after_sequence(-1);
  const grpc::Status status = training_->WatchJobs(&context, request)->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "BAD_SEQUENCE");
}

TEST_F(JobWatchTest, RefusesABadFilter) {
  Serve();
  grpc::ClientContext context;
  v1::WatchJobsRequest filter;
  filter.add_states(v1::JOB_STATE_UNSPECIFIED);
  filter.add_kinds(v1::JOB_KIND_UNSPECIFIED);
  const grpc::Status status = training_->WatchJobs(&context, filter)->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "BAD_FIELDS");
  EXPECT_THAT(status.error_message(),
              testing::AllOf(testing::HasSubstr("states[0]"), testing::HasSubstr("kinds[0]")));
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
