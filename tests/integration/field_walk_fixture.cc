#include "tests/integration/field_walk_fixture.h"

#include "absl/strings/str_cat.h"

#include "server/digest/sha256.h"

namespace mercer::server {
namespace {

constexpr char kModel[] = "models/clouds";
constexpr char kLiveAlias[] = "models/clouds/aliases/live";

v1::SetAliasRequest AliasMove(const std::string& name, int version) {
  v1::SetAliasRequest request;
  request.set_name(name);
  request.set_version(absl::StrCat(kModel, "/versions/", version));
  return request;
}

// The server decides its lambda, and says so.
v1::TrainRequest OpenRequest() {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.mutable_learner()->mutable_infinite_features();
  request.mutable_validation()->mutable_hold_out()->set_fraction(0.25);
  request.mutable_stopping()->set_max_iterations(2);
  return request;
}

// What of a job stays while it waits or runs.
std::string LineOf(const v1::Job& job) {
  return absl::StrCat(job.name(), " ", v1::JobState_Name(job.state()), " ", job.display_name(),
                      "\n");
}

}  // namespace

void FieldWalkTest::SetUp() {
  ServerOptions options;
  options.workers = 1;
  options.threads = 1;
  options.heartbeat = absl::Milliseconds(20);
  options.checkpoint_interval = absl::Hours(1);
  StartServer(options);
  EnsureDataset("clouds");
  EnsureDataset("small");
  SpareVersion("models/other");
  SpareVersion();
  SpareVersion();
  EXPECT_GT(VersionOf(OpenRequest(), "models/open").request().decisions_size(), 0);
  EnsureAliases();
}

void FieldWalkTest::EnsureDataset(const std::string& id) {
  grpc::ClientContext context;
  v1::GetDatasetRequest request;
  request.set_name("datasets/" + id);
  v1::Dataset dataset;
  if (!datasets_->GetDataset(&context, request, &dataset).ok()) {
    ASSERT_TRUE(Upload(CloudsCsv(40, 2, 1), id, &dataset).ok());
  }
}

void FieldWalkTest::EnsureUpload(const std::string& id) {
  grpc::ClientContext context;
  v1::Dataset ignored;
  auto writer = datasets_->UploadDataset(&context, &ignored);
  v1::UploadDatasetRequest message;
  v1::UploadHeader& header = *message.mutable_header();
  header.set_upload_id(id);
  header.add_parts()->mutable_csv();
  header.set_sha256(Sha256Hex("of something else"));
  header.set_total_bytes(1000);
  writer->Write(message);
  message.mutable_chunk()->set_data("x1,x2\n1,2\n");
  message.mutable_chunk()->set_offset(0);
  writer->Write(message);
  writer->WritesDone();
  EXPECT_EQ(ReasonOf(writer->Finish()), "BAD_SIZE");
}

std::string FieldWalkTest::SpareVersion(const std::string& model) {
  return VersionOf(MakeRequest("datasets/clouds"), model).model();
}

v1::Job FieldWalkTest::VersionOf(v1::TrainRequest request, const std::string& model) {
  request.set_model(model);
  (*request.mutable_labels())["team"] = "green";
  v1::Job job = WaitForEnd(TrainOk(request).name());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.reason();
  finished_job_ = job.name();
  return job;
}

void FieldWalkTest::EnsureAliases() {
  v1::Alias alias;
  Call(*models_, &v1::ModelService::Stub::SetAlias, AliasMove(kLiveAlias, 1), &alias);
  Call(*models_, &v1::ModelService::Stub::SetAlias, AliasMove(kLiveAlias, 2), &alias);
  Call(*models_, &v1::ModelService::Stub::SetAlias, AliasMove("models/clouds/aliases/next", 1),
       &alias);
}

std::string FieldWalkTest::EtagOf(const std::string& name) {
  v1::GetAliasRequest request;
  request.set_name(name);
  v1::Alias alias;
  Call(*models_, &v1::ModelService::Stub::GetAlias, request, &alias);
  return alias.etag();
}

void FieldWalkTest::BlockWorker() {
  if (blocking_job_.empty()) {
    v1::Dataset dataset;
    // So many rows that no machine reaches the end of its precision before the walk is over.
    ASSERT_TRUE(Upload(CloudsCsv(3000, 3, 1), "large", &dataset).ok());
    blocking_job_ = TrainOk(MakeEndlessRequest("datasets/large")).name();
    WaitForStart(blocking_job_);
  }
}

std::string FieldWalkTest::WaitingJob() {
  BlockWorker();
  if (!waiting_job_.empty()) {
    v1::GetJobRequest request;
    request.set_name(waiting_job_);
    v1::Job job;
    Call(*training_, &v1::TrainingService::Stub::GetJob, request, &job);
    if (job.state() == v1::JOB_STATE_QUEUED) {
      return waiting_job_;
    }
  }
  return waiting_job_ = TrainOk(MakeRequest("datasets/clouds")).name();
}

void FieldWalkTest::CancelWaitingJobs() {
  v1::ListJobsRequest waiting;
  waiting.add_states(v1::JOB_STATE_QUEUED);
  v1::ListJobsResponse jobs;
  Call(*training_, &v1::TrainingService::Stub::ListJobs, waiting, &jobs);
  for (const v1::Job& job : jobs.jobs()) {
    v1::CancelJobRequest request;
    request.set_name(job.name());
    grpc::ClientContext context;
    v1::Job cancelled;
    // One that a worker has taken since the list was made may have ended; that of a call which has ended is deleted.
    const grpc::Status status = training_->CancelJob(&context, request, &cancelled);
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
                status.error_code() == grpc::StatusCode::NOT_FOUND)
        << status.error_message();
  }
}

void FieldWalkTest::FinishOtherJobs() {
  v1::ListJobsRequest open_jobs;
  for (const v1::JobKind kind :
       {v1::JOB_KIND_PREDICTION, v1::JOB_KIND_EVALUATION, v1::JOB_KIND_VERIFICATION}) {
    open_jobs.add_kinds(kind);
  }
  for (const v1::JobState open : {v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING}) {
    open_jobs.add_states(open);
  }
  v1::ListJobsResponse jobs;
  do {
    jobs.Clear();
    Call(*training_, &v1::TrainingService::Stub::ListJobs, open_jobs, &jobs);
  } while (!jobs.jobs().empty());
  DropUploadedDatasets();
}

std::string FieldWalkTest::CancelledJob() {
  BlockWorker();
  const std::string job = TrainOk(MakeRequest("datasets/clouds")).name();
  CancelWaitingJobs();
  return job;
}

void FieldWalkTest::DropUpload(const std::string& id) {
  grpc::ClientContext context;
  v1::DeleteUploadRequest request;
  request.set_name("uploads/" + id);
  google::protobuf::Empty nothing;
  const grpc::Status status = datasets_->DeleteUpload(&context, request, &nothing);
  EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND)
      << status.error_message();
}

void FieldWalkTest::DropUploadedDatasets() {
  v1::ListDatasetsResponse all;
  Call(*datasets_, &v1::DatasetService::Stub::ListDatasets, v1::ListDatasetsRequest(), &all);
  for (const v1::Dataset& dataset : all.datasets()) {
    if (dataset.name() != "datasets/clouds" && dataset.name() != "datasets/small") {
      v1::DeleteDatasetRequest request;
      request.set_name(dataset.name());
      google::protobuf::Empty nothing;
      Call(*datasets_, &v1::DatasetService::Stub::DeleteDataset, request, &nothing);
    }
  }
}

std::string FieldWalkTest::StoredState() {
  std::string state;
  v1::ListJobsRequest open_jobs;
  open_jobs.set_page_size(1000);
  for (const v1::JobState open :
       {v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING, v1::JOB_STATE_CANCELLING}) {
    open_jobs.add_states(open);
  }
  v1::ListJobsResponse jobs;
  Call(*training_, &v1::TrainingService::Stub::ListJobs, open_jobs, &jobs);
  for (const v1::Job& job : jobs.jobs()) {
    state += LineOf(job);
  }
  v1::ListDatasetsRequest all_datasets;
  all_datasets.set_page_size(1000);
  v1::ListDatasetsResponse datasets;
  Call(*datasets_, &v1::DatasetService::Stub::ListDatasets, all_datasets, &datasets);
  for (const v1::Dataset& dataset : datasets.datasets()) {
    absl::StrAppend(&state, dataset.name(), " ", dataset.display_name(), "\n");
  }
  v1::ListModelVersionsRequest versions;
  versions.set_model(kModel);
  v1::ListModelVersionsResponse models;
  Call(*models_, &v1::ModelService::Stub::ListModelVersions, versions, &models);
  for (const v1::ModelVersion& model : models.versions()) {
    absl::StrAppend(&state, model.ShortDebugString(), "\n");
  }
  v1::ListAliasesRequest of_model;
  of_model.set_model(kModel);
  v1::ListAliasesResponse aliases;
  Call(*models_, &v1::ModelService::Stub::ListAliases, of_model, &aliases);
  absl::StrAppend(&state, aliases.ShortDebugString(), "\n");
  v1::GetModelRequest whole;
  whole.set_name(kModel);
  v1::Model model;
  Call(*models_, &v1::ModelService::Stub::GetModel, whole, &model);
  return absl::StrCat(state, model.ShortDebugString(), " files: ", FilesIn("blobs"), " ",
                      FilesIn("uploads"));
}

}  // namespace mercer::server
