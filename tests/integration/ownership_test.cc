// Whose things are, over gRPC and HTTP, with tokens that change while the server runs and a server that starts again.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/integration/access_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr char kScopes[] = "read,predict,train";

class OwnershipTest : public AccessTest {
 protected:
  OwnershipTest() {
    options_.http = "127.0.0.1:0";
    AddToken("ada", kScopes, absl::InfiniteFuture(), "lab");
    AddToken("bob", kScopes, absl::InfiniteFuture(), "lab");
    AddToken("eve", kScopes);
    AddToken("root", "admin");
  }

  grpc::Status UploadAs(const std::string& name, const std::string& id) {
    grpc::ClientContext context;
    SendToken(context, name);
    auto writer = datasets_->UploadDataset(&context, &dataset_);
    v1::UploadDatasetRequest message;
    message.mutable_header()->set_dataset_id(id);
    (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
        v1::COLUMN_ROLE_TARGET;
    writer->Write(message);
    message.mutable_chunk()->set_data(CloudsCsv(1000, 3, 1));
    writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::Status TrainAs(const std::string& name, const v1::TrainRequest& request) {
    return CallAs(name, *training_, &v1::TrainingService::Stub::Train, request, &job_);
  }
  v1::JobState WaitAs(const std::string& name, const std::string& job) {
    grpc::ClientContext context;
    SendToken(context, name);
    v1::StreamProgressRequest request;
    request.set_job(job);
    auto reader = training_->StreamProgress(&context, request);
    v1::StreamProgressResponse response;
    v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
    while (reader->Read(&response)) {
      if (response.event().has_state_change()) {
        state = response.event().state_change().state();
      }
    }
    EXPECT_TRUE(reader->Finish().ok());
    return state;
  }
  grpc::Status CancelAs(const std::string& name, const std::string& job) {
    v1::CancelJobRequest request;
    request.set_name(job);
    return CallAs(name, *training_, &v1::TrainingService::Stub::CancelJob, request, &job_);
  }
  HttpReply HttpAs(const std::string& name, const std::string& method, const std::string& target,
                   const std::string& body = "") {
    HttpHeaders headers = {{"Authorization", "Bearer secret-" + name}};
    if (!body.empty()) {
      headers.emplace_back("Content-Type", "application/json");
    }
    return HttpClient(server_->http_port()).Call(method, target, headers, body);
  }

  v1::Dataset dataset_;
  v1::Job job_;
  v1::DeleteDatasetRequest request_;
  google::protobuf::Empty nothing_;
};

// Who may predict alone starts no jobs, but has those that his calls wait for.
TEST_F(OwnershipTest, JobOfACallIsItsCallersWhateverElseHeMayDo) {
  AddToken("pat", "predict");
  Start();
  ASSERT_TRUE(UploadAs("ada", "clouds").ok());
  v1::TrainRequest train = MakeRequest("datasets/clouds");
  train.set_model("models/clouds");
  ASSERT_TRUE(TrainAs("ada", train).ok());
  ASSERT_EQ(WaitAs("ada", job_.name()), v1::JOB_STATE_SUCCEEDED);
  grpc::ClientContext context;
  SendToken(context, "ada");
  v1::WatchJobsRequest watch;
  (*watch.mutable_labels())["mercer_call"] = "true";
  const auto models = v1::ModelService::NewStub(channel_);
  const auto reader = training_->WatchJobs(&context, watch);
  v1::WatchJobsResponse seen;
  ASSERT_TRUE(reader->Read(&seen));
  EXPECT_TRUE(seen.existing_sent());
  v1::EvaluateModelRequest request;
  request.set_name("models/clouds");
  request.set_dataset("datasets/clouds");
  v1::Job job;
  EXPECT_EQ(
      CallAs("pat", *models, &v1::ModelService::Stub::StartEvaluation, request, &job).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
  v1::EvaluateModelResponse response;
  const grpc::Status status =
      CallAs("pat", *models, &v1::ModelService::Stub::EvaluateModel, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  ASSERT_TRUE(reader->Read(&seen));
  EXPECT_EQ(seen.job().owner(), "pat");
  EXPECT_EQ(seen.job().kind(), v1::JOB_KIND_EVALUATION);
  while (!seen.deleted()) {
    ASSERT_TRUE(reader->Read(&seen));
  }
  context.TryCancel();
}

TEST_F(OwnershipTest, JobsAndDataAreTheirMakersOverBothDoors) {
  Start();
  ASSERT_TRUE(UploadAs("ada", "clouds").ok());
  EXPECT_EQ(dataset_.owner(), "ada");
  // Whoever may train may use the data.
  ASSERT_TRUE(TrainAs("eve", MakeEndlessRequest("datasets/clouds")).ok());
  const std::string of_eve = job_.name();
  EXPECT_EQ(job_.owner(), "eve");
  ASSERT_TRUE(TrainAs("ada", MakeEndlessRequest("datasets/clouds")).ok());
  const std::string of_ada = job_.name();

  const grpc::Status refused = CancelAs("eve", of_ada);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReasonOf(refused), "NOT_OWNER");
  EXPECT_THAT(refused.error_message(), HasSubstr("belongs to ada"));
  const HttpReply over_http = HttpAs("eve", "POST", absl::StrCat("/v1/", of_ada, ":stop"), "{}");
  EXPECT_EQ(over_http.status, 403) << over_http.body;
  EXPECT_THAT(over_http.body, HasSubstr("NOT_OWNER"));
  EXPECT_EQ(HttpAs("eve", "DELETE", "/v1/datasets/clouds?whenUnused=true").status, 403);
  const json seen = json::parse(HttpAs("eve", "GET", "/v1/" + of_ada).body);
  EXPECT_EQ(seen["owner"], "ada") << "reading is for all";
  EXPECT_FALSE(seen.contains("stopRequested"));

  EXPECT_EQ(HttpAs("bob", "POST", absl::StrCat("/v1/", of_ada, ":cancel"), "{}").status, 200);
  EXPECT_EQ(WaitAs("bob", of_ada), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(ReasonOf(CancelAs("bob", of_eve)), "NOT_OWNER") << "eve is in no group";
  EXPECT_TRUE(CancelAs("root", of_eve).ok());
  EXPECT_EQ(WaitAs("eve", of_eve), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(HttpAs("bob", "DELETE", "/v1/datasets/clouds").status, 200);
  const std::string log = StopAndReadLog();
  EXPECT_THAT(log, HasSubstr(absl::StrCat("audit caller=eve method=TrainingService/CancelJob "
                                          "resource=\"",
                                          of_ada, "\" code=PERMISSION_DENIED reason=NOT_OWNER")));
  EXPECT_THAT(log, HasSubstr("trace=- owner=ada")) << "of the refusal, and of bob's call";
  EXPECT_THAT(log, ContainsRegex("audit caller=bob method=DatasetService/DeleteDataset "
                                 "resource=\"datasets/clouds\" code=OK [^\n]* owner=ada\n"));
  EXPECT_THAT(log, Not(HasSubstr("secret")));
}

TEST_F(OwnershipTest, ModelsAndRequestIdsAreTheirMakersAlsoAfterAStart) {
  Start();
  ASSERT_TRUE(UploadAs("ada", "clouds").ok());
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.set_model("models/m");
  request.set_request_id("r");
  ASSERT_TRUE(TrainAs("ada", request).ok());
  const std::string first = job_.name();
  EXPECT_EQ(ReasonOf(TrainAs("eve", request)), "NOT_OWNER") << "the model is to be ada's";
  EXPECT_EQ(WaitAs("ada", first), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ReasonOf(TrainAs("eve", request)), "NOT_OWNER");
  v1::TrainRequest own = request;
  own.set_model("models/of-eve");
  ASSERT_TRUE(TrainAs("eve", own).ok()) << "the request_id is no one else's";
  EXPECT_NE(job_.name(), first);
  const std::string of_eve = job_.name();
  EXPECT_EQ(WaitAs("eve", of_eve), v1::JOB_STATE_SUCCEEDED);

  DrainServer();
  Start();
  ASSERT_TRUE(TrainAs("ada", request).ok());
  EXPECT_EQ(job_.name(), first);
  ASSERT_TRUE(TrainAs("eve", own).ok());
  EXPECT_EQ(job_.name(), of_eve);
  EXPECT_EQ(HttpAs("eve", "DELETE", "/v1/models/m").status, 403);
  EXPECT_EQ(
      HttpAs("eve", "PUT", "/v1/models/m/aliases/live", R"({"version":"models/m/versions/1"})")
          .status,
      403);
  EXPECT_EQ(
      HttpAs("eve", "PUT", "/v1/models/m/aliases/live", R"({"version":"models/m/versions/99"})")
          .status,
      403)
      << "who may not change it learns nothing of its versions, and has none loaded";
  const HttpReply predicted =
      HttpAs("eve", "POST", "/v1/models/m:predict", R"({"dataset":"datasets/clouds"})");
  EXPECT_EQ(predicted.status, 200) << predicted.body;
  EXPECT_EQ(json::parse(HttpAs("eve", "GET", "/v1/models/m").body)["owner"], "ada");
  EXPECT_EQ(
      HttpAs("bob", "PUT", "/v1/models/m/aliases/live", R"({"version":"models/m/versions/1"})")
          .status,
      200);
}

TEST_F(OwnershipTest, GroupsAreThoseOfTheTokensInUse) {
  Start();
  ASSERT_TRUE(UploadAs("ada", "clouds").ok());
  const auto remove = [this](const std::string& name) {
    return ReasonOf(
        CallAs(name, *datasets_, &v1::DatasetService::Stub::DeleteDataset, request_, &nothing_));
  };
  request_.set_name("datasets/clouds");
  EXPECT_EQ(remove("eve"), "NOT_OWNER");
  AddToken("bob", kScopes);
  server_->ReloadAccess();
  EXPECT_EQ(remove("bob"), "NOT_OWNER") << "he has left the group";
  AddToken("eve", kScopes, absl::InfiniteFuture(), "imaging,lab");
  AddToken("ada", kScopes, absl::FromUnixSeconds(1'000'000'000), "lab");
  server_->ReloadAccess();
  EXPECT_EQ(remove("ada"), "TOKEN_EXPIRED");
  EXPECT_EQ(remove("eve"), "") << "she has come into it, and ada's line is still there";
}

}  // namespace
}  // namespace mercer::server
