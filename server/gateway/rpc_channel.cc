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

}  // namespace

std::shared_ptr<const void> RunningCalls::Begin() {
  {
    absl::MutexLock lock(&mutex_);
    ++running_;
  }
  return {this, [](RunningCalls* calls) {
            absl::MutexLock lock(&calls->mutex_);
            --calls->running_;
          }};
}

void RunningCalls::WaitForNone() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](int64_t* running) { return *running == 0; }, &running_));
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

std::string FullMethod(std::string_view method) {
  return absl::StrCat("/mercer.v1.", View(method));
}

void TakeOver(const RpcChannel& channel, const Exchange& exchange, grpc::ClientContext& context) {
  for (const std::string_view value : exchange.head().FindAll("authorization")) {
    context.AddMetadata("authorization", ForMetadata(value));
  }
  if (const std::string_view parent = exchange.head().Find("traceparent"); !parent.empty()) {
    context.AddMetadata("traceparent", ForMetadata(parent));
  }
  context.AddMetadata(server::kPeerMetadata,
                      absl::StrCat(channel.peer_key, " ", ForMetadata(exchange.peer().address)));
}

void RpcCall::Begin(std::string_view method) {
  const ScopedAllocations scope(Allocations::kNeeded);
  TakeOver(channel_, *exchange_, context_);
  self_ = shared_from_this();
  running_ = channel_.running.Begin();
  channel_.stub.PrepareBidiStreamingCall(&context_, FullMethod(method), grpc::StubOptions(), this);
  AddHold();  // operations begin on other threads than the call's own
  StartCall();
}

void RpcCall::CancelWhenGone() {
  exchange_->OnGone([weak = weak_from_this()] {
    if (const auto running = weak.lock(); running != nullptr) {
      running->Cancel();
    }
  });
}

void RpcCall::Read() {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  if (!closed_) {
    reading_ = true;
    StartRead(&answer_);
  }
}

void RpcCall::Write(grpc::ByteBuffer request, bool last) {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  if (!closed_) {
    writing_ = true;
    request_ = std::move(request);
    StartWrite(&request_, last ? grpc::WriteOptions().set_last_message() : grpc::WriteOptions());
  }
}

void RpcCall::WritesDone() {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  if (!closed_) {
    StartWritesDone();
  }
}

void RpcCall::Cancel() {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  context_.TryCancel();
  closed_ = true;
  LetGo();
}

void RpcCall::LetGo() {
  if (closed_ && !reading_ && !writing_ && std::exchange(held_, false)) {
    RemoveHold();
  }
}

void RpcCall::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    closed_ = closed_ || !ok;
    LetGo();
    if (closed_) {
      return;
    }
  }
  OnAnswer(std::move(answer_));
}

void RpcCall::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    closed_ = closed_ || !ok;
    LetGo();
  }
  if (ok) {
    OnWritten();
  }
}

void RpcCall::OnDone(const grpc::Status& status) {
  const auto running = std::move(running_);  // goes last
  const auto self = std::move(self_);
  {
    // The channel within the process keeps a call whose requests had not ended when its status came, and lets go when it is cancelled.
    const ScopedAllocations scope(Allocations::kNeeded);
    context_.TryCancel();
  }
  OnEnd(status);
}

}  // namespace mercer::gateway
