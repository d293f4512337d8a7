// StopJob and the quotas, as a client sees them.
#include <gmock/gmock.h>

#include "google/rpc/error_details.pb.h"
#include "tests/integration/test_server.h"
#include "tests/support/cancelled_work.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;
using testing::Contains;
using testing::Property;

class StopTest : public ServerTest {
 protected:
  grpc::Status Stop(const std::string& name, v1::Job* job) {
    grpc::ClientContext context;
    v1::StopJobRequest request;
    request.set_name(name);
    return training_->StopJob(&context, request, job);
  }
  v1::Job StopOk(const std::string& name) {
    v1::Job job;
    const grpc::Status status = Stop(name, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }
  v1::ModelVersion ModelOf(const v1::Job& job) {
    grpc::ClientContext context;
    v1::GetModelVersionRequest request;
    request.set_name(job.model());
    v1::ModelVersion model;
    const grpc::Status status = models_->GetModelVersion(&context, request, &model);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return model;
  }
  // Trains for a long time before it has converged: alternation needs hundreds of machines.
  static v1::TrainRequest MakeLongRequest(const std::string& dataset) {
    v1::TrainRequest request = MakeRequest(dataset);
    v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
    learner.set_c(10'000);
    learner.set_p(1.01);
    learner.set_outer_loop(v1::LpMkl::OUTER_LOOP_ALTERNATION);
    request.mutable_stopping()->set_relative_gap(1e-10);
    return request;
  }
};

// Reads on until an event for which `wanted` answers true.
template <typename Predicate>
bool ReadUntil(grpc::ClientReader<v1::StreamProgressResponse>& reader, const Predicate& wanted) {
  v1::StreamProgressResponse response;
  while (reader.Read(&response)) {
    if (response.has_event() && wanted(response.event())) {
      return true;
    }
  }
  return false;
}

TEST_F(StopTest, EndsTheWorkAtOnceAndKeepsTheModel) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(2500, 10, 3), "clouds", &dataset).ok());
  const auto stop_one = [&] {
    const v1::Job job = TrainOk(MakeLongRequest("datasets/clouds"));
    grpc::ClientContext context;
    v1::StreamProgressRequest watch;
    watch.set_job(job.name());
    const auto reader = training_->StreamProgress(&context, watch);
    EXPECT_TRUE(ReadUntil(*reader, [](const auto& event) { return event.progress().has_model(); }));
    const v1::Job stopping = StopOk(job.name());
    // From when the server knows: beside other programs the job works on until the call is served.
    const double at_stop = ProcessorSeconds();
    EXPECT_TRUE(stopping.stop_requested());
    EXPECT_TRUE(ReadUntil(*reader, [](const auto& event) {
      return event.state_change().state() == v1::JOB_STATE_VERIFYING;
    }));
    const double work = ProcessorSeconds() - at_stop;
    const v1::Job ended = WaitForEnd(job.name());
    EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(ModelOf(ended).stop_reason(), v1::STOP_REASON_STOP_REQUESTED);
    EXPECT_EQ(StopOk(job.name()).state(), v1::JOB_STATE_SUCCEEDED) << "the call may be repeated";
    return work;
  };
  EXPECT_LE(LeastWork(stop_one), kMostWorkAfterCancel);
}

// Of folds that had ended by then there are metrics.
TEST_F(StopTest, WithinFoldsTheModelIsKept) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 3, 3), "clouds", &dataset).ok());
  const v1::Job job = TrainOk(MakeEndlessRequest("datasets/clouds"));
  grpc::ClientContext context;
  v1::StreamProgressRequest watch;
  watch.set_job(job.name());
  const auto reader = training_->StreamProgress(&context, watch);
  ASSERT_TRUE(ReadUntil(
      *reader, [](const auto& event) { return event.progress().phase().starts_with("fold"); }));
  StopOk(job.name());
  const v1::Job ended = WaitForEnd(job.name());
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(ModelOf(ended).warnings(),
              Contains(Property(&v1::Warning::code, v1::WARNING_CODE_VALIDATION_ENDED)));
}

TEST_F(StopTest, QueuedJobIsCancelledForWantOfAModel) {
  ServerOptions options;
  options.workers = 1;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 3, 3), "clouds", &dataset).ok());
  const v1::Job running = TrainOk(MakeEndlessRequest("datasets/clouds"));
  WaitForStart(running.name());
  const v1::Job queued = TrainOk(MakeRequest("datasets/clouds"));
  const v1::Job stopped = StopOk(queued.name());
  EXPECT_EQ(stopped.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(stopped.reason(), "NO_MODEL");
  StopOk(running.name());
}

TEST_F(StopTest, JobThatHasEndedCannotBeStopped) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(60, 3, 3), "clouds", &dataset).ok());
  const v1::Job job = TrainOk(MakeRequest("datasets/clouds"));
  EXPECT_EQ(WaitForEnd(job.name()).state(), v1::JOB_STATE_SUCCEEDED);
  v1::Job answer;
  const grpc::Status refused = Stop(job.name(), &answer);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(refused), "JOB_IS_FINAL");
  EXPECT_TRUE(HasDetail<google::rpc::ResourceInfo>(refused));
  EXPECT_EQ(Stop("jobs/none", &answer).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Stop("job", &answer).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(StopTest, QuotaRefusesWithItsNumbersAndTellsToRetry) {
  ServerOptions options;
  options.workers = 1;
  options.max_queued_jobs_per_caller = 1;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 3, 3), "clouds", &dataset).ok());
  const v1::Job running = TrainOk(MakeEndlessRequest("datasets/clouds"));
  WaitForStart(running.name());
  const v1::Job queued = TrainOk(MakeRequest("datasets/clouds"));
  grpc::ClientContext context;
  v1::Job job;
  const grpc::Status refused = training_->Train(&context, MakeRequest("datasets/clouds"), &job);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "QUOTA_EXCEEDED");
  EXPECT_TRUE(HasDetail<google::rpc::RetryInfo>(refused));
  StopOk(queued.name());
  TrainOk(MakeRequest("datasets/clouds"));
  StopOk(running.name());
}

}  // namespace
}  // namespace mercer::server
