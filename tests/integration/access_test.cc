// The door: who may call what, what the log knows of it, and what becomes of those who are inside when
// their token is taken away.
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "server/rpc/method_rules.h"
#include "tests/integration/access_fixture.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;
using testing::Not;

// Long enough for a refusal on a machine that is busy.
constexpr auto kRefusal = std::chrono::minutes(2);

TEST_F(AccessTest, EveryScopeOpensItsMethodsAndNoOthers) {
  const std::vector<std::string> scopes = {"read", "predict", "train", "admin"};
  for (const std::string& scope : scopes) {
    AddToken(scope, scope);
  }
  Start();
  for (const std::string& method : AllMethods()) {
    const MethodRule* const rule = FindMethodRule(method);
    ASSERT_NE(rule, nullptr) << method << " has no scope: add it to the table of method_rules.cc";
    for (const std::string& scope : scopes) {
      const bool allowed = ParseScopes(scope)->Allows(rule->scope);
      // One stream never ends: whether it begins is the question.
      const bool endless = method == "TrainingService/WatchJobs";
      const grpc::Status status = Call(
          method, TokenOf(scope), allowed && endless ? std::chrono::milliseconds(1000) : kRefusal);
      if (allowed) {
        EXPECT_NE(status.error_code(), StatusCode::UNAVAILABLE) << method << " " << scope;
        EXPECT_NE(status.error_code(), StatusCode::INTERNAL) << method << " " << scope;
        EXPECT_TRUE(endless || status.error_code() != StatusCode::DEADLINE_EXCEEDED)
            << method << " " << scope;
        EXPECT_NE(status.error_code(), StatusCode::PERMISSION_DENIED) << method << " " << scope;
        EXPECT_NE(status.error_code(), StatusCode::UNAUTHENTICATED) << method << " " << scope;
      } else {
        EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << method << " " << scope;
        EXPECT_EQ(ReasonOf(status), "SCOPE_MISSING") << method << " " << scope;
      }
    }
  }
}

TEST_F(AccessTest, NoMethodLetsAStrangerIn) {
  AddToken("ada", "admin");
  AddToken("late", "admin", absl::FromUnixSeconds(1'000'000'000));
  Start();
  const std::vector<std::pair<Headers, std::string>> strangers = {
      {{}, "TOKEN_MISSING"},
      {TokenOf("nobody"), "TOKEN_UNKNOWN"},
      {TokenOf("late"), "TOKEN_EXPIRED"},
      {{{"authorization", "secret-ada"}}, "TOKEN_MALFORMED"},
      {{{"authorization", "Basic secret-ada"}}, "TOKEN_MALFORMED"},
      {{{"authorization", "Bearer secret-ada "}}, "TOKEN_MALFORMED"},
      {{{"authorization", "Bearer"}}, "TOKEN_MALFORMED"},
      {{{"authorization", "Bearer SECRET-ADA"}}, "TOKEN_UNKNOWN"},
      {{TokenOf("ada")[0], TokenOf("ada")[0]}, "TOKEN_MALFORMED"},
      {{TokenOf("nobody")[0], TokenOf("ada")[0]}, "TOKEN_MALFORMED"}};
  for (const std::string& method : AllMethods()) {
    for (const auto& [headers, reason] : strangers) {
      const grpc::Status status = Call(method, headers, kRefusal);
      EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << method << " " << reason;
      EXPECT_EQ(ReasonOf(status), reason) << method;
    }
  }
  EXPECT_TRUE(Call("DatasetService/ListDatasets", {{"authorization", "bEARER secret-ada"}}).ok())
      << "the scheme's name has no case";
}

TEST_F(AccessTest, ScopesAreWhatTheirNamesSay) {
  const auto scope_of = [](const char* method) { return FindMethodRule(method)->scope; };
  EXPECT_EQ(scope_of("AdminService/Backup"), Scope::kAdmin);
  EXPECT_EQ(scope_of("TrainingService/Train"), Scope::kTrain);
  EXPECT_EQ(scope_of("DatasetService/UploadDataset"), Scope::kTrain);
  EXPECT_EQ(scope_of("PredictionService/Predict"), Scope::kPredict);
  EXPECT_EQ(scope_of("TrainingService/StreamProgress"), Scope::kRead);
  EXPECT_EQ(scope_of("ServerService/GetServerInfo"), Scope::kAny);
  for (const std::string& method : AllMethods()) {
    const std::string verb =
        std::pair<std::string, std::string>(absl::StrSplit(method, '/')).second;
    const bool looks = verb.rfind("Get", 0) == 0 || verb.rfind("List", 0) == 0;
    const bool changes = verb.rfind("Delete", 0) == 0 || verb.rfind("Set", 0) == 0 ||
                         verb.rfind("Update", 0) == 0 || verb.rfind("Upload", 0) == 0;
    if ((looks || changes) && method != "ServerService/GetServerInfo") {
      EXPECT_EQ(FindMethodRule(method)->changes, changes) << method;
      EXPECT_EQ(FindMethodRule(method)->scope, changes ? Scope::kTrain : Scope::kRead) << method;
    }
  }
}

TEST_F(AccessTest, ARefusalComesBeforeTheRequestIsLookedAt) {
  AddToken("ada", "read");
  Start();
  // Bad in every field; and streams of which nothing has come yet.
  grpc::ClientContext unary_context;
  v1::TrainRequest bad;
  bad.set_model("//");
  v1::Job job;
  EXPECT_EQ(training_->Train(&unary_context, bad, &job).error_code(), StatusCode::UNAUTHENTICATED);
  grpc::ClientContext progress_context;
  v1::StreamProgressRequest no_job;
  no_job.set_after_sequence(-1);
  EXPECT_EQ(training_->StreamProgress(&progress_context, no_job)->Finish().error_code(),
            StatusCode::UNAUTHENTICATED);
  grpc::ClientContext upload_context;
  v1::Dataset dataset;
  EXPECT_EQ(datasets_->UploadDataset(&upload_context, &dataset)->Finish().error_code(),
            StatusCode::UNAUTHENTICATED);
  grpc::ClientContext predict_context;
  EXPECT_EQ(prediction_->PredictStream(&predict_context)->Finish().error_code(),
            StatusCode::UNAUTHENTICATED);
}

TEST_F(AccessTest, HealthIsForEverybodyReflectionAndChannelzAreNot) {
  const auto codes = [this] {
    std::vector<int> result;
    for (const char* path : {"/grpc.health.v1.Health/Check",
                             "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                             "/grpc.channelz.v1.Channelz/GetServers"}) {
      result.push_back(
          CallRaw(channel_, {.path = path, .message = MessageOf(""), .limit = kRefusal})
              .error_code());
    }
    return result;
  };
  const int ok = StatusCode::OK;
  const int missing = StatusCode::UNIMPLEMENTED;
  Start();
  EXPECT_EQ(codes(), (std::vector<int>{ok, ok, missing}));
  DrainServer();
  AddToken("ada", "admin");
  Start();
  EXPECT_EQ(codes(), (std::vector<int>{ok, missing, missing}));
  DrainServer();
  options_.access.reflection = true;
  options_.access.channelz = true;
  Start();
  EXPECT_EQ(codes(), (std::vector<int>{ok, ok, ok}));
  DrainServer();
  options_.access = AccessOptions();
  Start();
  EXPECT_EQ(codes(), (std::vector<int>{ok, ok, missing}))
      << "one server leaves nothing to the next";
}

TEST_F(AccessTest, ARevokedTokenIsRefusedAtOnceAndABrokenFileChangesNothing) {
  AddToken("ada", "read");
  AddToken("bob", "read");
  Start();
  EXPECT_TRUE(Call("DatasetService/ListDatasets", TokenOf("ada")).ok());
  std::ofstream(options_.access.tokens) << "ada read nonsense\n";
  server_->ReloadAccess();
  server_->ReloadAccess();
  EXPECT_TRUE(Call("DatasetService/ListDatasets", TokenOf("ada")).ok());
  RemoveToken("ada");
  server_->ReloadAccess();
  EXPECT_EQ(ReasonOf(Call("DatasetService/ListDatasets", TokenOf("ada"))), "TOKEN_UNKNOWN");
  EXPECT_TRUE(Call("DatasetService/ListDatasets", TokenOf("bob")).ok());
  const std::string log = StopAndReadLog();
  const std::vector<std::string> parts =
      absl::StrSplit(log, "the tokens stay as they were: line 1");
  EXPECT_EQ(parts.size(), 2) << "a flaw is logged once: " << log;
  EXPECT_THAT(log, HasSubstr("new tokens are in use"));
}

TEST_F(AccessTest, ANewFileIsSeenWithoutAWord) {
  AddToken("ada", "read");
  options_.access.reload_interval = absl::Milliseconds(10);
  Start();
  RemoveToken("ada");
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  grpc::Status status;
  do {
    status = Call("DatasetService/ListDatasets", TokenOf("ada"));
  } while (status.ok() && absl::Now() < limit);
  EXPECT_EQ(ReasonOf(status), "TOKEN_UNKNOWN");
}

TEST_F(AccessTest, OpenStreamsOfARevokedTokenEndWithTheNextHeartbeats) {
  AddToken("ada", "train,read,predict");
  options_.heartbeat = absl::Milliseconds(50);
  Start();
  grpc::ClientContext upload_context;
  SendToken(upload_context, "ada");
  v1::Dataset dataset;
  auto writer = datasets_->UploadDataset(&upload_context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->set_dataset_id("clouds");
  (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
      v1::COLUMN_ROLE_TARGET;
  writer->Write(message);
  message.mutable_chunk()->set_data(CloudsCsv(1000, 2, 1));
  writer->Write(message);
  writer->WritesDone();
  ASSERT_TRUE(writer->Finish().ok());
  grpc::ClientContext train_context;
  SendToken(train_context, "ada");
  v1::Job job;
  ASSERT_TRUE(training_->Train(&train_context, MakeEndlessRequest("datasets/clouds"), &job).ok());

  grpc::ClientContext watch_context;
  SendToken(watch_context, "ada");
  v1::StreamProgressRequest watch;
  watch.set_job(job.name());
  auto reader = training_->StreamProgress(&watch_context, watch);
  v1::StreamProgressResponse event;
  ASSERT_TRUE(reader->Read(&event));
  grpc::ClientContext silent_context;  // a stream of which nothing ever comes
  SendToken(silent_context, "ada");
  auto silent = prediction_->PredictStream(&silent_context);
  RemoveToken("ada");
  server_->ReloadAccess();
  while (reader->Read(&event)) {
  }
  const grpc::Status end = reader->Finish();
  EXPECT_TRUE(end.error_code() == StatusCode::UNAUTHENTICATED ||
              end.error_code() == StatusCode::CANCELLED)
      << end.error_code() << end.error_message();
  const grpc::Status silent_end = silent->Finish();
  EXPECT_TRUE(silent_end.error_code() == StatusCode::CANCELLED ||
              silent_end.error_code() == StatusCode::UNAUTHENTICATED)
      << silent_end.error_code();
  KillServer();
}

TEST_F(AccessTest, EveryChangeAndEveryRefusalIsInTheLogAndNoSecretIs) {
  AddToken("ada", "train");
  Start();
  grpc::ClientContext upload_context;
  SendToken(upload_context, "ada");
  v1::Dataset dataset;
  auto writer = datasets_->UploadDataset(&upload_context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->set_dataset_id("clouds");
  message.mutable_header()->set_request_id("upload-1");
  (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
      v1::COLUMN_ROLE_TARGET;
  writer->Write(message);
  message.mutable_chunk()->set_data("x1,label\n1234567,0\n2,1\n");
  writer->Write(message);
  writer->WritesDone();
  ASSERT_TRUE(writer->Finish().ok());
  grpc::ClientContext delete_context;
  SendToken(delete_context, "ada");
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/clouds");
  google::protobuf::Empty nothing;
  ASSERT_TRUE(datasets_->DeleteDataset(&delete_context, request, &nothing).ok());
  grpc::ClientContext forged_context;
  SendToken(forged_context, "ada");
  request.set_name("a\naudit caller=bob");
  EXPECT_FALSE(datasets_->DeleteDataset(&forged_context, request, &nothing).ok());
  grpc::ClientContext update_context;
  SendToken(update_context, "ada");
  v1::UpdateModelVersionRequest update;
  update.mutable_model_version()->set_name("models/none/versions/3");
  v1::ModelVersion model;
  EXPECT_FALSE(v1::ModelService::NewStub(channel_)
                   ->UpdateModelVersion(&update_context, update, &model)
                   .ok());
  Call("TrainingService/Train", TokenOf("mallory"));
  Call("DatasetService/ListDatasets", TokenOf("ada"));
  const std::string log = StopAndReadLog();
  EXPECT_THAT(log, HasSubstr("audit caller=ada method=DatasetService/UploadDataset "
                             "resource=\"datasets/clouds\" code=OK reason= "
                             "request_id=\"upload-1\" peer="));
  EXPECT_THAT(log, HasSubstr("audit caller=ada method=DatasetService/DeleteDataset "
                             "resource=\"datasets/clouds\" code=OK"));
  EXPECT_THAT(log, HasSubstr("resource=\"a\\naudit caller=bob\" code=INVALID_ARGUMENT"));
  EXPECT_THAT(log, HasSubstr("audit caller=ada method=ModelService/UpdateModelVersion "
                             "resource=\"models/none/versions/3\" code="));
  EXPECT_THAT(log, HasSubstr("refused caller=- method=TrainingService/Train resource=\"\" "
                             "code=UNAUTHENTICATED reason=TOKEN_UNKNOWN"));
  EXPECT_THAT(log, HasSubstr("refused caller=ada method=DatasetService/ListDatasets"));
  EXPECT_THAT(log, Not(HasSubstr("secret")));
  EXPECT_THAT(log, Not(HasSubstr("1234567")));
}

TEST_F(AccessTest, ACallerHasOnlySoManyCallsAtATime) {
  AddToken("ada", "predict,read");
  AddToken("bob", "read");
  options_.access.max_calls_per_caller = 2;
  Start();
  grpc::ClientContext first_context;
  grpc::ClientContext second_context;
  SendToken(first_context, "ada");
  SendToken(second_context, "ada");
  const auto first = training_->WatchJobs(&first_context, v1::WatchJobsRequest());
  const auto second = training_->WatchJobs(&second_context, v1::WatchJobsRequest());
  v1::WatchJobsResponse arrived;
  ASSERT_TRUE(first->Read(&arrived));
  ASSERT_TRUE(second->Read(&arrived));
  const grpc::Status status = Call("DatasetService/ListDatasets", TokenOf("ada"));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_CALLS");
  EXPECT_TRUE(HasDetail<google::rpc::RetryInfo>(status));
  EXPECT_TRUE(Call("DatasetService/ListDatasets", TokenOf("bob")).ok());
  first_context.TryCancel();
  while (
      !Call("DatasetService/ListDatasets", TokenOf("ada")).ok()) {  // until the server hears of it
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Call("DatasetService/ListDatasets", TokenOf("ada")).ok());
  }
  second_context.TryCancel();
}

TEST_F(AccessTest, BeyondLoopbackTheDoorMustBeShutOrSaidToBeOpen) {
  options_.listen = "0.0.0.0:0";
  const auto refused = [this] {
    const auto server = Server::Start(options_, MakeLogger("off"));
    return server.ok() ? "" : std::string(server.status().message());
  };
  EXPECT_THAT(refused(), HasSubstr("not a loopback address"));
  AddToken("ada", "admin");
  EXPECT_THAT(refused(), HasSubstr("not a loopback address"));
  options_.access.tokens.clear();
  options_.access.tls = {"certificate", "key", ""};
  EXPECT_THAT(refused(), HasSubstr("not a loopback address"));
  WriteTokens();
  EXPECT_THAT(refused(), HasSubstr("'certificate' cannot be read")) << "the address is accepted";
  options_.access.tls = {};
  options_.access.insecure = true;
  Start();
  EXPECT_EQ(ReasonOf(Call("DatasetService/ListDatasets", {})), "TOKEN_MISSING");
  EXPECT_THAT(StopAndReadLog(), HasSubstr("INSECURE: other machines reach"));
}

TEST_F(AccessTest, AStartWithoutItsFilesIsRefused) {
  options_.access.tokens = folder_ / "missing";
  EXPECT_FALSE(Server::Start(options_, MakeLogger("off")).ok());
  EXPECT_FALSE(std::filesystem::exists(options_.data_dir)) << "nothing has been touched";
}

}  // namespace
}  // namespace mercer::server
