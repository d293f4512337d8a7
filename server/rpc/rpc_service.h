// The RPCs of a service, each with what answers it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/codegen/service_type.h>

#include "core/base/process/cancellation.h"
#include "core/base/status/errors.h"
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
  using Response = Handled<Request, Handler>;

  void Begin() override {
    PostOrEnd(executor_, [this] {
      FinishWith(*this, response_, AnswerUnary(call_, *context_, request_, &response_, handler_),
                 bytes_);
    });
  }
  // It ends soon by itself.
  void EndForDrain() override {}
  void CancelForDrain() override {}

  Executor& executor_;
  const Handler& handler_;
  Request request_;
  Response response_;
};

// An RPC with one answer that may run for long. It ends soon after its client has gone, its token is admitted no longer, or a drain
// waits for it no longer. Answered once: by its work, or, while that waits for a thread, by what ends the call. Deletes itself.
template <typename Request, typename Handler>
class CancellableUnary final : public RequestCall {
 public:
  // `handler` (see RpcService::LongUnary) runs on `executor`; both outlive it.
  CancellableUnary(const RpcEnvironment& environment, CallRecord call,
                   grpc::CallbackServerContext* context, Executor& executor, const Handler& handler)
      : RequestCall(environment, std::move(call), context, request_),
        executor_(executor),
        handler_(handler) {}

  void OnCancel() override { EndSoon(); }

 private:
  using Response = Handled<Request, Handler, CancellationToken>;

  // Asked by those that may come when the call has gone.
  struct Turn {
    std::atomic<bool> is_posted{false};  // from then on, whoever takes the work ends the call
    std::atomic<bool> is_taken{false};
    std::atomic<bool> shall_end{false};  // without waiting for a thread
  };

  // What Post throws ends the call, as nobody else can have ended it by then.
  void Begin() override {
    const std::shared_ptr<Turn> turn = turn_;  // the call may have gone before Post returns
    executor_.Post([this, turn] {
      if (!turn->is_taken.exchange(true)) {
        Work();
      }
    });
    turn->is_posted = true;
    if (turn->shall_end && !turn->is_taken.exchange(true)) {
      Work();  // ends at once now
    }
  }

  void EndForDrain() override {}
  void CancelForDrain() override { EndSoon(); }

  void EndSoon() {
    cancellation_.Cancel();
    turn_->shall_end = true;
    if (turn_->is_posted && !turn_->is_taken.exchange(true)) {
      Work();
    }
  }

  void Work() {
    const auto work = [this](const Request& request) { return Answer(request); };
    FinishWith(*this, response_, AnswerUnary(call_, *context_, request_, &response_, work), bytes_);
  }

  absl::StatusOr<Response> Answer(const Request& request) {
    absl::StatusOr<Response> answer = absl::CancelledError("ended before the work began");
    if (!cancellation_.cancelled()) {
      answer = Handle(call_, request, handler_, cancellation_);
    }
    if (!absl::IsCancelled(answer.status())) {
      return answer;
    }
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    MERCER_RETURN_IF_ERROR(call_.CheckCaller());
    return WithReason(answer.status(), "CALL_CANCELLED");
  }

  Executor& executor_;
  const Handler& handler_;
  const CancellationToken cancellation_;
  const std::shared_ptr<Turn> turn_ = std::make_shared<Turn>();
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

  // `handle`, a function of `handlers`, which outlive the service, may take a const CallInfo& behind the request, and last a
  // const CancellationToken& when it takes long.
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
