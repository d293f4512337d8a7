// What the server of client tests is told to do, and what it was asked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "tests/client/cpp/fake_about.h"

namespace mercer::client {

// What the server does and what it was asked. Calls fail with UNAVAILABLE while `failures` > 0.
struct FakeState {
  std::atomic<int> failures = 0, calls = 0;
  std::mutex mutex;
  std::vector<v1::TrainRequest> trainings;
  std::vector<v1::UploadHeader> uploads;
  std::vector<std::string> uploaded_bytes;  // of each complete upload, parts one after the other
  std::vector<int64_t> watched_after;       // after_sequence of each StreamProgress
  std::vector<v1::WatchJobsRequest> job_watches;
  v1::ListJobsRequest job_list;  // the newest, as the two that follow
  v1::ListModelsRequest model_list;
  v1::ListModelVersionsRequest version_list;
  v1::UpdateModelRequest model_update;
  v1::UpdateModelVersionRequest version_update;
  v1::ListDatasetsRequest dataset_list;
  std::vector<grpc::Status> watch_ends;  // of WatchJobs, one after the other; then ABORTED
  std::vector<v1::PredictHeader> predictions;
  std::vector<v1::EvaluateModelRequest> evaluations;
  std::vector<v1::Rows> batches;  // of all predictions
  int events_per_stream = 2;      // StreamProgress breaks after this many
  int last_event = 5;
  int batches_per_stream = 1000;
  size_t rows_per_answer = 1'000'000;  // the answer to more is too large
  v1::JobState final_state = v1::JOB_STATE_SUCCEEDED;
  std::vector<v1::Upload> unfinished;
  std::vector<std::string> dropped_uploads;
  grpc::Status get_upload{grpc::StatusCode::UNIMPLEMENTED, "no such call"};  // its answer
  grpc::Status train_status;  // unless OK, the answer of Train
  bool fits = true;           // into the memory that EstimateCost answers
  grpc::Status failure{grpc::StatusCode::UNAVAILABLE, "try again"};  // while `failures` > 0
  grpc::Status predict_end;   // the end of a PredictStream whose rows are all answered
  bool says_nothing = false;  // calls are accepted and not answered before Release()
  std::string export_digest = kSha256OfAbcabc;
  std::vector<std::string> datasets = {"datasets/d0", "datasets/d1", "datasets/d2", "datasets/d3",
                                       "datasets/d4"};
  std::vector<std::string> models;  // that exist; empty: all do
  std::vector<std::string> deleted_models, deleted_jobs;
  std::vector<v1::UpdateJobRequest> job_updates;
  std::vector<v1::UpdateDatasetRequest> dataset_updates;
  v1::ModelVersion model;  // what GetModelVersion answers, with the name asked for

  // sha256sum of "abcabc".
  static constexpr char kSha256OfAbcabc[] =
      "bbb59da3af939f7af5f360f2ceb80a496e3bae1cd87dde426db0ae40677e1c2c";

  grpc::Status NextStatus() {
    ++calls;
    if (says_nothing) {
      released_.wait();
    }
    if (failures > 0) {
      --failures;
      return failure;
    }
    return grpc::Status::OK;
  }

  // Lets calls go on that wait because the server says nothing.
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

}  // namespace mercer::client
