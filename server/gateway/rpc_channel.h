// Calls of any RPC of this server, by its name, over a channel within the process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>

#include "google/rpc/status.pb.h"
#include "server/gateway/http/exchange.h"

namespace mercer::gateway {

// Counts what runs, so that the end can wait for it. Thread-safe.
class RunningCalls {
 public:
  // Something runs until what is answered goes.
  std::shared_ptr<const void> Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForNone() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Outlives the calls. Thread-safe.
struct RpcChannel {
  // `peer_key`: as in server::PeerOf.
  RpcChannel(std::shared_ptr<grpc::Channel> channel, std::string key)
      : stub(std::move(channel)), peer_key(std::move(key)) {}

  grpc::GenericStub stub;
  const std::string peer_key;
  RunningCalls running;
};

// With the details that the server gave, and with some when it gave none.
google::rpc::Status DetailsOf(const grpc::Status& status);

// "TrainingService/Train" -> "/mercer.v1.TrainingService/Train".
std::string FullMethod(std::string_view method);

// What a call takes over from the request of HTTP: who asks, and what it belongs to.
void TakeOver(const RpcChannel& channel, const Exchange& exchange, grpc::ClientContext& context);

// One call, whose requests and answers come one by one, for a request of HTTP. It keeps itself until its end. What is virtual is called
// on threads of gRPC's, must not block them, and comes one after the other. Thread-safe.
class RpcCall : public std::enable_shared_from_this<RpcCall>,
                private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  RpcCall(RpcChannel& channel, std::shared_ptr<Exchange> exchange)
      : exchange_(std::move(exchange)), channel_(channel) {}
  ~RpcCall() override = default;

  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

 protected:
  // Before anything else. `method`: "TrainingService/Train".
  void Begin(std::string_view method);
  void CancelWhenGone();
  // One of each kind at a time. After the call's end, or after Cancel, they do nothing. The call ends only after a Read that finds no
  // further answer.
  void Read() ABSL_LOCKS_EXCLUDED(mutex_);
  void Write(grpc::ByteBuffer request, bool last) ABSL_LOCKS_EXCLUDED(mutex_);
  void WritesDone() ABSL_LOCKS_EXCLUDED(mutex_);

  // What a Read has found.
  virtual void OnAnswer(grpc::ByteBuffer answer) = 0;
  // The call takes a further Write.
  virtual void OnWritten() {}
  // The last of them.
  virtual void OnEnd(const grpc::Status& status) = 0;

  const std::shared_ptr<Exchange> exchange_;

 private:
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnDone(const grpc::Status& status) final;
  // Nothing more is begun; gRPC may end the call once nothing runs.
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RpcChannel& channel_;
  grpc::ClientContext context_;
  std::shared_ptr<RpcCall> self_;        // until OnDone
  std::shared_ptr<const void> running_;  // likewise
  grpc::ByteBuffer request_;             // of the write that runs
  grpc::ByteBuffer answer_;              // of the read that runs

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mercer::gateway
