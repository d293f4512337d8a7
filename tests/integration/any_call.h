// Calls of any RPC, known by its descriptor alone.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

namespace mercer::server {

using Messages = std::vector<std::shared_ptr<google::protobuf::Message>>;

struct AnyAnswer {
  grpc::Status status;
  std::vector<grpc::ByteBuffer> messages;
};

// Sends the messages, as many as the server takes, and reads to the end. With `max_answers` reached, the client cancels the
// call and that is OK.
AnyAnswer CallAnyMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const google::protobuf::MethodDescriptor& method, const Messages& requests,
                        std::chrono::seconds limit, size_t max_answers);

}  // namespace mercer::server
