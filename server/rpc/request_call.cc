#include "server/rpc/request_call.h"

#include <utility>

#include <grpcpp/impl/codegen/proto_utils.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"

namespace mercer::server {

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool is_owned = false;
  grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &bytes, &is_owned);
  return bytes;
}

void FinishWith(ServerCall& call, const google::protobuf::Message& answer,
                const grpc::Status& status, grpc::ByteBuffer& bytes) {
  if (!status.ok()) {
    call.Finish(status);
    return;
  }
  const absl::Status written = RunSafely("the answer", [&] {
    bytes = BytesOf(answer);
    return absl::OkStatus();
  });
  if (written.ok()) {
    call.StartWriteAndFinish(&bytes, status);
  } else {
    call.Finish(ToGrpcStatus(written));
  }
}

ServerCall::ServerCall(const RpcEnvironment& environment, grpc::CallbackServerContext* context)
    : environment_(environment),
      context_(context),
      load_(environment.connections->Find(context->peer())) {}

void ServerCall::OnDone() {
  if (context_->IsCancelled()) {
    load_.Cancel();
  }
  Leave();
  tracked_.reset();  // the hooks need what derives from this
  Discard();
  delete this;
}

void ServerCall::PostOrEnd(Executor& executor, absl::AnyInvocable<void()> work) {
  const absl::Status posted =
      RunNeeded("handing a call over", [&] { executor.Post(std::move(work)); });
  if (!posted.ok()) {
    End(posted);
  }
}

void ServerCall::StartRead(grpc::ByteBuffer* bytes) {
  const ScopedAllocations scope(Allocations::kNeeded);
  ServerBidiReactor::StartRead(bytes);
}

void ServerCall::StartWrite(const grpc::ByteBuffer* bytes) {
  const ScopedAllocations scope(Allocations::kNeeded);
  ServerBidiReactor::StartWrite(bytes);
}

void ServerCall::StartWriteAndFinish(const grpc::ByteBuffer* bytes, const grpc::Status& status) {
  const ScopedAllocations scope(Allocations::kNeeded);
  ServerBidiReactor::StartWriteAndFinish(bytes, grpc::WriteOptions(), status);
}

void ServerCall::Finish(const grpc::Status& status) {
  const ScopedAllocations scope(Allocations::kNeeded);
  ServerBidiReactor::Finish(status);
}

RequestCall::RequestCall(const RpcEnvironment& environment, CallRecord call,
                         grpc::CallbackServerContext* context, google::protobuf::Message& request)
    : ServerCall(environment, context),
      call_(std::move(call)),
      request_(request),
      intake_(environment, call_.request_bytes(), load_) {
  reading_.Wait([this] { StartRead(&bytes_); });
  Track({[this] { TellOfDrainAfter(drain_begun_); }, [this] { EndLate(); }});
}

void RequestCall::OnReadDone(bool ok) {
  if (!reading_.Resume()) {
    return;
  }
  TellOfDrainAfter(has_come_);
  if (ok && bytes_.Length() > RequestIntake::kQuickBytes) {
    // Not on one of gRPC's own few threads, which every call waits for.
    PostOrEnd(*environment_.io, [this] { TakeLarge(); });
  } else if (ok) {
    Take();
  } else {
    End(context_->IsCancelled() ? CallCancelledError()
                                : WithReason(absl::InvalidArgumentError("the call has no request"),
                                             "MALFORMED_MESSAGE"));
  }
}

void RequestCall::TellOfDrainAfter(std::atomic<bool>& event) {
  event = true;
  if (has_come_ && drain_begun_ && !told_of_drain_.exchange(true)) {
    EndForDrain();
  }
}

// What takes long is done in the background, where no other call waits for it.
void RequestCall::TakeLarge() {
  bool takes_long = false;
  const absl::Status status = RunSafely(call_.method(), [&] {
    takes_long = intake_.TakesLong(bytes_, request_);
    return absl::OkStatus();
  });
  if (!status.ok()) {
    End(status);
  } else if (takes_long) {
    PostOrEnd(*environment_.intake, [this] { Take(); });
  } else {
    Take();
  }
}

void RequestCall::Take() {
  const absl::Status status = RunSafely(call_.method(), [this]() -> absl::Status {
    MERCER_RETURN_IF_ERROR(intake_.Parse(bytes_, request_));
    const ScopedAllocations scope(Allocations::kNeeded);
    Begin();
    return absl::OkStatus();
  });
  if (!status.ok()) {
    End(status);
  }
}

// A request that is on its way when the drain begins is still answered.
void RequestCall::EndLate() {
  if (reading_.Interrupt()) {
    // Not End: what derives from this may not be there yet, and has begun nothing.
    Finish(call_.End(DrainingError()));
  } else {
    CancelForDrain();
  }
}

}  // namespace mercer::server
