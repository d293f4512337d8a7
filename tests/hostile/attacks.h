// What a hostile client does, again and again, until it is told to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/hostile/hostile_server.h"

namespace mercer::server {

struct Attack {
  std::string name;  // of letters alone
  // On one of several threads.
  void (*run)(const HostileServer& server, const std::atomic<bool>& over);
  // What the server may have in memory at most.
  int64_t most_bytes = int64_t{512} << 20;
};

inline void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

const std::vector<Attack>& Attacks();

}  // namespace mercer::server
