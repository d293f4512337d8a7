// A server in this process, clients that reach it over a network that fails, and clients beside that network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "client/cpp/client.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "server/app/server.h"
#include "tests/support/server/network_proxy.h"

namespace mercer::server {

// Far above what a drain of an idle server takes, far below the five seconds that it grants to calls.
inline constexpr absl::Duration kDrainAtOnce = absl::Seconds(3);

// The stubs of one connection of its own.
struct Stubs {
  explicit Stubs(const std::string& address);

  std::unique_ptr<v1::DatasetService::Stub> datasets;
  std::unique_ptr<v1::TrainingService::Stub> training;
  std::unique_ptr<v1::PredictionService::Stub> prediction;
};

// A client that makes attempt after attempt, in quick succession.
client::ClientOptions Patient(const std::string& address);
// Nothing is tried twice.
client::ClientOptions OnlyOnce(const std::string& address);

// "x1,..,x4,label": two clouds of points.
std::string CloudsCsv(int rows);
v1::UploadHeader CsvHeader(const std::string& id);
// lp-norm multiple kernel learning on "datasets/clouds" with four Gaussian kernels, in `folds` folds.
v1::TrainRequest CloudsRequest(int folds);
// One that runs until it is cancelled.
v1::TrainRequest EndlessRequest();
// False when `condition` has not become true within a minute; for what nobody tells.
bool WaitFor(const std::function<bool()>& condition);
// All events of a job, to its end, without a network in between.
std::vector<v1::ProgressEvent> EventsOf(const std::string& address, const std::string& job);

class NetworkTest : public testing::Test {
 protected:
  NetworkTest();
  ~NetworkTest() override;

  // With options_; `network_` leads to it.
  void Start(NetworkProxy::Planner planner = {});
  // Uploads "datasets/clouds".
  void UploadClouds(int rows);
  // A trained model of the clouds.
  std::string TrainModel();
  // Until the job runs.
  void WaitForStart(const std::string& job);
  size_t FilesIn(const std::string& folder) const { return SizesOfFiles(folder).size(); }
  int64_t BytesIn(const std::string& folder) const;
  absl::Duration TimeToDrain();

  ServerOptions options_;
  std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<client::Client> direct_;
  std::unique_ptr<NetworkProxy> network_;

 private:
  std::vector<int64_t> SizesOfFiles(const std::string& folder) const;
};

}  // namespace mercer::server
