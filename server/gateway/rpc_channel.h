// Calls of any RPC of this server, by its name, over a channel within the process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

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

// What a call takes over from the request of HTTP.
struct CallOrigin {
  std::string peer;
  std::vector<std::string> authorization;  // all values, as they came
  std::string trace_parent;                // empty: none

  static CallOrigin Of(const Exchange& exchange);
};

// Counts what runs, so that the end can wait for it. Thread-safe.
class RunningCalls {
 public:
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForNone() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Outlives the calls. Thread-safe.
class RpcChannel {
 public:
  // `peer_key`: as in server::PeerOf.
  RpcChannel(std::shared_ptr<grpc::Channel> channel, std::string peer_key)
      : stub_(std::move(channel)), peer_key_(std::move(peer_key)) {}

  grpc::GenericStub& stub() { return stub_; }
  const std::string& peer_key() const { return peer_key_; }
  RunningCalls& running() { return running_; }

 private:
  grpc::GenericStub stub_;
  const std::string peer_key_;
  RunningCalls running_;
};

// "TrainingService/Train" -> "/mercer.v1.TrainingService/Train".
std::string FullMethod(std::string_view method);

// With the details that the server gave, and with some when it gave none.
google::rpc::Status DetailsOf(const grpc::Status& status);

// One call with one request and one answer.
class UnaryRpc {
 public:
  using Done = std::function<void(const grpc::Status& status, grpc::ByteBuffer answer)>;

  // `done` comes once, on a thread of gRPC's, and must not block it. The call lives until then, and as
  // long as somebody holds it.
  static std::shared_ptr<UnaryRpc> Start(RpcChannel& channel, std::string_view method,
                                         const CallOrigin& origin, grpc::ByteBuffer request,
                                         Done done);
  void Cancel() { context_.TryCancel(); }

 private:
  UnaryRpc() = default;

  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

// One call whose requests, answers or both come one by one. Callbacks come on threads of gRPC's, must not
// block them, and `on_done` is the last. Thread-safe.
class RpcStream final : public std::enable_shared_from_this<RpcStream>,
                        private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  struct Events {
    // Of each Read; null: there are no more.
    std::function<void(grpc::ByteBuffer* answer)> on_read;
    // Of each Write that was the last one not yet answered; false: the call takes no more.
    std::function<void(bool ok)> on_written;
    std::function<void(const grpc::Status& status)> on_done;
  };

  static std::shared_ptr<RpcStream> Start(RpcChannel& channel, std::string_view method,
                                          const CallOrigin& origin, Events events);
  ~RpcStream() override = default;

  // One of each kind at a time. After the call's end, or after Cancel, they do nothing, and their callbacks do not come.
  void Read() ABSL_LOCKS_EXCLUDED(mutex_);
  void Write(grpc::ByteBuffer request, bool last) ABSL_LOCKS_EXCLUDED(mutex_);
  void WritesDone() ABSL_LOCKS_EXCLUDED(mutex_);
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  RpcStream(RpcChannel& channel, Events events) : channel_(channel), events_(std::move(events)) {}

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // Nothing more is begun; gRPC may end the call once nothing runs.
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RpcChannel& channel_;
  Events events_;
  grpc::ClientContext context_;
  std::shared_ptr<RpcStream> self_;  // until OnDone
  grpc::ByteBuffer request_;         // of the write that runs
  grpc::ByteBuffer answer_;          // of the read that runs

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mercer::gateway
