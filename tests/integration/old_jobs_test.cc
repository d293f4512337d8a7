// A server that forgets its old jobs: what is gone with them, what is not.
#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

class OldJobsTest : public ServerTest {
 protected:
  grpc::Status GetJob(const std::string& name, v1::Job* job) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(name);
    return training_->GetJob(&context, request, job);
  }
};

TEST_F(OldJobsTest, TheJobGoesWithItsRequestIdAndTheModelStays) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(40, 2, 1), "clouds", &dataset).ok());
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.set_request_id("r-1");
  request.set_model("models/clouds");
  const v1::Job job = WaitForEnd(TrainOk(request).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(TrainOk(request).name(), job.name());
  DrainServer();

  ServerOptions options;
  options.job_retention = absl::Milliseconds(1);
  StartServer(options);  // and looks at the jobs at once
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  v1::Job found;
  grpc::Status gone;
  do {
    gone = GetJob(job.name(), &found);
  } while (gone.ok() && absl::Now() < limit);
  EXPECT_EQ(gone.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(ReasonOf(gone), "NOT_FOUND");
  std::vector<v1::ProgressEvent> events;
  EXPECT_EQ(Stream(job.name(), 0, &events).error_code(), grpc::NOT_FOUND);

  grpc::ClientContext model_context;
  v1::GetModelVersionRequest get;
  get.set_name("models/clouds");
  v1::ModelVersion model;
  ASSERT_TRUE(models_->GetModelVersion(&model_context, get, &model).ok());
  EXPECT_EQ(model.lineage().job(), job.name());
  EXPECT_EQ(model.lineage().request().data(0).dataset(), "datasets/clouds");
  grpc::ClientContext verify_context;
  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  v1::VerifyModelResponse verified;
  const grpc::Status status = models_->VerifyModel(&verify_context, verify, &verified);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(verified.matches());

  const v1::Job again = TrainOk(request);
  EXPECT_NE(again.name(), job.name()) << "its request_id is forgotten";
}

}  // namespace
}  // namespace mercer::server
