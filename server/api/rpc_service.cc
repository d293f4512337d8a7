#include "server/api/rpc_service.h"

#include "absl/strings/str_cat.h"
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

namespace mercer::server {

// As the code that protoc generates does it for methods whose messages are bytes.
void RpcService::Register(const char* method,
                          std::function<RawReactor*(grpc::CallbackServerContext*)> get_reactor) {
  const std::string& path = paths_.emplace_back(absl::StrCat("/mercer.v1.", method));
  AddMethod(new grpc::internal::RpcServiceMethod(
      path.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1,
                        new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                            std::move(get_reactor)));
}

}  // namespace mercer::server
