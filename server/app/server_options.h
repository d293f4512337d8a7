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

struct ServerOptions {
  std::string data_dir = "mercer-data";  // made when missing
  std::string listen = kDefaultListen;   // port 0: any free one; see CheckListenAddress
  // Where HTTP is spoken: as `listen`, or kNoHttp. Empty: kDefaultHttp beside kDefaultListen, else a free port of loopback, so
  // that a second server on the machine is not in the way of the first.
  std::string http;
  int threads = 0;  // of one job; 0: the processor's, divided by the workers
  int workers = 0;  // jobs at the same time; 0: half of the processor's threads, at least one
  int64_t memory_budget_bytes = 0;  // for all running jobs; 0: half of what it may use
  int cache_mb = 512;               // MiB for models kept ready, and as much for kernels
  // Largest data set: what is sent, what it inflates to, and its cells as numbers; 0: the memory
  // budget, at most 16 GiB.
  int64_t max_upload_bytes = 0;
  // All unfinished uploads together; 0: four times the largest data set.
  int64_t upload_space_bytes = 0;
  // Of them, those of one caller; 0: all where no tokens are asked for, else half, but the largest data set at least.
  int64_t upload_space_per_caller_bytes = 0;
  absl::Duration upload_expiry = absl::Hours(24);  // of an upload that can be resumed, > 0
  int64_t max_stored_bytes = 0;                    // all data sets together; 0: no limit
  int64_t min_free_disk_bytes =
      0;  // below it new work is refused; 0: the smaller of 1 GiB and 2 % of the disk
  absl::Duration collect_interval =
      absl::Hours(1);              // between collections of files that nothing names
  std::string log_level = "info";  // trace, debug, info, warning, error, critical, off
  absl::Duration heartbeat = absl::Seconds(10);
  absl::Duration checkpoint_interval = absl::Seconds(5);
  int max_lost_attempts = 10;   // of a job, since its last checkpoint, and as many retries; >= 1
  int64_t max_queued_jobs = 0;  // of all callers; 0: no limit, as below
  int64_t max_queued_jobs_per_caller = 0;
  int64_t max_running_jobs_per_caller = 0;
  int64_t max_message_bytes = int64_t{64} << 20;
  absl::Duration job_retention;  // a finished job is deleted so long after its end; 0: never
  bool reproducible = false;     // the same bits on every processor; see ComputeReproducibly
  AccessOptions access;
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

// Fills in what 0 stands for. Errors: kInvalidArgument naming the flag; those of CheckListenAddress.
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
