#include "server/rpc/rpc_service.h"

#include "absl/strings/str_cat.h"
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

namespace mercer::server {

// As the code that protoc generates does it for methods whose messages are bytes.
void RpcService::Register(std::string path,
                          std::function<ServerCall*(grpc::CallbackServerContext*)> get_reactor) {
  // Before anything that may find no memory: a call that is not counted again would wait for ever.
  auto count_and_get = [this, get = std::move(get_reactor)](grpc::CallbackServerContext* context) {
    environment_.connections->NoteArrival();
    return get(context);
  };
  paths_.push_back(std::move(path));
  AddMethod(new grpc::internal::RpcServiceMethod(
      paths_.back().c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1,
                        new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                            std::move(count_and_get)));
}

std::string RpcService::PathOf(const char* method) { return absl::StrCat("/mercer.v1.", method); }

grpc::ServerGenericBidiReactor* UnknownMethods::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  environment_.connections->NoteArrival();
  return new RefusedCall(environment_, context,
                         {grpc::StatusCode::UNIMPLEMENTED, "the server has no such method"});
}

}  // namespace mercer::server
