// What a running server takes over from options that were read again.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/app/server_options.h"

namespace mercer::server {

struct ReloadPlan {
  ServerOptions options;                // resolved: what is in force from now on
  std::vector<std::string> changes;     // "--max-calls 4096 -> 100": in force from now on
  std::vector<std::string> at_restart;  // flags whose new values wait for the next start
};

// `started_with`: as they were given to the start; `in_force`: the resolved ones; `fresh`: as they are given now. Errors:
// those of ResolveOptions about `fresh`; nothing is to change then.
absl::StatusOr<ReloadPlan> PlanReload(const ServerOptions& started_with,
                                      const ServerOptions& in_force, const ServerOptions& fresh);

// The flags that a reload knows: those that take effect while the server runs, and those that wait for a start.
std::vector<std::string> LiveFlags();
std::vector<std::string> StartFlags();

}  // namespace mercer::server
