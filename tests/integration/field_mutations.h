// Every way to spoil one field of a message, found by walking the descriptors: what is added to the API is walked too.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace mercer::server {

// One change of one field.
struct FieldMutation {
  std::string path;  // of the field, as violations name it: "data[0].dataset"
  std::string what;  // "set to -1"
  // Whether the good message has what the field stands in; else more than this field may be wrong.
  bool in_good = true;
  std::function<void(google::protobuf::Message&)> apply;  // to a copy of the good message
};

struct MutationOptions {
  // Fields of messages that the good message has. False: all fields that there are, and what they stand in is made.
  bool only_present = false;
  int max_depth = 8;  // fields within fields
  // Texts that are names or tokens elsewhere on the server, set to every text.
  std::vector<std::string> foreign_texts = {};
};

// A message type that stands in itself is walked twice on a path.
std::vector<FieldMutation> MutationsOf(const google::protobuf::Message& good,
                                       const MutationOptions& options);

// Whether the message has such a field: "header.parts[2].csv", "labels", "class_weights.weights['a.b']". The empty path is
// the message itself.
bool IsFieldPath(const google::protobuf::Descriptor& type, std::string_view path);

// Without positions and keys: "header.parts.csv".
std::string PlainPath(std::string_view path);

// Whether one of the fields is the other or stands in it; positions in lists do not matter.
bool AreNested(std::string_view path, std::string_view other);

}  // namespace mercer::server
