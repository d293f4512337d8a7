#include "server/translation/whole_message.h"

#include <cstdint>

namespace mercer::server {

bool ParseWhole(std::string_view bytes, google::protobuf::MessageLite& message) {
  constexpr int64_t kMemoryPerByte = 4;  // of names, numbers and small messages
  RequireMemory(kMemoryPerByte * static_cast<int64_t>(bytes.size()));
  const ScopedAllocations scope(Allocations::kNeeded);
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace mercer::server
