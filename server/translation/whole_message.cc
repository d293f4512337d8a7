#include "server/translation/whole_message.h"

#include <cstdint>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace mercer::server {

bool ParseWhole(std::string_view bytes, google::protobuf::MessageLite& message) {
  constexpr int64_t kMemoryPerByte = 4;  // of names, numbers and small messages
  RequireMemory(kMemoryPerByte * static_cast<int64_t>(bytes.size()));
  const ScopedAllocations scope(Allocations::kNeeded);
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::string EncodeWhole(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace mercer::server
