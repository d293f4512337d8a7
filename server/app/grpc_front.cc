#include "server/app/grpc_front.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// The names that health checks may ask for, besides the empty one of the whole server.
constexpr const char* kServices[] = {"mercer.v1.DatasetService", "mercer.v1.TrainingService",
                                     "mercer.v1.ModelService",   "mercer.v1.PredictionService",
                                     "mercer.v1.AdminService",   "mercer.v1.ServerService"};

constexpr int64_t kReceiveBytes = int64_t{512} << 20;
constexpr int kStreamsPerConnection = 1000;

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

// Reflection and channelz for one server; gRPC itself knows only switches for the whole process, and
// switches reflection on when its library is loaded.
class LibraryServices final : public grpc::ServerBuilderOption {
 public:
  LibraryServices(bool reflection, bool channelz) : reflection_(reflection), channelz_(channelz) {}

  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [this](const auto& plugin) {
      return (!reflection_ && plugin->name() == "proto_server_reflection") ||
             (!channelz_ && plugin->name() == "channelz_service");
    });
  }

 private:
  const bool reflection_;
  const bool channelz_;
};

// Counts the calls that gRPC begins: it asks for a context as soon as the headers of a call have
// come. All contexts are its own.
class BeginCounter final : public grpc::ContextAllocator {
 public:
  // `connections` outlives it.
  explicit BeginCounter(ConnectionLoads& connections) : connections_(connections) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    connections_.NoteBegin();
    return nullptr;
  }
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    connections_.NoteBegin();
    return nullptr;
  }

 private:
  ConnectionLoads& connections_;
};

}  // namespace

int64_t ReceiveMemory(const ServerOptions& options) {
  return std::max(kReceiveBytes, 4 * options.max_message_bytes);
}

std::unique_ptr<grpc::ServerBuilder> NewServerBuilder(const ServerOptions& options) {
  const AccessOptions& access = options.access;
  // Switches for the whole process, which builders look at when they are made.
  static std::once_flag reflection;
  std::call_once(reflection, grpc::reflection::InitProtoReflectionServerBuilderPlugin);
  if (access.channelz) {
    static std::once_flag channelz;
    std::call_once(channelz, grpc::channelz::experimental::InitChannelzService);
  }
  auto builder = std::make_unique<grpc::ServerBuilder>();
  builder->SetOption(std::make_unique<LibraryServices>(access.tokens.empty() || access.reflection,
                                                       access.channelz));
  const int message_bytes = static_cast<int>(options.max_message_bytes);
  builder->SetMaxReceiveMessageSize(message_bytes);
  builder->SetMaxSendMessageSize(message_bytes);
  // Three megabytes of gzip become three gigabytes, before anybody has asked who sent them.
  for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    builder->SetCompressionAlgorithmSupportStatus(compression, false);
  }
  // Of all connections together: near it the transport reads less, beyond it it drops calls.
  builder->SetResourceQuota(
      grpc::ResourceQuota("mercer").Resize(static_cast<size_t>(ReceiveMemory(options))));
  const std::pair<const char*, int> arguments[] = {
      // A second server on the port fails instead of sharing it.
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
      {GRPC_ARG_ENABLE_CHANNELZ, access.channelz ? 1 : 0},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection},
      // A client that connects and says nothing, at first or later on.
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(access.handshake_limit)},
      {GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(access.idle_limit)},
      {GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(access.ping_interval)},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(access.ping_timeout)},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000},
  };
  for (const auto& [name, value] : arguments) {
    builder->AddChannelArgument(name, value);
  }
  return builder;
}

GrpcFront::GrpcFront(const RpcEnvironment& environment)
    : health_(environment, {std::begin(kServices), std::end(kServices)}),
      unknown_methods_(environment) {}

absl::StatusOr<std::unique_ptr<GrpcFront>> GrpcFront::Open(
    const ServerOptions& options, const std::shared_ptr<grpc::ServerCredentials>& credentials,
    const RpcEnvironment& environment, const Services& services) {
  auto front = std::unique_ptr<GrpcFront>(new GrpcFront(environment));
  MERCER_ASSIGN_OR_RETURN(
      front->listener_,
      Listener::Open(options.listen, LimitsOfConnections(IsLoopback(options.listen)),
                     *environment.connections, environment.log));
  const std::unique_ptr<grpc::ServerBuilder> builder = NewServerBuilder(options);
  builder->SetContextAllocator(std::make_unique<BeginCounter>(*environment.connections));
  auto acceptor = builder->experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  for (const std::unique_ptr<grpc::Service>& service : services) {
    builder->RegisterService(service.get());
  }
  builder->RegisterService(&front->health_);
  builder->RegisterCallbackGenericService(&front->unknown_methods_);
  front->server_ = builder->BuildAndStart();
  if (front->server_ == nullptr) {
    return absl::InternalError("gRPC cannot start");
  }
  front->listener_->Start(std::move(acceptor));
  front->address_ = absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":",
                                 front->listener_->port());
  return front;
}

GrpcFront::~GrpcFront() { Stop(absl::ZeroDuration()); }

void GrpcFront::BeginDrain() { health_.SetServing(false); }

void GrpcFront::Stop(absl::Duration grace) {
  if (server_ == nullptr) {
    return;
  }
  listener_->Stop();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

}  // namespace mercer::server
