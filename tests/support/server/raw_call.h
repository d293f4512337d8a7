// Calls of any method with bytes, as programs make them that are not ours.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace mercer::server {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct RawCall {
  std::string path;          // "/service/method"
  grpc::ByteBuffer message;  // of MessageOf; "" is an empty message
  Headers headers = {};
  std::chrono::milliseconds limit = std::chrono::minutes(2);
  grpc_compression_algorithm compression = GRPC_COMPRESS_NONE;
  bool until_first_answer = false;  // some streams end with the client alone
};

// Makes the call with one message, whatever kind it is of, and reads all answers.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const RawCall& call);

// The message of these bytes.
grpc::ByteBuffer MessageOf(const std::string& bytes);

}  // namespace mercer::server
