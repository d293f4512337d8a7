// What each RPC asks of its caller, in one place.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/access/scope.h"

namespace mercer::server {

struct MethodRule {
  std::string_view method;  // "TrainingService/Train"
  Scope scope;
  bool changes;  // it alters what is stored or what runs: each call is in the audit log
  int64_t request_bytes = int64_t{64} << 10;  // of one message; 0: what the server takes at all
  // It has places of its own among the caller's calls: whoever has too many must be able to end some.
  bool ends_work = false;
};

// Null: there is no such RPC, and so nobody may call it.
const MethodRule* FindMethodRule(std::string_view method);

}  // namespace mercer::server
