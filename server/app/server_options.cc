#include "server/app/server_options.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "core/base/memory/usable_memory.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
absl::StatusOr<ServerOptions> ResolveOptions(ServerOptions options) {
  MERCER_RETURN_IF_ERROR(CheckListenAddress("--listen", options.listen, options.access));
  if (options.http.empty()) {
    options.http = options.listen == kDefaultListen ? kDefaultHttp : "127.0.0.1:0";
  }
  if (options.http != kNoHttp) {
    MERCER_RETURN_IF_ERROR(CheckListenAddress("--http", options.http, options.access));
  }
  FieldViolations violations;
  violations.Check(!options.data_dir.empty(), "--data-dir", "is missing");
  violations.Check(options.threads >= 0 && options.threads <= 256, "--threads",
                   "must be in [0, 256]");
  violations.Check(options.workers >= 0 && options.workers <= 64, "--workers",
                   "must be in [0, 64]");
  violations.Check(options.memory_budget_bytes >= 0, "--memory-budget", "must be >= 0");
  violations.Check(options.max_lost_attempts >= 1, "--max-lost-attempts", "must be >= 1");
  violations.Check(options.job_retention >= absl::ZeroDuration(), "--job-retention",
                   "must be >= 0");
  violations.Check(options.max_queued_jobs >= 0, "--max-queued-jobs", "must be >= 0");
  violations.Check(options.max_queued_jobs_per_caller >= 0, "--max-queued-jobs-per-caller",
                   "must be >= 0");
  violations.Check(options.max_running_jobs_per_caller >= 0, "--max-running-jobs-per-caller",
                   "must be >= 0");
  violations.Check(options.cache_bytes >= 0, "--cache-mb", "must be >= 0");
  violations.Check(options.access.max_calls_per_caller >= 0, "--max-calls", "must be >= 0");
  violations.Check(options.max_upload_bytes >= 0, "--max-upload", "must be >= 0");
  violations.Check(options.upload_space_bytes >= 0, "--upload-space", "must be >= 0");
  violations.Check(options.upload_space_per_caller_bytes >= 0, "--upload-space-per-caller",
                   "must be >= 0");
  violations.Check(options.max_stored_bytes >= 0, "--max-stored-bytes", "must be >= 0");
  violations.Check(options.upload_expiry > absl::ZeroDuration(), "--upload-expiry", "must be > 0");
  violations.Check(options.min_free_disk_bytes >= 0, "--min-free-disk", "must be >= 0");
  violations.Check(options.collect_interval > absl::ZeroDuration(), "--collect-interval",
                   "must be > 0");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (options.workers == 0) {
    options.workers = std::max(1, processors / 2);
  }
  if (options.threads == 0) {
    options.threads = std::max(1, processors / options.workers);
  }
  if (options.memory_budget_bytes == 0) {
    options.memory_budget_bytes = std::max<int64_t>(UsableMemory() / 2, int64_t{256} << 20);
  }
  if (options.max_upload_bytes == 0) {
    // A larger one could be stored, but not be trained on.
    options.max_upload_bytes = std::min(options.memory_budget_bytes, int64_t{16} << 30);
  }
  if (options.upload_space_bytes == 0) {
    constexpr int64_t kUploads = 4;
    const int64_t most = std::numeric_limits<int64_t>::max();
    options.upload_space_bytes =
        options.max_upload_bytes > most / kUploads ? most : kUploads * options.max_upload_bytes;
  }
  if (options.upload_space_per_caller_bytes == 0) {
    // Without tokens all are one caller.
    options.upload_space_per_caller_bytes =
        options.access.tokens.empty()
            ? options.upload_space_bytes
            : std::max(options.upload_space_bytes / 2,
                       std::min(options.max_upload_bytes, options.upload_space_bytes));
  }
  return options;
}

}  // namespace mercer::server
