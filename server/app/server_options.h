// Everything that can be set about a server: flags, configuration file, tests.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/app/access/access_options.h"

namespace mercer::server {

inline constexpr char kCodeVersion[] = "0.1.0";
inline constexpr char kDefaultListen[] = "127.0.0.1:7345";
inline constexpr char kDefaultHttp[] = "127.0.0.1:7380";
inline constexpr char kNoHttp[] = "off";

// What those mean that have flags stands in SettingsOf. ResolveOptions fills in what 0 and an empty text stand for.
struct ServerOptions {
  std::string data_dir = "mercer-data";
  std::string listen = kDefaultListen;  // see CheckListenAddress
  // As `listen`, or kNoHttp. Empty: kDefaultHttp beside kDefaultListen, else a free port of loopback, so that a second server
  // on the machine is not in the way of the first.
  std::string http;
  int workers = 0;
  int threads = 0;
  int64_t memory_budget_bytes = 0;
  int64_t max_upload_bytes = 0;  // what is sent, what it inflates to, and its cells as numbers
  int64_t upload_space_bytes = 0;
  int64_t upload_space_per_caller_bytes = 0;
  absl::Duration upload_expiry = absl::Hours(24);
  int64_t max_stored_bytes = 0;
  int64_t min_free_disk_bytes = 0;
  absl::Duration collect_interval = absl::Hours(1);
  int cache_mb = 512;
  absl::Duration checkpoint_interval = absl::Seconds(5);
  int max_lost_attempts = 10;  // since the last checkpoint, and as many retries
  absl::Duration job_retention;
  int64_t max_queued_jobs = 0;
  int64_t max_queued_jobs_per_caller = 0;
  int64_t max_running_jobs_per_caller = 0;
  std::string log_level = "info";  // trace, debug, info, warning, error, critical, off
  bool reproducible = false;       // see ComputeReproducibly
  AccessOptions access;
  // Without flags.
  absl::Duration heartbeat = absl::Seconds(10);
  int64_t max_message_bytes = int64_t{64} << 20;
};

// What an option is to its flag, to a line of the configuration file, and to those who read both again.
struct Setting {
  enum When : uint8_t { kAtStart, kLive };  // a change takes effect with the next start, or at once
  // kBytes may be given as 4GB, kAge, in seconds, as 90d.
  enum Unit : uint8_t { kPlain, kBytes, kAge };

  // As they are compared and shown: "24h".
  std::string Text() const;
  // "must be in [0, 64]"
  std::string Range() const;

  const char* flag;  // "--data-dir"
  std::variant<std::string*, bool*, int*, int64_t*, absl::Duration*> value;
  When when;
  Unit unit;
  const char* meaning;
  // Of numbers; of times in seconds.
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
};

// All, in the order of the help. Point into `options`.
std::vector<Setting> SettingsOf(ServerOptions& options);

// Errors: kInvalidArgument naming the flag; those of CheckListenAddress.
absl::StatusOr<ServerOptions> ResolveOptions(ServerOptions options);

// What a running server takes over from options that were read again.
struct ReloadPlan {
  ServerOptions options;                // resolved: what is in force from now on
  std::vector<std::string> changes;     // "--max-calls 4096 -> 100": in force from now on
  std::vector<std::string> at_restart;  // flags whose new values wait for the next start
};

// `started_with`: as they were given to the start; `in_force`: the resolved ones; `fresh`: as they are given now. Errors:
// those of ResolveOptions about `fresh`; nothing is to change then.
absl::StatusOr<ReloadPlan> PlanReload(ServerOptions started_with, ServerOptions in_force,
                                      ServerOptions fresh);

}  // namespace mercer::server
