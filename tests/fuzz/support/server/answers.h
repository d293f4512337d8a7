// What the server tells of its answers: that they can be sent, and that a client can read them.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include <google/protobuf/message.h>

namespace mercer::fuzz {

// Protobuf would write a line for every text of an input that is no UTF-8.
void SilenceProtobuf();

// `message` can be sent.
void RequireSendable(const google::protobuf::Message& message);

// The refusal as it travels: within the limits of the headers, and in texts that a client can parse.
void RequireTold(const absl::Status& refusal);

// Texts of requests are UTF-8: gRPC refuses others before they reach the server.
bool IsUtf8(std::string_view text);

}  // namespace mercer::fuzz
