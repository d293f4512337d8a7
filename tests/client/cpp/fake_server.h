// A server in this process whose answers a test dictates.
#pragma once

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/model_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "tests/client/cpp/fake_about.h"
#include "tests/client/cpp/fake_errors.h"
#include "tests/client/cpp/fake_state.h"

namespace mercer::client {

class FakeDatasets : public v1::DatasetService::Service {
 public:
  explicit FakeDatasets(FakeState& state) : state_(state) {}

  grpc::Status UpdateDataset(grpc::ServerContext*, const v1::UpdateDatasetRequest* request,
                             v1::Dataset* dataset) override {
    const std::lock_guard lock(state_.mutex);
    state_.dataset_updates.push_back(*request);
    *dataset = request->dataset();
    return state_.NextStatus();
  }

  grpc::Status UploadDataset(grpc::ServerContext*,
                             grpc::ServerReader<v1::UploadDatasetRequest>* reader,
                             v1::Dataset* dataset) override {
    v1::UploadDatasetRequest request;
    reader->Read(&request);
    const v1::UploadHeader header = request.header();
    {
      const std::lock_guard lock(state_.mutex);
      state_.uploads.push_back(header);
    }
    const grpc::Status status = state_.NextStatus();
    if (!status.ok()) {
      return status;
    }
    std::string bytes;
    while (reader->Read(&request)) {
      bytes += request.chunk().data();
    }
    const std::lock_guard lock(state_.mutex);
    state_.uploaded_bytes.push_back(bytes);
    dataset->set_name("datasets/" + header.dataset_id());
    dataset->set_rows(3);
    return status;
  }

  grpc::Status GetUpload(grpc::ServerContext*, const v1::GetUploadRequest*, v1::Upload*) override {
    return state_.get_upload;
  }

  grpc::Status ListUploads(grpc::ServerContext*, const v1::ListUploadsRequest*,
                           v1::ListUploadsResponse* response) override {
    for (const v1::Upload& upload : state_.unfinished) {
      *response->add_uploads() = upload;
    }
    return state_.NextStatus();
  }

  grpc::Status DeleteUpload(grpc::ServerContext*, const v1::DeleteUploadRequest* request,
                            google::protobuf::Empty*) override {
    state_.dropped_uploads.push_back(request->name());
    return state_.NextStatus();
  }

  grpc::Status ListDatasets(grpc::ServerContext*, const v1::ListDatasetsRequest* request,
                            v1::ListDatasetsResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    state_.dataset_list = *request;
    const size_t first = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    const size_t end = first + std::min<size_t>(2, static_cast<size_t>(request->page_size()));
    for (size_t i = first; i < std::min(end, state_.datasets.size()); ++i) {
      response->add_datasets()->set_name(state_.datasets[i]);
    }
    if (end < state_.datasets.size()) {
      response->set_next_page_token(std::to_string(end));
    }
    return state_.NextStatus();
  }

  grpc::Status DeleteDataset(grpc::ServerContext*, const v1::DeleteDatasetRequest*,
                             google::protobuf::Empty*) override {
    const grpc::Status status = state_.NextStatus();
    return status.ok() ? grpc::Status(grpc::StatusCode::NOT_FOUND, "no such data set") : status;
  }

 private:
  FakeState& state_;
};

class FakeTraining : public v1::TrainingService::Service {
 public:
  explicit FakeTraining(FakeState& state) : state_(state) {}

  grpc::Status Train(grpc::ServerContext*, const v1::TrainRequest* request, v1::Job* job) override {
    {
      const std::lock_guard lock(state_.mutex);
      state_.trainings.push_back(*request);
    }
    job->set_name("jobs/j1");
    const grpc::Status status = state_.NextStatus();
    return status.ok() ? state_.train_status : status;
  }

  grpc::Status UpdateJob(grpc::ServerContext*, const v1::UpdateJobRequest* request,
                         v1::Job* job) override {
    const std::lock_guard lock(state_.mutex);
    state_.job_updates.push_back(*request);
    *job = request->job();
    return state_.NextStatus();
  }

  grpc::Status DeleteJob(grpc::ServerContext*, const v1::DeleteJobRequest* request,
                         google::protobuf::Empty*) override {
    const std::lock_guard lock(state_.mutex);
    state_.deleted_jobs.push_back(request->name());
    return state_.NextStatus();
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::Job* job) override {
    if (request->name() != "jobs/j1") {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no " + request->name());
    }
    job->set_name(request->name());
    job->set_state(state_.final_state);
    job->set_model("models/m/versions/1");
    if (state_.final_state == v1::JOB_STATE_FAILED) {
      job->mutable_error()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
      job->mutable_error()->set_message("only one class");
    }
    return state_.NextStatus();
  }

  // Events after the number asked for; the stream breaks after `events_per_stream`.
  grpc::Status StreamProgress(grpc::ServerContext*, const v1::StreamProgressRequest* request,
                              grpc::ServerWriter<v1::StreamProgressResponse>* writer) override {
    {
      const std::lock_guard lock(state_.mutex);
      state_.watched_after.push_back(request->after_sequence());
    }
    if (state_.says_nothing) {
      return state_.NextStatus();
    }
    int sent = 0;
    for (int64_t i = request->after_sequence() + 1; i <= state_.last_event; ++i, ++sent) {
      if (sent == state_.events_per_stream) {
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
      }
      v1::StreamProgressResponse response;
      response.mutable_event()->set_sequence(i);
      response.mutable_event()->mutable_progress()->set_phase("train");
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse*) override {
    const std::lock_guard lock(state_.mutex);
    state_.job_list = *request;
    return grpc::Status::OK;
  }

  // One job that is there, unless the watch goes on behind 7, and one that comes; then the next of `watch_ends`.
  grpc::Status WatchJobs(grpc::ServerContext*, const v1::WatchJobsRequest* request,
                         grpc::ServerWriter<v1::WatchJobsResponse>* writer) override {
    const std::lock_guard lock(state_.mutex);
    v1::WatchJobsResponse response;
    if (request->after_sequence() != 7) {
      response.mutable_job()->set_name("jobs/old");
      response.mutable_job()->set_state(v1::JOB_STATE_SUCCEEDED);
      response.set_existing(true);
      writer->Write(response);
      response.Clear();
      response.set_existing_sent(true);
      response.set_sequence(6);
      writer->Write(response);
      response.Clear();
    }
    response.mutable_heartbeat()->set_seconds(1);
    response.set_sequence(7);
    writer->Write(response);
    response.Clear();
    response.set_sequence(static_cast<int64_t>(7 + state_.job_watches.size()));
    response.mutable_job()->set_name("jobs/new");
    response.mutable_job()->set_state(v1::JOB_STATE_RUNNING);
    writer->Write(response);
    state_.job_watches.push_back(*request);
    const size_t number = state_.job_watches.size();
    return number <= state_.watch_ends.size()
               ? state_.watch_ends[number - 1]
               : grpc::Status(grpc::StatusCode::ABORTED, "no more of it");
  }

  grpc::Status EstimateCost(grpc::ServerContext*, const v1::EstimateCostRequest* request,
                            v1::EstimateCostResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    state_.trainings.push_back(request->training());
    response->set_memory_bytes(int64_t{3} << 20);
    response->set_memory_budget_bytes(int64_t{1} << 30);
    response->mutable_time()->set_seconds(185);
    response->set_fits(state_.fits);
    response->set_advice(state_.fits ? "" : "less is taken by lp_mkl with approximation=nystrom");
    return state_.train_status;
  }

  grpc::Status ListLearners(grpc::ServerContext*, const v1::ListLearnersRequest*,
                            v1::ListLearnersResponse* response) override {
    v1::LearnerDescription& learner = *response->add_learners();
    learner.set_name("lp_mkl");
    learner.set_title("lp-norm multiple kernel learning");
    learner.set_uses_kernels(true);
    for (const char* name : {"p", "C", "epsilon", "outer_loop"}) {
      learner.add_options()->set_name(name);
    }
    learner.mutable_options(0)->set_range("[1, inf]");
    return state_.NextStatus();
  }

 private:
  FakeState& state_;
};

class FakeModels : public v1::ModelService::Service {
 public:
  explicit FakeModels(FakeState& state) : state_(state) {}

  grpc::Status GetModelVersion(grpc::ServerContext*, const v1::GetModelVersionRequest* request,
                               v1::ModelVersion* model) override {
    const std::vector<std::string>& known = state_.models;
    if (!known.empty() && std::find(known.begin(), known.end(), request->name()) == known.end()) {
      return NotFoundStatus(request->name());
    }
    *model = state_.model;
    model->set_name(request->name());
    return state_.NextStatus();
  }

  grpc::Status EvaluateModel(grpc::ServerContext*, const v1::EvaluateModelRequest* request,
                             v1::EvaluateModelResponse*) override {
    const std::lock_guard lock(state_.mutex);
    state_.evaluations.push_back(*request);
    return state_.NextStatus();
  }

  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest* request,
                          v1::ListModelsResponse* response) override {
    for (const std::string& name : state_.models) {
      response->add_models()->set_name(name);
    }
    return Keep(*request, state_.model_list);
  }

  grpc::Status ListModelVersions(grpc::ServerContext*, const v1::ListModelVersionsRequest* request,
                                 v1::ListModelVersionsResponse* response) override {
    for (const std::string& name : state_.models) {
      response->add_versions()->set_name(name + "/versions/1");
    }
    return Keep(*request, state_.version_list);
  }

  grpc::Status UpdateModel(grpc::ServerContext*, const v1::UpdateModelRequest* request,
                           v1::Model* model) override {
    *model = request->model();
    return Keep(*request, state_.model_update);
  }

  grpc::Status UpdateModelVersion(grpc::ServerContext*,
                                  const v1::UpdateModelVersionRequest* request,
                                  v1::ModelVersion* version) override {
    *version = request->model_version();
    return Keep(*request, state_.version_update);
  }

  grpc::Status DeleteModel(grpc::ServerContext*, const v1::DeleteModelRequest* request,
                           google::protobuf::Empty*) override {
    const std::lock_guard lock(state_.mutex);
    state_.deleted_models.push_back(request->name());
    return state_.NextStatus();
  }

  grpc::Status DeleteModelVersion(grpc::ServerContext*,
                                  const v1::DeleteModelVersionRequest* request,
                                  google::protobuf::Empty*) override {
    const std::lock_guard lock(state_.mutex);
    state_.deleted_models.push_back(request->name());
    return state_.NextStatus();
  }

  grpc::Status ExportModel(grpc::ServerContext*, const v1::ExportModelRequest*,
                           grpc::ServerWriter<v1::ExportModelResponse>* writer) override {
    v1::ExportModelResponse response;
    if (state_.says_nothing) {
      return state_.NextStatus();
    }
    response.mutable_header()->set_size_bytes(6);
    response.mutable_header()->set_digest(state_.export_digest);
    writer->Write(response);
    response.set_chunk("abc");
    writer->Write(response);
    const grpc::Status status = state_.NextStatus();
    if (status.ok()) {
      writer->Write(response);
    }
    return status;
  }

 private:
  template <typename Message>
  grpc::Status Keep(const Message& request, Message& kept) {
    const std::lock_guard lock(state_.mutex);
    kept = request;
    return state_.NextStatus();
  }

  FakeState& state_;
};

class FakePredictions : public v1::PredictionService::Service {
 public:
  explicit FakePredictions(FakeState& state) : state_(state) {}

  // Answers each batch with its first column, or with how many entries its rows have; breaks after
  // `batches_per_stream`.
  grpc::Status PredictStream(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::PredictResponse, v1::PredictStreamRequest>* stream) override {
    v1::PredictStreamRequest request;
    stream->Read(&request);
    {
      const std::lock_guard lock(state_.mutex);
      state_.predictions.push_back(request.header());
    }
    if (state_.says_nothing) {
      return state_.NextStatus();
    }
    for (int batch = 0; stream->Read(&request); ++batch) {
      if (batch == state_.batches_per_stream) {
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
      }
      {
        const std::lock_guard lock(state_.mutex);
        state_.batches.push_back(request.rows());
      }
      const std::vector<std::string> labels = LabelsOf(request.rows());
      const auto bad = std::find(labels.begin(), labels.end(), "bad");
      if (bad != labels.end()) {
        return BadCellStatus(static_cast<int>(bad - labels.begin()) + 1);
      }
      if (labels.size() > state_.rows_per_answer) {
        return AnswerTooLargeStatus();
      }
      stream->Write(Answer(labels));
    }
    return state_.predict_end;
  }

 private:
  static std::vector<std::string> LabelsOf(const v1::Rows& rows) {
    std::vector<std::string> labels;
    if (rows.columns_size() > 0) {
      const auto& cells = rows.columns(0).texts().values();
      labels.assign(cells.begin(), cells.end());
    } else if (rows.sparse_size() > 0) {
      const auto& starts = rows.sparse(0).row_starts();
      for (int r = 0; r + 1 < starts.size(); ++r) {
        labels.push_back(std::to_string(starts[r + 1] - starts[r]));
      }
    } else {
      labels.assign(static_cast<size_t>(rows.squares(0).values().rows()), "square");
    }
    return labels;
  }

  static v1::PredictResponse Answer(const std::vector<std::string>& labels) {
    v1::PredictResponse response;
    response.set_model("models/m/versions/7");
    response.add_outputs("spam");
    response.mutable_decision_values()->set_rows(static_cast<int64_t>(labels.size()));
    response.mutable_decision_values()->set_columns(1);
    for (const std::string& label : labels) {
      response.add_labels("label " + label);
      response.mutable_decision_values()->add_values(0.5);
    }
    return response;
  }

  FakeState& state_;
};

class FakeServer {
 public:
  explicit FakeServer(const std::string& address = "127.0.0.1:0")
      : datasets_(state), training_(state), models_(state), predictions_(state) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.SetMaxReceiveMessageSize(64 << 20);  // as the server has it
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&datasets_);
    builder.RegisterService(&training_);
    builder.RegisterService(&models_);
    builder.RegisterService(&predictions_);
    builder.RegisterService(&about_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~FakeServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }
  void SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

  FakeState state;

 private:
  FakeDatasets datasets_;
  FakeTraining training_;
  FakeModels models_;
  FakePredictions predictions_;
  FakeAbout about_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace mercer::client
