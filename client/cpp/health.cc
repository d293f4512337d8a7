// gRPC's health protocol: Debian's gRPC serves it and has no stub for it.
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {

absl::Status Client::CheckHealth() {
  constexpr int kServing = 1;
  // On the wire a request for all services is an empty message, and the answer is one number in the field 1.
  const google::protobuf::Empty request;
  google::protobuf::Int32Value answer;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check",
                                         grpc::internal::RpcMethod::NORMAL_RPC, stubs_->channel);
  MERCER_RETURN_IF_ERROR(StatusOfCall(
      grpc::internal::BlockingUnaryCall<google::protobuf::Empty, google::protobuf::Int32Value>(
          stubs_->channel.get(), method, &context, request, &answer)));
  return answer.value() == kServing ? absl::OkStatus()
                                    : absl::UnavailableError("the server is not serving");
}

}  // namespace mercer::client
