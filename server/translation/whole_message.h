// Messages that are not left half made. An allocation that fails within protobuf's maps, the fields that it does not know, or what is
// added to a list or is the message of a oneof, of which it says that it is there before it asks for its memory, leaves them broken,
// and the process ends when they are destroyed. So they are read, and filled, with memory from the reserve (core/base/memory/memory_reserve.h).
// A text is added as *message.add_names() = MakeName(), which nothing breaks: message.add_names(MakeName()) is of those.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include "core/base/memory/memory_reserve.h"

namespace mercer::server {

// False: `bytes` are no such message. Throws std::bad_alloc before it begins.
bool ParseWhole(std::string_view bytes, google::protobuf::MessageLite& message);

// Equal messages give equal bytes.
std::string EncodeWhole(const google::protobuf::MessageLite& message);

template <typename Entries, typename Map>
void PutAll(const Entries& entries, Map& map) {
  const ScopedAllocations scope(Allocations::kNeeded);
  for (const auto& [key, value] : entries) {
    map[key] = value;
  }
}

// The message of a case of a oneof, of which `mutable_choice` is protobuf's function: Choose(event, &v1::ProgressEvent::mutable_resumed).
template <typename Message, typename Choice>
Choice& Choose(Message& message, Choice* (Message::*mutable_choice)()) {
  const ScopedAllocations scope(Allocations::kNeeded);
  return *(message.*mutable_choice)();
}

}  // namespace mercer::server
