// Every call that changes something, by the owner of what it changes, a member of his group, a stranger and an admin; and by
// all of them on what is nobody's.
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "server/digest/sha256.h"
#include "server/rpc/method_rules.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

constexpr char kContent[] = "x1,x2,label\n0,1,0\n1,2,0\n2,1,0\n0,3,0\n7,2,1\n8,1,1\n9,3,1\n7,1,1\n";
constexpr char kStranger[] = "eve";

class OwnershipApiTest : public ApiTest {
 protected:
  OwnershipApiTest() {
    std::ofstream tokens(folder_ / "tokens");
    const ScopeSet scopes = *ParseScopes("read,train,predict");
    for (const char* name : {"ada", "bob"}) {
      tokens << *TokenLine(name, scopes, name, absl::InfiniteFuture(), "lab") << "\n";
    }
    tokens << *TokenLine(kStranger, scopes, kStranger) << "\n"
           << *TokenLine("root", *ParseScopes("admin"), "root") << "\n";
    tokens.close();
    auto gate = Gate::FromFile(folder_ / "tokens");
    EXPECT_TRUE(gate.ok()) << gate.status();
    environment_.gate = *std::move(gate);
  }

  template <typename Stub, typename Request, typename Response>
  static grpc::Status Call(const std::string& caller, Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request, Response* response) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + caller);
    return (stub.*method)(&context, request, response);
  }
  // A call whose answer does not matter.
  template <typename Stub, typename Request, typename Response>
  static grpc::Status Call(const std::string& caller, Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request) {
    Response response;
    return Call(caller, stub, method, request, &response);
  }

  static CallInfo CallOf(const std::string& caller) {
    CallInfo call;
    call.caller.name = caller;
    return call;
  }
  static v1::UploadDatasetRequest Header(const std::string& id) {
    v1::UploadDatasetRequest message;
    message.mutable_header()->set_dataset_id(id);
    (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
        v1::COLUMN_ROLE_TARGET;
    return message;
  }
  void Store(const std::string& owner, const std::string& id) {
    DatasetUpload upload(context_, owner);
    ASSERT_TRUE(upload.Add(Header(id)).ok());
    v1::UploadDatasetRequest bytes;
    bytes.mutable_chunk()->set_data(kContent);
    ASSERT_TRUE(upload.Add(bytes).ok());
    ASSERT_TRUE(upload.Finish([] { return false; }).ok());
  }
  static v1::UploadDatasetRequest ResumableHeader(const std::string& id) {
    v1::UploadDatasetRequest message = Header("of-" + id);
    message.mutable_header()->set_upload_id(id);
    message.mutable_header()->set_sha256(Sha256Hex(kContent));
    message.mutable_header()->set_total_bytes(sizeof(kContent) - 1);
    return message;
  }
  void BeginUpload(const std::string& owner, const std::string& id) {
    DatasetUpload upload(context_, owner);
    ASSERT_TRUE(upload.Add(ResumableHeader(id)).ok());
    v1::UploadDatasetRequest bytes;
    bytes.mutable_chunk()->set_offset(0);
    bytes.mutable_chunk()->set_data(std::string(kContent, 5));
    ASSERT_TRUE(upload.Add(bytes).ok());
  }
  static v1::TrainRequest Training(const std::string& model) {
    v1::TrainRequest request = CloudsRequest();
    request.mutable_data(0)->set_dataset("datasets/data");
    request.set_model("models/" + model);
    return request;
  }
  void Train(const std::string& owner, const std::string& model) {
    const auto job = TrainingHandlers(context_).Train(Training(model), CallOf(owner));
    ASSERT_TRUE(job.ok()) << job.status();
    jobs_->WaitUntilIdle();
  }
  // Queued for good: the workers must have been stopped.
  std::string AddJob(const std::string& owner, const std::string& id) {
    NewJob job;
    job.id = id;
    job.caller = owner;
    job.request = Training("m-" + id).SerializeAsString();
    job.dataset_ids = {"data"};
    job.model_name = "m-" + id;
    job.now = absl::Now();
    job.event = {0, ""};
    const auto created = real_storage_->jobs().CreateJob(job);
    EXPECT_TRUE(created.ok()) << created.status();
    return "jobs/" + id;
  }
  // Whether it was refused for whose the thing is, which the answer then names; it must have been done otherwise.
  static bool Refused(const grpc::Status& status) {
    if (ReasonOf(status) != "NOT_OWNER") {
      EXPECT_TRUE(status.ok()) << ReasonOf(status) << ": " << status.error_message();
      return false;
    }
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    google::rpc::Status rpc;
    rpc.ParseFromString(status.error_details());
    google::rpc::ResourceInfo resource;
    for (const google::protobuf::Any& any : rpc.details()) {
      any.UnpackTo(&resource);
    }
    EXPECT_EQ(resource.owner(), "ada");
    EXPECT_FALSE(resource.resource_name().empty());
    return true;
  }

  // The methods that refuse `caller` on a model of the owner, in the order of the calls.
  std::vector<std::string> RefusedOnModels(const std::string& owner, const std::string& caller);
  std::vector<std::string> RefusedOnJobs(const std::string& owner, const std::string& caller);
  std::vector<std::string> RefusedOnData(const std::string& owner, const std::string& caller);
};

std::vector<std::string> OwnershipApiTest::RefusedOnModels(const std::string& owner,
                                                           const std::string& caller) {
  using Stub = v1::ModelService::Stub;
  std::vector<std::string> refused;
  const auto note = [&](const char* method, const grpc::Status& status) {
    if (Refused(status)) {
      refused.emplace_back(method);
    }
  };
  const std::string id = absl::StrCat("m-", owner, "-by-", caller);
  const std::string name = "models/" + id;
  Train(owner, id);
  Train(owner, id);
  for (const int64_t version : {1, 2}) {
    AliasMove move;
    move.model = id;
    move.alias = "live";
    move.version = version;
    move.now = absl::Now();
    EXPECT_TRUE(real_storage_->models().MoveAlias(move).ok());
  }
  v1::RollbackAliasRequest rollback;
  rollback.set_name(name + "/aliases/live");
  note("ModelService/RollbackAlias", Call(caller, *models_, &Stub::RollbackAlias, rollback));
  v1::SetAliasRequest set;
  set.set_name(name + "/aliases/live");
  note("ModelService/SetAlias", Call(caller, *models_, &Stub::SetAlias, set));
  v1::SetRetentionRequest retention;
  retention.set_name(name);
  retention.set_keep_newest(5);
  note("ModelService/SetRetention", Call(caller, *models_, &Stub::SetRetention, retention));
  retention.set_validate_only(true);
  EXPECT_TRUE(Call(caller, *models_, &Stub::SetRetention, retention).ok()) << "it only looks";
  v1::UpdateModelRequest update_model;
  update_model.mutable_model()->set_name(name);
  update_model.mutable_model()->set_description("changed");
  note("ModelService/UpdateModel", Call(caller, *models_, &Stub::UpdateModel, update_model));
  v1::UpdateModelVersionRequest update;
  update.mutable_model_version()->set_name(name + "/versions/1");
  update.mutable_model_version()->set_description("changed");
  note("ModelService/UpdateModelVersion",
       Call(caller, *models_, &Stub::UpdateModelVersion, update));
  note("TrainingService/Train",
       Call(caller, *training_, &v1::TrainingService::Stub::Train, Training(id)));
  jobs_->WaitUntilIdle();
  v1::GetModelVersionRequest get;
  get.set_name(name);
  v1::ModelVersion model;
  EXPECT_TRUE(Call(caller, *models_, &Stub::GetModelVersion, get, &model).ok()) << "all may look";
  EXPECT_EQ(model.owner(), owner) << "whoever has added a version";
  EXPECT_EQ(model.name(), name + (refused.empty() ? "/versions/3" : "/versions/2"));
  if (!refused.empty()) {
    const AliasMove removal = {id, "live", 0, false, "", "", "", "", absl::Now(), {}};
    EXPECT_TRUE(real_storage_->models().MoveAlias(removal).ok());
  }
  v1::DeleteModelVersionRequest remove_version;
  remove_version.set_name(name + "/versions/1");
  note("ModelService/DeleteModelVersion",
       Call(caller, *models_, &Stub::DeleteModelVersion, remove_version));
  v1::DeleteModelRequest remove;
  remove.set_name(name);
  note("ModelService/DeleteModel", Call(caller, *models_, &Stub::DeleteModel, remove));
  EXPECT_EQ(real_storage_->models().GetModel(id).ok(), !refused.empty());
  return refused;
}

std::vector<std::string> OwnershipApiTest::RefusedOnJobs(const std::string& owner,
                                                         const std::string& caller) {
  using Stub = v1::TrainingService::Stub;
  std::vector<std::string> refused;
  const auto check = [&](const char* method, const std::string& job, const grpc::Status& status) {
    const bool denied = Refused(status);
    v1::GetJobRequest get;
    get.set_name(job);
    v1::Job now;
    EXPECT_TRUE(Call(caller, *training_, &Stub::GetJob, get, &now).ok());
    EXPECT_EQ(now.owner(), owner);
    EXPECT_EQ(now.state(), denied ? v1::JOB_STATE_QUEUED : v1::JOB_STATE_CANCELLED);
    if (denied) {
      refused.emplace_back(method);
    }
  };
  const std::string suffix = absl::StrCat("-", owner, "-by-", caller);
  v1::CancelJobRequest cancel;
  cancel.set_name(AddJob(owner, "c" + suffix));
  check("TrainingService/CancelJob", cancel.name(),
        Call(caller, *training_, &Stub::CancelJob, cancel));
  v1::StopJobRequest stop;
  stop.set_name(AddJob(owner, "s" + suffix));
  check("TrainingService/StopJob", stop.name(), Call(caller, *training_, &Stub::StopJob, stop));
  v1::UpdateJobRequest update;
  update.mutable_job()->set_name(AddJob(owner, "u" + suffix));
  (*update.mutable_job()->mutable_labels())["team"] = "blue";
  const bool stays = Refused(Call(caller, *training_, &Stub::UpdateJob, update));
  const auto labelled = real_storage_->jobs().GetJob("u" + suffix);
  EXPECT_EQ(labelled.ok() && labelled->labels.empty(), stays);
  if (stays) {
    refused.emplace_back("TrainingService/UpdateJob");
  }
  v1::DeleteJobRequest remove;
  remove.set_name(AddJob(owner, "d" + suffix));
  const std::string id = remove.name().substr(remove.name().find('/') + 1);
  EXPECT_TRUE(jobs_->Cancel(id).ok());
  const bool denied = Refused(Call(caller, *training_, &Stub::DeleteJob, remove));
  EXPECT_EQ(real_storage_->jobs().GetJob(id).ok(), denied);
  if (denied) {
    refused.emplace_back("TrainingService/DeleteJob");
  }
  return refused;
}

std::vector<std::string> OwnershipApiTest::RefusedOnData(const std::string& owner,
                                                         const std::string& caller) {
  using Stub = v1::DatasetService::Stub;
  std::vector<std::string> refused;
  const auto note = [&](const char* method, const grpc::Status& status) {
    if (Refused(status)) {
      refused.emplace_back(method);
    }
  };
  const std::string id = absl::StrCat("d-", owner, "-by-", caller);
  Store(owner, id);
  v1::UpdateDatasetRequest update;
  update.mutable_dataset()->set_name("datasets/" + id);
  note("DatasetService/UpdateDataset", Call(caller, *datasets_, &Stub::UpdateDataset, update));
  v1::DeleteDatasetRequest remove;
  remove.set_name("datasets/" + id);
  for (const bool when_unused : {true, false}) {
    remove.set_when_unused(when_unused);
    if (real_storage_->datasets().GetDataset(id).ok()) {
      note("DatasetService/DeleteDataset", Call(caller, *datasets_, &Stub::DeleteDataset, remove));
    }
  }
  EXPECT_EQ(real_storage_->datasets().GetDataset(id).ok(), !refused.empty());
  BeginUpload(owner, id);
  v1::DeleteUploadRequest drop;
  drop.set_name("uploads/" + id);
  drop.set_caller(owner);
  note("DatasetService/DeleteUpload", Call(caller, *datasets_, &Stub::DeleteUpload, drop));
  EXPECT_EQ(context_.uploads->Find(owner, id) != nullptr, !refused.empty());
  return refused;
}

TEST_F(OwnershipApiTest, StrangersAreRefusedEveryChangeAndOthersNone) {
  Serve();
  Store("", "data");
  std::set<std::string> covered;
  for (const std::string owner : {"ada", ""}) {
    for (const std::string caller : {"ada", "bob", kStranger, "root"}) {
      SCOPED_TRACE(absl::StrCat("'", owner, "' by ", caller));
      const std::vector<std::string> models = RefusedOnModels(owner, caller);
      const std::vector<std::string> data = RefusedOnData(owner, caller);
      if (owner == "ada" && caller == kStranger) {
        EXPECT_THAT(models,
                    ElementsAre("ModelService/RollbackAlias", "ModelService/SetAlias",
                                "ModelService/SetRetention", "ModelService/UpdateModel",
                                "ModelService/UpdateModelVersion", "TrainingService/Train",
                                "ModelService/DeleteModelVersion", "ModelService/DeleteModel"));
        EXPECT_THAT(data,
                    ElementsAre("DatasetService/UpdateDataset", "DatasetService/DeleteDataset",
                                "DatasetService/DeleteDataset", "DatasetService/DeleteUpload"));
        for (const auto* methods : {&models, &data}) {
          covered.insert(methods->begin(), methods->end());
        }
      } else {
        EXPECT_THAT(models, ElementsAre());
        EXPECT_THAT(data, ElementsAre());
      }
    }
  }
  jobs_->Drain();
  for (const std::string owner : {"ada", ""}) {
    for (const std::string caller : {"ada", "bob", kStranger, "root"}) {
      SCOPED_TRACE(absl::StrCat("'", owner, "' by ", caller));
      const std::vector<std::string> jobs = RefusedOnJobs(owner, caller);
      if (owner == "ada" && caller == kStranger) {
        EXPECT_THAT(jobs, ElementsAre("TrainingService/CancelJob", "TrainingService/StopJob",
                                      "TrainingService/UpdateJob", "TrainingService/DeleteJob"));
        covered.insert(jobs.begin(), jobs.end());
      } else {
        EXPECT_THAT(jobs, ElementsAre());
      }
    }
  }
  // A new method that changes something must be here; an upload changes nothing that is there, nor do jobs that make no model.
  covered.insert({"DatasetService/UploadDataset", "ModelService/StartEvaluation",
                  "ModelService/StartVerification", "PredictionService/PredictDataset"});
  for (const google::protobuf::ServiceDescriptor* service :
       {v1::Dataset::descriptor()->file()->pool()->FindServiceByName("mercer.v1.DatasetService"),
        v1::Dataset::descriptor()->file()->pool()->FindServiceByName("mercer.v1.ModelService"),
        v1::Dataset::descriptor()->file()->pool()->FindServiceByName("mercer.v1.TrainingService"),
        v1::Dataset::descriptor()->file()->pool()->FindServiceByName(
            "mercer.v1.PredictionService")}) {
    ASSERT_NE(service, nullptr);
    for (int m = 0; m < service->method_count(); ++m) {
      const std::string method = absl::StrCat(service->name(), "/", service->method(m)->name());
      EXPECT_EQ(FindMethodRule(method)->changes, covered.count(method) > 0) << method;
    }
  }
}

TEST_F(OwnershipApiTest, AnUploadOfAnotherIsNeitherGoneOnWithNorTaken) {
  Serve();
  BeginUpload("ada", "u");
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer eve");
  v1::Dataset dataset;
  auto writer = datasets_->UploadDataset(&context, &dataset);
  writer->Write(ResumableHeader("u"));
  v1::UploadDatasetRequest rest;
  rest.mutable_chunk()->set_offset(5);
  rest.mutable_chunk()->set_data(std::string(kContent).substr(5));
  writer->Write(rest);
  writer->WritesDone();
  EXPECT_EQ(ReasonOf(writer->Finish()), "BAD_UPLOAD_OFFSET") << "eve's own has no byte yet";
  v1::GetUploadRequest get;
  get.set_name("uploads/u");
  v1::Upload upload;
  ASSERT_TRUE(Call("ada", *datasets_, &v1::DatasetService::Stub::GetUpload, get, &upload).ok());
  EXPECT_EQ(upload.received_bytes(), 5);
  EXPECT_EQ(upload.caller(), "ada");
}

TEST_F(OwnershipApiTest, WithoutTokensEverybodyMayChangeEverything) {
  environment_.gate = std::make_shared<const Gate>();
  Serve();
  Store("", "data");
  for (const std::string owner : {"ada", "", "anyone"}) {
    EXPECT_THAT(RefusedOnData(owner, "x"), ElementsAre()) << owner;
    EXPECT_THAT(RefusedOnModels(owner, "x"), ElementsAre()) << owner;
  }
  jobs_->Drain();
  for (const std::string owner : {"ada", "", "anyone"}) {
    EXPECT_THAT(RefusedOnJobs(owner, "x"), ElementsAre()) << owner;
  }
}

}  // namespace
}  // namespace mercer::server
