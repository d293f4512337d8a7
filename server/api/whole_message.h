// Messages whose maps are not left half made. An allocation that fails within protobuf's maps, or the fields that it does not
// know, leaves them broken, and the process ends when they are destroyed. So they are read, and filled, with memory from the
// reserve (core/base/memory/memory_reserve.h).
#pragma once

#include <string_view>

#include <google/protobuf/message_lite.h>

#include "core/base/memory/memory_reserve.h"

namespace mercer::server {

// False: `bytes` are no such message. Throws std::bad_alloc before it begins.
bool ParseWhole(std::string_view bytes, google::protobuf::MessageLite& message);

template <typename Entries, typename Map>
void PutAll(const Entries& entries, Map& map) {
  const ScopedAllocations scope(Allocations::kNeeded);
  for (const auto& [key, value] : entries) {
    map[key] = value;
  }
}

}  // namespace mercer::server
