// Requests as they come from the wire: how large they may be, and what they may take in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "server/budget/budget.h"
#include "server/rpc/connection_load.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// kResourceExhausted, reason REQUEST_TOO_LARGE. `what`: "has", "takes in memory at least".
absl::Status RequestTooLarge(const char* what, int64_t bytes, int64_t limit_bytes);

// Of one call. Not thread-safe.
class RequestIntake {
 public:
  // Of an admitted call, whose messages have `limit_bytes` at most; `environment` and `load` outlive
  // it.
  RequestIntake(const RpcEnvironment& environment, int64_t limit_bytes, CallLoad& load)
      : environment_(environment), load_(load), limit_bytes_(limit_bytes) {
    load_.Admit(environment.max_message_bytes);  // gRPC takes in no more of a message
  }

  // Parses `bytes` into `message` and frees them. What the message takes counts among all requests of the server until the next
  // one, or the end of this. Errors: kInvalidArgument (MALFORMED_MESSAGE), kResourceExhausted (REQUEST_TOO_LARGE, or
  // REQUESTS_FILL_MEMORY: others take what is left).
  absl::Status Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message);
  // Whether that, and what comes after it, takes longer than calls that wait for a processor like to wait: there are many fields, or
  // were in the message before, which Parse destroys. Quick to tell. Once for each Parse.
  bool TakesLong(const grpc::ByteBuffer& bytes, const google::protobuf::Message& message);
  // At the end of the call: a message that was long to make is long to destroy, which is done in the background.
  void Release(google::protobuf::Message& message);

  // Fewer never take long.
  static constexpr size_t kQuickBytes = size_t{64} << 10;

 private:
  const RpcEnvironment& environment_;
  CallLoad& load_;
  const int64_t limit_bytes_;
  Budget::Share share_;
  bool has_many_fields_ = false;  // the message that TakesLong was asked of last
  bool had_many_fields_ = false;  // the one before, until Parse has destroyed it
};

}  // namespace mercer::server
