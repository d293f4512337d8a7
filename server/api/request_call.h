// Calls behind the door: the only way to a CallRecord leads through it, and nothing is read before.
#pragma once

#include <optional>

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/api/request_intake.h"
#include "server/api/rpc.h"

namespace mercer::server {

// Every RPC is a stream of bytes both ways to gRPC, which would otherwise read and parse the request of a unary call before
// anybody has asked who sends it.
using RawReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Sends one message and ends the call, or, when the status is not OK, ends it only. `bytes` holds what is sent until the call
// is done.
void FinishWith(RawReactor& reactor, const google::protobuf::Message& answer,
                const grpc::Status& status, grpc::ByteBuffer& bytes);
grpc::ByteBuffer BytesOf(const google::protobuf::Message& message);

// A call that the door has refused. Deletes itself.
class RefusedCall final : public RawReactor {
 public:
  RefusedCall(const RpcEnvironment& environment, const grpc::Status& refusal)
      : tracked_(*environment.calls) {
    Finish(refusal);
  }
  void OnDone() override { delete this; }

 private:
  TrackedCall tracked_;
};

// A call with one request and any number of answers. Deletes itself.
class RequestCall : public RawReactor {
 public:
  void OnReadDone(bool ok) final;
  void OnCancel() override {}
  void OnDone() final;

 protected:
  // `request`, a member of the class that derives from this, is there when Begin is called.
  RequestCall(const RpcEnvironment& environment, CallRecord call,
              grpc::CallbackServerContext* context, google::protobuf::Message& request);
  ~RequestCall() override = default;

  // The request has come; on one of gRPC's own few threads, so it must be quick. What it throws ends the call, which it must
  // not have ended by then.
  virtual void Begin() = 0;
  // A drain: the call should end with DrainingError as soon as may be. Called once at most; like OnCancel perhaps before Begin.
  virtual void EndForDrain() {}
  // It has not ended in time.
  virtual void CancelForDrain() {}
  // The last that is called.
  virtual void Leave() {}

  const RpcEnvironment& environment_;
  CallRecord call_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer bytes_;  // that come or are sent

 private:
  void EndLate();

  google::protobuf::Message& request_;
  RequestIntake intake_;
  StreamSteps reading_;
  std::optional<TrackedCall> tracked_;  // until OnDone: its hooks need what derives from this
};

}  // namespace mercer::server
