// Services whose calls are functions of handlers.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"

#include "server/rpc/rpc_service.h"

namespace mercer::server {

class HandlerService : public RpcService {
 protected:
  using RpcService::RpcService;

  // `handle` may take a const CallInfo& behind the request, and last a const CancellationToken& when it takes long.
  // `handlers` outlive the service.
  template <typename Handlers, typename Request, typename Response, typename... More>
  void Answer(const char* method, const Handlers& handlers,
              absl::StatusOr<Response> (Handlers::*handle)(const Request&, More...) const) {
    const auto call = [&handlers, handle](const Request& request, More... more) {
      return (handlers.*handle)(request, more...);
    };
    if constexpr ((std::is_same_v<More, const CancellationToken&> || ...)) {
      LongUnary<Request>(method, *environment_.submission, call);
    } else {
      Unary<Request>(method, *environment_.io, call);
    }
  }

  // A call that lasts is a ServerCall, made from these parts, which outlive the service.
  template <typename Reactor, typename... Parts>
  void Open(const char* method, Parts&... parts) {
    Stream(method,
           [this, &parts...](CallRecord call, grpc::CallbackServerContext* client) -> ServerCall* {
             return new Reactor(environment_, parts..., std::move(call), client);
           });
  }
};

}  // namespace mercer::server
