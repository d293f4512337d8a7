// A server in this process whose answers a test dictates.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/model_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"

namespace mercer::client {

// A gRPC status with these details.
inline grpc::Status MakeGrpcStatus(grpc::StatusCode code, const std::string& message,
                                   const std::vector<const google::protobuf::Message*>& details) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  for (const google::protobuf::Message* detail : details) {
    status.add_details()->PackFrom(*detail);
  }
  return grpc::Status(code, message, status.SerializeAsString());
}

// What the server does and what it was asked. Calls fail with UNAVAILABLE while `failures` > 0.
struct FakeState {
  std::atomic<int> failures = 0;
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::vector<v1::TrainRequest> trainings;
  std::vector<v1::UploadHeader> uploads;
  std::vector<std::string> uploaded_bytes;  // of each complete upload, parts one after the other
  std::vector<int64_t> watched_after;       // after_sequence of each StreamProgress
  std::vector<v1::PredictHeader> predictions;
  int events_per_stream = 2;  // StreamProgress breaks after this many
  int last_event = 5;
  int batches_per_stream = 1000;
  v1::JobState final_state = v1::JOB_STATE_SUCCEEDED;
  grpc::Status train_status;  // unless OK, the answer of Train

  grpc::Status NextStatus() {
    ++calls;
    if (failures > 0) {
      --failures;
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "try again");
    }
    return grpc::Status::OK;
  }
};

class FakeDatasets : public v1::DatasetService::Service {
 public:
  explicit FakeDatasets(FakeState& state) : state_(state) {}

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

  grpc::Status ListDatasets(grpc::ServerContext*, const v1::ListDatasetsRequest* request,
                            v1::ListDatasetsResponse* response) override {
    const int first = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    for (int i = first; i < std::min(first + 2, 5); ++i) {
      response->add_datasets()->set_name("datasets/d" + std::to_string(i));
    }
    if (first + 2 < 5) {
      response->set_next_page_token(std::to_string(first + 2));
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

  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest* request,
                        v1::Model* model) override {
    model->set_name(request->name());
    return state_.NextStatus();
  }

  grpc::Status ExportModel(grpc::ServerContext*, const v1::ExportModelRequest*,
                           grpc::ServerWriter<v1::ExportModelResponse>* writer) override {
    v1::ExportModelResponse response;
    response.mutable_header()->set_size_bytes(6);
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
  FakeState& state_;
};

class FakePredictions : public v1::PredictionService::Service {
 public:
  explicit FakePredictions(FakeState& state) : state_(state) {}

  // Answers each batch with its first cell; breaks after `batches_per_stream`.
  grpc::Status PredictStream(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::PredictResponse, v1::PredictStreamRequest>* stream) override {
    v1::PredictStreamRequest request;
    stream->Read(&request);
    {
      const std::lock_guard lock(state_.mutex);
      state_.predictions.push_back(request.header());
    }
    for (int batch = 0; stream->Read(&request); ++batch) {
      if (batch == state_.batches_per_stream) {
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
      }
      v1::PredictResponse response;
      response.set_model("models/m/versions/7");
      response.add_outputs("spam");
      const auto& cells = request.rows().columns(0).texts();
      response.mutable_decision_values()->set_rows(cells.values_size());
      response.mutable_decision_values()->set_columns(1);
      for (const std::string& cell : cells.values()) {
        response.add_labels("label " + cell);
        response.mutable_decision_values()->add_values(0.5);
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  FakeState& state_;
};

class FakeServer {
 public:
  FakeServer() : datasets_(state), training_(state), models_(state), predictions_(state) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&datasets_);
    builder.RegisterService(&training_);
    builder.RegisterService(&models_);
    builder.RegisterService(&predictions_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~FakeServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }

  FakeState state;

 private:
  FakeDatasets datasets_;
  FakeTraining training_;
  FakeModels models_;
  FakePredictions predictions_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace mercer::client
