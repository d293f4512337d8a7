// What an inspection of stored data has found.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mercer::server {

enum class Severity : uint8_t {
  kNote,   // harmless: left by a server that was killed, or not yet migrated
  kError,  // something is lost or wrong
};

struct Finding {
  Severity severity = Severity::kError;
  std::string reason;   // one word of docs/operations.md
  std::string subject;  // what it is about: "job j1", "file blobs/ab/..."
  std::string meaning;  // what is wrong and what follows from it
  std::string action;   // what to do
};

using FindingSink = std::function<void(Finding)>;

}  // namespace mercer::server
