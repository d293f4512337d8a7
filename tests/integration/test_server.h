// A server in this process, on a free port and a folder of its own, with stubs of all services.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/model_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "server/app/server.h"

namespace mercer::server {

class ServerTest : public testing::Test {
 protected:
  ServerTest();
  ~ServerTest() override;

  // Starts the server; the folder stays when it was stopped before.
  void StartServer(const ServerOptions& options = ServerOptions());
  // In order, as SIGTERM does.
  void DrainServer();
  // As a crash: without a word to the jobs.
  void KillServer();

  // A new connection.
  std::shared_ptr<grpc::Channel> Connect() const;

  // Two clouds of points, columns x1..x<columns>, target "label" with the classes 0 and 1.
  static std::string CloudsCsv(int rows, int columns, uint64_t seed);
  // Uploads a CSV with the target "label". `id` may be empty.
  grpc::Status Upload(const std::string& csv, const std::string& id, v1::Dataset* dataset);
  // An lp_mkl request with four Gaussian kernels.
  static v1::TrainRequest MakeRequest(const std::string& dataset);
  // One that runs until it is cancelled.
  static v1::TrainRequest MakeEndlessRequest(const std::string& dataset);
  v1::Job TrainOk(const v1::TrainRequest& request);
  // All events after `after_sequence`, to the end of the stream.
  grpc::Status Stream(const std::string& job, int64_t after_sequence,
                      std::vector<v1::ProgressEvent>* events);
  // Waits for the end by watching.
  v1::Job WaitForEnd(const std::string& job);
  // Waits until the job has begun to run.
  void WaitForStart(const std::string& job);
  // Rows 0, 1, ... of all zeros but for their first column.
  static v1::PredictRequest MakePrediction(const std::string& model, int rows, int columns);
  // Without the pins of what runs at this moment: those of a job go a moment after its end is told.
  size_t FilesIn(const std::string& folder) const;

  std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  std::unique_ptr<v1::ModelService::Stub> models_;
  std::unique_ptr<v1::PredictionService::Stub> prediction_;
};

// The ErrorInfo of an error; empty without one.
google::rpc::ErrorInfo InfoOf(const grpc::Status& status);
// Its reason.
std::string ReasonOf(const grpc::Status& status);
// "field: description" of each violation.
std::vector<std::string> ViolationsOf(const grpc::Status& status);
// Whether the status carries a detail of that type.
template <typename Detail>
bool HasDetail(const grpc::Status& status) {
  google::rpc::Status rpc;
  rpc.ParseFromString(status.error_details());
  for (const google::protobuf::Any& any : rpc.details()) {
    if (any.Is<Detail>()) {
      return true;
    }
  }
  return false;
}

}  // namespace mercer::server
