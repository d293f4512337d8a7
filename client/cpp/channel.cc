#include "client/cpp/channel.h"

#include <random>

#include "absl/strings/str_cat.h"
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

namespace mercer::client {
namespace {

constexpr int kMaxMessageBytes = 256 << 20;  // a model in full may be large
// The details of errors travel there. Our server cuts them to gRPC's default of 8 KiB; what else answers on the way may not.
constexpr int kMaxMetadataBytes = 1 << 20;

}  // namespace

Client::Stubs::Stubs(const std::shared_ptr<grpc::Channel>& server)
    : channel(server),
      datasets(v1::DatasetService::NewStub(channel)),
      training(v1::TrainingService::NewStub(channel)),
      models(v1::ModelService::NewStub(channel)),
      predictions(v1::PredictionService::NewStub(channel)),
      admin(v1::AdminService::NewStub(channel)) {}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // watching sends no data
  // Our own delays rule; the channel must not sit out longer ones of its own.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string NewRequestId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(device(), absl::kZeroPad8));
  }
  return id;
}

}  // namespace mercer::client
