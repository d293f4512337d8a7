// Streams begin behind the door: the only way to a CallRecord leads through it.
#pragma once

#include <optional>
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "server/api/rpc.h"

namespace mercer::server {

// A stream of any kind (`Base`: grpc::ServerWriteReactor<...> and so on) that ends at once.
template <typename Base>
class EndedStream final : public Base {
 public:
  EndedStream(const RpcEnvironment& environment, const grpc::Status& status)
      : tracked_(*environment.calls) {
    this->Finish(status);
  }
  void OnDone() override { delete this; }

 private:
  TrackedCall tracked_;
};

// What a service answers with for the streaming RPC `method`: the reactor that `make`, a
// Base*(CallRecord), makes for an admitted call. The reactor keeps the record to its end. Nothing is read
// of a call that the door refuses, and one whose token is revoked or expires is ended within two
// heartbeats.
template <typename Base, typename Make>
Base* OpenStream(const RpcEnvironment& environment, grpc::CallbackServerContext* context,
                 const char* method, const Make& make) {
  grpc::Status refusal;
  std::optional<CallRecord> call = CallRecord::Admit(environment, *context, method, &refusal);
  if (!call.has_value()) {
    // Deletes itself in OnDone, as gRPC asks of reactors.
    return new EndedStream<Base>(environment, refusal);
  }
  call->WatchCaller();
  return make(*std::move(call));
}

// For `make` when the request is bad.
template <typename Base>
Base* FailStream(const RpcEnvironment& environment, CallRecord call, const absl::Status& status) {
  return new EndedStream<Base>(environment, call.End(status));
}

}  // namespace mercer::server
