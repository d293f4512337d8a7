// The connection to a server, and the calls that can be made on it.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>

#include "client/cpp/client.h"
#include "mercer/v1/admin_service.grpc.pb.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/model_service.grpc.pb.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "mercer/v1/server_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"

namespace mercer::client {

struct Client::Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& server);

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::DatasetService::Stub> datasets;
  std::unique_ptr<v1::TrainingService::Stub> training;
  std::unique_ptr<v1::ModelService::Stub> models;
  std::unique_ptr<v1::PredictionService::Stub> predictions;
  std::unique_ptr<v1::AdminService::Stub> admin;
  std::unique_ptr<v1::ServerService::Stub> about;
};

// Connects on first use; a dead peer is noticed within 30 seconds. The channel
// sends the token of `security` with every call; where CheckSecurity refuses that, all calls fail with
// INVALID_ARGUMENT and nothing is sent.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const Security& security = Security());

// 32 hexadecimal digits.
std::string NewRequestId();

}  // namespace mercer::client
