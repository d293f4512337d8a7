// ServerService over gRPC.
#include "mercer/v1/server_service.pb.h"
#include "server/api/services.h"
#include "server/rpc/rpc_service.h"

namespace mercer::server {
namespace {

class ServerRpcs final : public RpcService {
 public:
  ServerRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : RpcService(environment) {
    Unary<v1::GetServerInfoRequest>("ServerService/GetServerInfo", *environment.io,
                                    [&context](const auto&) { return InfoOf(context); });
  }

 private:
  static absl::StatusOr<v1::ServerInfo> InfoOf(const ApiContext& context) {
    v1::ServerInfo info = context.about;
    v1::ServerLimits& limits = *info.mutable_limits();
    limits.set_message_bytes(context.limits.message_bytes);
    limits.set_dataset_bytes(context.limits.dataset_bytes.Get());
    limits.set_stored_bytes(context.limits.stored_bytes.Get());
    limits.set_upload_space_bytes(context.limits.upload_space_bytes.Get());
    limits.set_upload_space_per_caller_bytes(context.limits.caller_upload_bytes.Get());
    return info;
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeServerService(const RpcEnvironment& environment,
                                                 const ApiContext& context) {
  return std::make_unique<ServerRpcs>(environment, context);
}

}  // namespace mercer::server
