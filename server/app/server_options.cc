#include "server/app/server_options.h"

#include <algorithm>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/base/usable_memory.h"

namespace mercer::server {
namespace {

// 127.0.0.0/8, written with four numbers.
bool IsLoopback4(const std::string& host) {
  const std::vector<std::string> parts = absl::StrSplit(host, '.');
  if (parts.size() != 4 || parts[0] != "127") {
    return false;
  }
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    int value = -1;
    return absl::SimpleAtoi(part, &value) && value >= 0 && value <= 255;
  });
}

}  // namespace

absl::Status CheckListenAddress(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(listen.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen: must be ADDRESS:PORT, is '", listen, "'"));
  }
  const std::string host = listen.substr(0, colon);
  if (host == "localhost" || host == "[::1]" || IsLoopback4(host)) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "--listen: '", host,
          "' is not a loopback address. This server has no encryption and no passwords, so "
          "it serves its own machine only: use 127.0.0.1, localhost or [::1], and a tunnel for "
          "other machines")),
      "NOT_LOOPBACK");
}

absl::StatusOr<ServerOptions> ResolveOptions(ServerOptions options) {
  MERCER_RETURN_IF_ERROR(CheckListenAddress(options.listen));
  FieldViolations violations;
  violations.Check(!options.data_dir.empty(), "--data-dir", "is missing");
  violations.Check(options.threads >= 0 && options.threads <= 256, "--threads",
                   "must be in [0, 256]");
  violations.Check(options.workers >= 0 && options.workers <= 64, "--workers",
                   "must be in [0, 64]");
  violations.Check(options.memory_budget_bytes >= 0, "--memory-budget", "must be >= 0");
  violations.Check(options.max_lost_attempts >= 1, "--max-lost-attempts", "must be >= 1");
  violations.Check(options.cache_bytes >= 0, "--cache-mb", "must be >= 0");
  violations.Check(options.max_upload_bytes >= 0, "--max-upload", "must be >= 0");
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
  return options;
}

}  // namespace mercer::server
