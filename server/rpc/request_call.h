// Calls behind the door: the only way to a CallRecord leads through it, and nothing is read before.
#pragma once

#include <atomic>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/jobs/executor.h"
#include "server/rpc/connection_load.h"
#include "server/rpc/request_intake.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// Every RPC is a stream of bytes both ways to gRPC, which would otherwise read and parse the request of a unary call before
// anybody has asked who sends it. Deletes itself.
class ServerCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  void OnDone() final;
  void StartWriteAndFinish(const grpc::ByteBuffer* bytes, const grpc::Status& status);
  void Finish(const grpc::Status& status);

 protected:
  // Both outlive it.
  ServerCall(const RpcEnvironment& environment, grpc::CallbackServerContext* context);
  ~ServerCall() override = default;

  // The server counts the call, and a drain asks `hooks`, from now until it is done. Call once, as the last of a constructor.
  void Track(DrainHooks hooks = DrainHooks()) {
    tracked_.emplace(*environment_.calls, std::move(hooks));
  }
  // The last that is called while hooks may still run.
  virtual void Leave() {}
  // The very last.
  virtual void Discard() {}
  // Ends the call, once.
  virtual void End(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  // Runs `work` on `executor`. What finds no memory to be posted, or throws, would never come back to the call: End is told why,
  // and this object may be gone when the function returns.
  void PostOrEnd(Executor& executor, absl::AnyInvocable<void()> work);

  // As gRPC's own, with memory from the reserve: nothing of a call that gRPC has begun can be taken back.
  void StartRead(grpc::ByteBuffer* bytes);
  void StartWrite(const grpc::ByteBuffer* bytes);

  const RpcEnvironment& environment_;
  grpc::CallbackServerContext* const context_;
  CallLoad load_;
  grpc::ByteBuffer bytes_;  // that come or are sent

 private:
  std::optional<TrackedCall> tracked_;
};

// Sends one message and ends the call, or, when the status is not OK, ends it only. `bytes` holds what is sent until the call
// is done.
void FinishWith(ServerCall& call, const google::protobuf::Message& answer,
                const grpc::Status& status, grpc::ByteBuffer& bytes);
grpc::ByteBuffer BytesOf(const google::protobuf::Message& message);

// A call that is refused.
class RefusedCall final : public ServerCall {
 public:
  RefusedCall(const RpcEnvironment& environment, grpc::CallbackServerContext* context,
              const grpc::Status& refusal)
      : ServerCall(environment, context) {
    Track();
    Finish(refusal);
  }
};

// A call with one request and any number of answers.
class RequestCall : public ServerCall {
 public:
  void OnReadDone(bool ok) final;
  void OnCancel() override {}

 protected:
  // `request`, a member of the class that derives from this, is there when Begin is called.
  RequestCall(const RpcEnvironment& environment, CallRecord call,
              grpc::CallbackServerContext* context, google::protobuf::Message& request);
  ~RequestCall() override = default;

  // The request has come; perhaps on one of gRPC's own few threads, so it must be quick. What it throws ends the call, which it must
  // not have ended by then.
  virtual void Begin() = 0;
  // A drain: the call should end with DrainingError as soon as may be. Called once at most, when the request has come; like OnCancel
  // perhaps before Begin.
  virtual void EndForDrain() = 0;
  // It has not ended in time.
  virtual void CancelForDrain() = 0;
  void End(const absl::Status& status) override { Finish(call_.End(status)); }

  CallRecord call_;

 private:
  // Many bytes are there.
  void TakeLarge();
  // The bytes are there.
  void Take();
  void Discard() final { intake_.Release(request_); }  // gRPC's own threads are here
  // Notes `event`, and tells of a drain once both have come: it, and the request, before which what derives from this may not be
  // there yet.
  void TellOfDrainAfter(std::atomic<bool>& event);
  void EndLate();

  google::protobuf::Message& request_;
  RequestIntake intake_;
  std::atomic<bool> has_come_{false};
  std::atomic<bool> drain_begun_{false};
  std::atomic<bool> told_of_drain_{false};
  StreamSteps reading_;
};

}  // namespace mercer::server
