// Errors as the server says them.
#pragma once

#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mercer::client {

// A gRPC status with these details.
inline grpc::Status MakeGrpcStatus(grpc::StatusCode code, const std::string& message,
                                   const std::vector<const google::protobuf::Message*>& details) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  for (const google::protobuf::Message* detail : details) {
    status.add_details()->PackFrom(*detail);
  }
  return grpc::Status(code, message, status.SerializeAsString());
}

// NOT_FOUND as the server says it.
inline grpc::Status NotFoundStatus(const std::string& name) {
  google::rpc::ErrorInfo info;
  info.set_domain("mercer");
  info.set_reason("NOT_FOUND");
  google::rpc::ResourceInfo resource;
  resource.set_resource_name(name);
  return MakeGrpcStatus(grpc::StatusCode::NOT_FOUND, "there is no " + name, {&info, &resource});
}

// What is wrong with a cell, as the server says it: the row counts from the beginning of the batch.
inline grpc::Status BadCellStatus(int row) {
  google::rpc::ErrorInfo info;
  info.set_domain("mercer");
  info.set_reason("BAD_CELL");
  (*info.mutable_metadata())["row"] = std::to_string(row);
  return MakeGrpcStatus(grpc::StatusCode::INVALID_ARGUMENT,
                        "row " + std::to_string(row) + ", column 'x': not a number", {&info});
}

inline grpc::Status AnswerTooLargeStatus() {
  google::rpc::ErrorInfo info;
  info.set_domain("mercer");
  info.set_reason("RESPONSE_TOO_LARGE");
  return MakeGrpcStatus(grpc::StatusCode::RESOURCE_EXHAUSTED, "the answer is too large", {&info});
}

}  // namespace mercer::client
