#include "tests/fuzz/support/server/answers.h"

#include <string>

#include "google/rpc/error_details.pb.h"
#include "server/translation/error_details.h"
#include "tests/fuzz/support/checks.h"

namespace mercer::fuzz {

void SilenceProtobuf() {
  static const bool once = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  static_cast<void>(once);
}

void RequireSendable(const google::protobuf::Message& message) {
  SilenceProtobuf();
  Require(message.SerializeAsString().size() == message.ByteSizeLong(), "an answer can be sent");
}

void RequireTold(const absl::Status& refusal) {
  SilenceProtobuf();
  const google::rpc::Status status = server::ToRpcStatus(refusal);
  const std::string bytes = status.SerializeAsString();
  Require(bytes.size() <= server::kMaxErrorBytes, "an error fits the headers");
  Require(
      server::HeaderMessage(std::string(refusal.message())).size() <= server::kMaxErrorMessageBytes,
      "a message fits the headers");
  google::rpc::Status received;
  Require(received.ParseFromString(bytes), "a client can read an error");
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  for (const google::protobuf::Any& detail : received.details()) {
    Require(!detail.Is<google::rpc::ErrorInfo>() || detail.UnpackTo(&info),
            "a client can read the reason");
    Require(!detail.Is<google::rpc::BadRequest>() || detail.UnpackTo(&bad_request),
            "a client can read what is wrong");
  }
}

bool IsUtf8(std::string_view text) {
  SilenceProtobuf();
  google::rpc::ErrorInfo message;
  message.set_reason(std::string(text));
  google::rpc::ErrorInfo read;
  return read.ParseFromString(message.SerializeAsString());
}

}  // namespace mercer::fuzz
