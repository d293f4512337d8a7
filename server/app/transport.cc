#include "server/app/transport.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>

namespace mercer::server {
namespace {

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

// Switches for the whole process, which builders look at when they are made.
void SwitchOnLibraryServices(bool channelz) {
  static std::once_flag once;
  std::call_once(once, [] { grpc::reflection::InitProtoReflectionServerBuilderPlugin(); });
  if (channelz) {
    static std::once_flag channelz_once;
    std::call_once(channelz_once, [] { grpc::channelz::experimental::InitChannelzService(); });
  }
}

void ChooseLibraryServices(const AccessOptions& access, grpc::ServerBuilder& builder) {
  builder.SetOption(std::make_unique<LibraryServices>(access.tokens.empty() || access.reflection,
                                                      access.channelz));
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, access.channelz ? 1 : 0);
}

void SetLimits(const ServerOptions& options, grpc::ServerBuilder& builder) {
  const int message_bytes = static_cast<int>(options.max_message_bytes);
  builder.SetMaxReceiveMessageSize(message_bytes);
  builder.SetMaxSendMessageSize(message_bytes);
  // Three megabytes of gzip become three gigabytes, before anybody has asked who sent them.
  for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    builder.SetCompressionAlgorithmSupportStatus(compression, false);
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  // A client that connects and says nothing, at first or later on.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             Milliseconds(options.access.idle_limit));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Milliseconds(options.access.handshake_limit));
  // Of all connections together: near it the transport reads less, beyond it it drops calls.
  builder.SetResourceQuota(
      grpc::ResourceQuota("mercer").Resize(static_cast<size_t>(ReceiveMemory(options))));
}

void SetKeepAlive(const AccessOptions& access, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(access.ping_interval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(access.ping_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
}

}  // namespace

int64_t ReceiveMemory(const ServerOptions& options) {
  return std::max(kReceiveBytes, 4 * options.max_message_bytes);
}

std::unique_ptr<grpc::ServerBuilder> NewServerBuilder(const ServerOptions& options) {
  SwitchOnLibraryServices(options.access.channelz);
  auto builder = std::make_unique<grpc::ServerBuilder>();
  // A second server on the port fails instead of sharing it.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  SetLimits(options, *builder);
  SetKeepAlive(options.access, *builder);
  ChooseLibraryServices(options.access, *builder);
  return builder;
}

}  // namespace mercer::server
