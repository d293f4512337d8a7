// One connection to one life of a server: the client library, and the bare stubs for what the library does not do.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {

// Thread-safe. Nothing is tried twice.
struct Connection {
  explicit Connection(const std::string& address) : client(OneTry(address)) {
    const std::shared_ptr<grpc::Channel> channel = client::MakeChannel(address);
    datasets = v1::DatasetService::NewStub(channel);
    training = v1::TrainingService::NewStub(channel);
    models = v1::ModelService::NewStub(channel);
    predictions = v1::PredictionService::NewStub(channel);
  }

  client::Client client;
  std::unique_ptr<v1::DatasetService::Stub> datasets;
  std::unique_ptr<v1::TrainingService::Stub> training;
  std::unique_ptr<v1::ModelService::Stub> models;
  std::unique_ptr<v1::PredictionService::Stub> predictions;
  // The server was told to end: calls that it does not wait for any longer are CANCELLED.
  std::atomic<bool> draining = false;
};

}  // namespace mercer::server
