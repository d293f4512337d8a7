// Fields of protobuf messages from text, by reflection: so that options need no code of their own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace mercer::client {

// The words of an enum: its values in lower case without the enum's own name before them and
// without the zero value: KERNEL_SCALING_TRACE is "trace".
std::vector<std::string> EnumWords(const google::protobuf::EnumDescriptor& type);
// The word of one value; empty for the zero value and for numbers that the enum does not have.
std::string EnumWord(const google::protobuf::EnumDescriptor& type, int number);
// The number of a word ('-' counts as '_', capitals as small letters); -1 when there is none.
int EnumNumber(const google::protobuf::EnumDescriptor& type, const std::string& word);

// Sets a scalar, enum or repeated scalar field. Lists are separated by commas, and an element may
// stand in double quotes. An empty text sets a bool to true. Numbers may be inf. Errors:
// kInvalidArgument, saying what is allowed; fields that are messages are refused.
absl::Status SetFieldFromText(google::protobuf::Message& message,
                              const google::protobuf::FieldDescriptor& field,
                              const std::string& text);

// The elements of a list: "a,\"b,c\"" is a and b,c. Errors: kInvalidArgument for an open quote.
absl::Status SplitList(const std::string& text, std::vector<std::string>& elements);

}  // namespace mercer::client
