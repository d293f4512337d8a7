// Protobuf messages as JSON, in protobuf's own mapping.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

namespace mercer::gateway {

// Asked before a message like `type` is made of its bytes on the wire.
using WireCheck =
    std::function<absl::Status(const google::protobuf::Message& type, const std::string& wire)>;

// Reads one JSON object into `message`; empty text is one without fields. Errors: kInvalidArgument with reason BAD_JSON (it is no
// JSON), or BAD_FIELDS with the path of the field that is unknown, of another type, or set beside another one of its oneof; those of
// `check`.
absl::Status ReadJson(std::string_view text, google::protobuf::Message& message,
                      const WireCheck& check = nullptr);

// Fields of value zero are left out; names are lowerCamelCase. Errors: kInternal.
absl::StatusOr<std::string> WriteJson(const google::protobuf::Message& message);

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message);
// Errors: kInternal.
absl::Status FromBytes(grpc::ByteBuffer bytes, google::protobuf::Message& message);

}  // namespace mercer::gateway
