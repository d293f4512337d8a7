// How much memory a message takes, told before it is parsed.
#pragma once

#include <cstdint>

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

namespace mercer::server {

// About what `bytes`, a message of the type of `type` on the wire, takes in memory once it is parsed: two bytes can become an
// empty message of two hundred. Reads the bytes and makes nothing of them; answers for as many as make sense.
int64_t ParsedBytes(const google::protobuf::Message& type,
                    google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace mercer::server
