#include "client/cpp/channel.h"

#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

namespace mercer::client {
namespace {

constexpr int kMaxMessageBytes = 256 << 20;  // a model in full may be large
// The details of errors travel there. Our server cuts them to gRPC's default of 8 KiB; what else answers on the way may not.
constexpr int kMaxMetadataBytes = 1 << 20;

// Adds the token to each call, whoever makes it.
class TokenInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit TokenInterceptor(const std::string& header) : header_(header) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", header_);
    }
    methods->Proceed();
  }

 private:
  const std::string& header_;
};

class TokenInterceptorFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenInterceptorFactory(const std::string& token)
      : header_(absl::StrCat("Bearer ", token)) {}

  // gRPC deletes it before the channel, which holds this factory.
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new TokenInterceptor(header_);
  }

 private:
  const std::string header_;
};

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const Security& security) {
  if (!security.tls) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = security.authorities;
  options.pem_cert_chain = security.certificate;
  options.pem_private_key = security.key;
  return grpc::SslCredentials(options);
}

}  // namespace

Client::Stubs::Stubs(const std::shared_ptr<grpc::Channel>& server)
    : channel(server),
      datasets(v1::DatasetService::NewStub(channel)),
      training(v1::TrainingService::NewStub(channel)),
      models(v1::ModelService::NewStub(channel)),
      predictions(v1::PredictionService::NewStub(channel)),
      admin(v1::AdminService::NewStub(channel)),
      about(v1::ServerService::NewStub(channel)) {}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const Security& security) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // watching sends no data
  // Our own delays rule; the channel must not sit out longer ones of its own.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // What a connection may take to be made, in spite of the name: far away, over TLS or on a busy machine these are seconds.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!security.server_name.empty()) {
    arguments.SetSslTargetNameOverride(security.server_name);
  }
  if (security.token.empty()) {
    return grpc::CreateCustomChannel(address, CredentialsOf(security), arguments);
  }
  // Without credentials gRPC makes a channel on which every call fails.
  const auto credentials =
      CheckSecurity(address, security).ok() ? CredentialsOf(security) : nullptr;
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<TokenInterceptorFactory>(security.token));
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, credentials, arguments,
                                                                 std::move(interceptors));
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
