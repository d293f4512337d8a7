// How much memory a message takes, told before it is parsed.
#pragma once

#include <cstdint>
#include <limits>

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

namespace mercer::server {

// About what `bytes`, a message of the type of `type` on the wire, takes in memory once it is parsed: two bytes can become an
// empty message of two hundred. Reads the bytes and makes nothing of them; answers for as many as make sense. Reads no further
// when it is more than `most_bytes`.
int64_t ParsedBytes(const google::protobuf::Message& type,
                    google::protobuf::io::ZeroCopyInputStream& bytes,
                    int64_t most_bytes = std::numeric_limits<int64_t>::max());

// Whether the same message has more than `fields` fields, with those of all messages in it. The time that it takes to be read,
// parsed and destroyed grows with them: a list of doubles is one field, a list of integers one for every 16 of its bytes.
bool HasMoreFields(const google::protobuf::Message& type,
                   google::protobuf::io::ZeroCopyInputStream& bytes, int64_t fields);

}  // namespace mercer::server
