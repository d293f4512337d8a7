// DeleteJob over gRPC: what goes, what stays, and what those hear who watch.
#include <thread>

#include <gmock/gmock.h>

#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

class JobDeletionTest : public ApiTest {
 protected:
  grpc::Status Delete(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteJobRequest request;
    request.set_name(name);
    google::protobuf::Empty nothing;
    return training_->DeleteJob(&context, request, &nothing);
  }
  grpc::Status Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(name);
    v1::Job job;
    return training_->GetJob(&context, request, &job);
  }
};

TEST_F(JobDeletionTest, ModelAndDataSetStay) {
  const std::string job = TrainClouds();
  const auto blobs = real_blobs_->List();
  Serve();
  ASSERT_TRUE(Delete(job).ok());
  EXPECT_EQ(Get(job).error_code(), StatusCode::NOT_FOUND);
  const grpc::Status again = Delete(job);
  EXPECT_EQ(again.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(again), "NOT_FOUND");
  EXPECT_EQ(*real_blobs_->List(), *blobs) << "data, model and witness";

  grpc::ClientContext context;
  v1::GetModelVersionRequest request;
  request.set_name("models/clouds");
  v1::ModelVersion model;
  ASSERT_TRUE(models_->GetModelVersion(&context, request, &model).ok());
  EXPECT_EQ(model.lineage().job(), job) << "it leads nowhere any more";
  EXPECT_EQ(model.lineage().request().data(0).dataset(), "datasets/clouds");
  grpc::ClientContext verifying;
  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  v1::VerifyModelResponse verified;
  ASSERT_TRUE(models_->VerifyModel(&verifying, verify, &verified).ok());
  EXPECT_TRUE(verified.matches());
}

TEST_F(JobDeletionTest, JobThatHasNotEndedStays) {
  StoreClouds(40);
  jobs_->Drain();  // nobody runs what is queued
  NewJob job;
  job.id = "waiting";
  job.learner = "lp_mkl";
  job.dataset_ids = {"clouds"};
  job.model_name = "clouds";
  job.now = absl::UnixEpoch();
  ASSERT_TRUE(real_storage_->jobs().CreateJob(job).ok());
  Serve();
  const grpc::Status refused = Delete("jobs/waiting");
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(refused), "JOB_NOT_FINAL");
  EXPECT_TRUE(Get("jobs/waiting").ok());
  ASSERT_TRUE(jobs_->Cancel("waiting").ok());
  EXPECT_TRUE(Delete("jobs/waiting").ok());
  EXPECT_EQ(Delete("models/waiting").error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobDeletionTest, TrainThatRepeatsItsRequestIdMakesANewJob) {
  StoreClouds(40);
  v1::TrainRequest request = CloudsRequest();
  request.set_request_id("once");
  const std::string first = TrainingHandlers(context_).Train(request)->name();
  jobs_->WaitUntilIdle();
  Serve();
  EXPECT_EQ(TrainingHandlers(context_).Train(request)->name(), first);
  ASSERT_TRUE(Delete(first).ok());
  const auto second = TrainingHandlers(context_).Train(request);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->name(), first);
  jobs_->WaitUntilIdle();
  EXPECT_TRUE(real_storage_->models().GetVersion("clouds", 2).ok());
}

TEST_F(JobDeletionTest, WatchersOfJobsAreToldOfIt) {
  const std::string job = TrainClouds();
  Serve();
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, {});
  v1::WatchJobsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_FALSE(response.deleted());
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.existing_sent());
  ASSERT_TRUE(Delete(job).ok());
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.job().name(), job);
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(response.left());
  EXPECT_TRUE(response.deleted());
  context.TryCancel();
}

TEST_F(JobDeletionTest, ProgressOfADeletedJobEndsWithNotFound) {
  const std::string job = TrainClouds();
  HeldExecutor held;
  environment_.io = &held;  // the last event waits for the job's error and model
  Serve();
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(job);
  const auto reader = training_->StreamProgress(&context, request);
  // A message is written when the one before is read.
  std::thread watcher([&reader] {
    v1::StreamProgressResponse event;
    while (reader->Read(&event)) {
    }
  });
  held.WaitForWork();
  const std::string id = job.substr(job.find('/') + 1);
  const absl::Status deleted = real_storage_->jobs().DeleteJob(id).status();
  held.RunAll();
  watcher.join();
  EXPECT_TRUE(deleted.ok()) << deleted;
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ended.error_code(), StatusCode::NOT_FOUND) << ended.error_message();

  grpc::ClientContext later_context;
  const auto later = training_->StreamProgress(&later_context, request);
  v1::StreamProgressResponse event;
  EXPECT_FALSE(later->Read(&event));
  EXPECT_EQ(later->Finish().error_code(), StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace mercer::server
