// The RPCs of a service, each with what answers it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/codegen/service_type.h>

#include "server/rpc/long_unary.h"
#include "server/rpc/request_call.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// An RPC with one answer, which a handler finds soon. Deletes itself.
template <typename Request, typename Handler>
class ShortUnary final : public RequestCall {
 public:
  ShortUnary(const RpcEnvironment& environment, CallRecord call,
             grpc::CallbackServerContext* context, Executor& executor, const Handler& handler)
      : RequestCall(environment, std::move(call), context, request_),
        executor_(executor),
        handler_(handler) {}

 private:
  using Response =
      typename decltype(Handle(std::declval<const CallRecord&>(), std::declval<const Request&>(),
                               std::declval<const Handler&>()))::value_type;

  void Begin() override {
    PostOrEnd(executor_, [this] {
      FinishWith(*this, response_, AnswerUnary(call_, *context_, request_, &response_, handler_),
                 bytes_);
    });
  }

  Executor& executor_;
  const Handler& handler_;
  Request request_;
  Response response_;
};

// Registers each RPC by its name, such as "TrainingService/Train". Handlers are kept.
class RpcService : public grpc::Service {
 protected:
  // `environment` outlives it.
  explicit RpcService(const RpcEnvironment& environment) : environment_(environment) {}

  // `handler`: an absl::StatusOr<Response>(const Request&), or one that takes a const CallInfo& too. It runs on `executor`.
  template <typename Request, typename Handler>
  void Unary(const char* method, Executor& executor, Handler handler) {
    Call(method,
         [this, &executor, handler = std::move(handler)](
             CallRecord call, grpc::CallbackServerContext* context) -> ServerCall* {
           return new ShortUnary<Request, Handler>(environment_, std::move(call), context, executor,
                                                   handler);
         });
  }

  // `handler`: an absl::StatusOr<Response>(const Request&, const CancellationToken&), or one that takes a const CallInfo&
  // between them. It may take long.
  template <typename Request, typename Handler>
  void LongUnary(const char* method, Executor& executor, Handler handler) {
    Stream(method,
           [this, &executor, handler = std::move(handler)](
               CallRecord call, grpc::CallbackServerContext* context) -> ServerCall* {
             return new CancellableUnary<Request, Handler>(environment_, std::move(call), context,
                                                           executor, handler);
           });
  }

  // A call that may last: one whose token is revoked or expires is ended within two heartbeats.
  template <typename Open>
  void Stream(const char* method, Open open) {
    Call(method, [open = std::move(open)](CallRecord call, grpc::CallbackServerContext* context) {
      call.WatchCaller();
      return open(std::move(call), context);
    });
  }

  // `open` makes the reactor of an admitted call, which keeps the record to its end.
  template <typename Open>
  void Call(const char* method, Open open) {
    Register(PathOf(method),
             [this, method,
              open = std::move(open)](grpc::CallbackServerContext* context) -> ServerCall* {
               grpc::Status refusal;
               std::optional<CallRecord> call =
                   CallRecord::Admit(environment_, *context, method, &refusal);
               if (!call.has_value()) {
                 // Deletes itself in OnDone, as gRPC asks of reactors.
                 return new RefusedCall(environment_, context, refusal);
               }
               return open(*std::move(call), context);
             });
  }

  // Any call of `path`, "/package.Service/Method".
  void Register(std::string path,
                std::function<ServerCall*(grpc::CallbackServerContext*)> get_reactor);

  const RpcEnvironment& environment_;

 private:
  static std::string PathOf(const char* method);

  std::deque<std::string> paths_;  // gRPC keeps pointers to them
};

// All calls of methods that no service has.
class UnknownMethods final : public grpc::CallbackGenericService {
 public:
  // `environment` outlives it.
  explicit UnknownMethods(const RpcEnvironment& environment) : environment_(environment) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  const RpcEnvironment& environment_;
};

}  // namespace mercer::server
