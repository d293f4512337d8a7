// A server stream that ends at once with an error.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "server/api/rpc.h"

namespace mercer::server {

template <typename Response>
class FailedStream final : public grpc::ServerWriteReactor<Response> {
 public:
  FailedStream(const RpcEnvironment& environment, const grpc::Status& status)
      : tracked_(*environment.calls) {
    this->Finish(status);
  }
  void OnDone() override { delete this; }

 private:
  TrackedCall tracked_;
};

template <typename Response>
grpc::ServerWriteReactor<Response>* FailStream(const RpcEnvironment& environment,
                                               const char* method, const absl::Status& status) {
  // Deletes itself in OnDone, as gRPC asks of reactors.
  return new FailedStream<Response>(environment, CallRecord(environment, method).End(status));
}

}  // namespace mercer::server
