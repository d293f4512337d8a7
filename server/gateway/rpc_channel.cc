#include "server/gateway/rpc_channel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/memory/memory_reserve.h"
#include "server/rpc/call_metadata.h"
#include "server/translation/error_details.h"

namespace mercer::gateway {
namespace {

// gRPC ends the process over metadata that HTTP/2 cannot carry; what replaces such a byte is in no token.
std::string ForMetadata(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

void Prepare(const RpcChannel& channel, const CallOrigin& origin, grpc::ClientContext& context) {
  for (const std::string& value : origin.authorization) {
    context.AddMetadata("authorization", value);
  }
  if (!origin.trace_parent.empty()) {
    context.AddMetadata("traceparent", origin.trace_parent);
  }
  context.AddMetadata(server::kPeerMetadata, absl::StrCat(channel.peer_key(), " ", origin.peer));
}

}  // namespace

CallOrigin CallOrigin::Of(const Exchange& exchange) {
  CallOrigin origin;
  origin.peer = ForMetadata(exchange.peer().address);
  for (const std::string_view value : exchange.head().FindAll("authorization")) {
    origin.authorization.push_back(ForMetadata(value));
  }
  origin.trace_parent = ForMetadata(exchange.head().Find("traceparent"));
  return origin;
}

void RunningCalls::Begin() {
  absl::MutexLock lock(&mutex_);
  ++running_;
}

void RunningCalls::End() {
  absl::MutexLock lock(&mutex_);
  --running_;
}

void RunningCalls::WaitForNone() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](int64_t* running) { return *running == 0; }, &running_));
}

std::string FullMethod(std::string_view method) {
  return absl::StrCat("/mercer.v1.", absl::string_view(method.data(), method.size()));
}

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!status.error_details().empty() && details.ParseFromString(status.error_details()) &&
      details.code() == static_cast<int>(status.error_code())) {
    return details;
  }
  return server::ToRpcStatus(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()));
}

std::shared_ptr<UnaryRpc> UnaryRpc::Start(RpcChannel& channel, std::string_view method,
                                          const CallOrigin& origin, grpc::ByteBuffer request,
                                          Done done) {
  const ScopedAllocations scope(Allocations::kNeeded);
  auto call = std::shared_ptr<UnaryRpc>(new UnaryRpc);
  Prepare(channel, origin, call->context_);
  call->request_ = std::move(request);
  channel.running().Begin();
  channel.stub().UnaryCall(
      &call->context_, FullMethod(method), grpc::StubOptions(), &call->request_, &call->answer_,
      [call, done = std::move(done), &channel](const grpc::Status& status) mutable {
        done(status, std::move(call->answer_));
        done = nullptr;
        call.reset();
        channel.running().End();
      });
  return call;
}

std::shared_ptr<RpcStream> RpcStream::Start(RpcChannel& channel, std::string_view method,
                                            const CallOrigin& origin, Events events) {
  const ScopedAllocations scope(Allocations::kNeeded);
  auto stream = std::shared_ptr<RpcStream>(new RpcStream(channel, std::move(events)));
  Prepare(channel, origin, stream->context_);
  stream->self_ = stream;
  channel.running().Begin();
  channel.stub().PrepareBidiStreamingCall(&stream->context_, FullMethod(method),
                                          grpc::StubOptions(), stream.get());
  stream->AddHold();  // operations begin on other threads than the call's own
  stream->StartCall();
  return stream;
}

void RpcStream::Read() {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  if (!closed_) {
    reading_ = true;
    StartRead(&answer_);
  }
}

void RpcStream::Write(grpc::ByteBuffer request, bool last) {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  if (!closed_) {
    writing_ = true;
    request_ = std::move(request);
    StartWrite(&request_, last ? grpc::WriteOptions().set_last_message() : grpc::WriteOptions());
  }
}

void RpcStream::WritesDone() {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  if (!closed_) {
    StartWritesDone();
  }
}

void RpcStream::Cancel() {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  context_.TryCancel();
  closed_ = true;
  LetGo();
}

void RpcStream::LetGo() {
  if (closed_ && !reading_ && !writing_ && std::exchange(held_, false)) {
    RemoveHold();
  }
}

void RpcStream::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    closed_ = closed_ || !ok;
    LetGo();
    if (closed_ && ok) {
      return;
    }
  }
  events_.on_read(ok ? &answer_ : nullptr);
}

void RpcStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    closed_ = closed_ || !ok;
    LetGo();
  }
  if (events_.on_written != nullptr) {
    events_.on_written(ok);
  }
}

void RpcStream::OnDone(const grpc::Status& status) {
  RunningCalls& running = channel_.running();
  events_.on_done(status);
  events_ = Events();
  self_.reset();
  running.End();
}

}  // namespace mercer::gateway
