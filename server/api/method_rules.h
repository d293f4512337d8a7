// What each RPC asks of its caller, in one place.
#pragma once

#include <string_view>

#include "server/access/scope.h"

namespace mercer::server {

struct MethodRule {
  std::string_view method;  // "TrainingService/Train"
  Scope scope;
  bool changes;  // it alters what is stored or what runs: each call is in the audit log
  bool ends_work =
      false;  // it has places of its own among the caller's calls: whoever has too many must be able to end some
};

// Null: there is no such RPC, and so nobody may call it.
const MethodRule* FindMethodRule(std::string_view method);

}  // namespace mercer::server
