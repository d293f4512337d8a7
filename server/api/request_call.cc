#include "server/api/request_call.h"

#include <utility>

#include <grpcpp/impl/codegen/proto_utils.h>

#include "core/base/errors.h"

namespace mercer::server {

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool is_owned = false;
  grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &bytes, &is_owned);
  return bytes;
}

void FinishWith(RawReactor& reactor, const google::protobuf::Message& answer,
                const grpc::Status& status, grpc::ByteBuffer& bytes) {
  if (!status.ok()) {
    reactor.Finish(status);
    return;
  }
  const absl::Status written = RunSafely("the answer", [&] {
    bytes = BytesOf(answer);
    return absl::OkStatus();
  });
  if (written.ok()) {
    reactor.StartWriteAndFinish(&bytes, grpc::WriteOptions(), status);
  } else {
    reactor.Finish(ToGrpcStatus(written));
  }
}

RequestCall::RequestCall(const RpcEnvironment& environment, CallRecord call,
                         grpc::CallbackServerContext* context, google::protobuf::Message& request)
    : environment_(environment),
      call_(std::move(call)),
      context_(context),
      request_(request),
      intake_(environment, call_) {
  reading_.Wait([this] { StartRead(&bytes_); });
  tracked_.emplace(*environment.calls,
                   DrainHooks{[this] { EndForDrain(); }, [this] { EndLate(); }});
}

void RequestCall::OnReadDone(bool ok) {
  if (!reading_.Resume()) {
    return;
  }
  const absl::Status status = RunSafely(call_.method(), [&]() -> absl::Status {
    if (!ok) {
      return context_->IsCancelled()
                 ? CallCancelledError()
                 : WithReason(absl::InvalidArgumentError("the call has no request"),
                              "MALFORMED_MESSAGE");
    }
    MERCER_RETURN_IF_ERROR(intake_.Parse(bytes_, request_));
    Begin();
    return absl::OkStatus();
  });
  if (!status.ok()) {
    Finish(call_.End(status));
  }
}

void RequestCall::OnDone() {
  Leave();
  tracked_.reset();
  delete this;
}

// A request that is on its way when the drain begins is still answered.
void RequestCall::EndLate() {
  if (reading_.Interrupt()) {
    Finish(call_.End(DrainingError()));
  } else {
    CancelForDrain();
  }
}

}  // namespace mercer::server
