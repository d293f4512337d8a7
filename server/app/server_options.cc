#include "server/app/server_options.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/usable_resources.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr int64_t kYear = 31'536'000;

// Times of tests may be shorter than those of a flag.
void CheckNumber(const Setting& setting, FieldViolations& violations) {
  if (const auto* time = std::get_if<absl::Duration*>(&setting.value)) {
    const bool may_be_zero = setting.least == 0;
    violations.Check(
        **time > absl::ZeroDuration() || (may_be_zero && **time == absl::ZeroDuration()),
        setting.flag, may_be_zero ? "must be >= 0" : "must be > 0");
  } else if (const auto* large = std::get_if<int64_t*>(&setting.value)) {
    violations.Check(**large >= setting.least, setting.flag, setting.Range());
  } else if (const auto* number = std::get_if<int*>(&setting.value)) {
    violations.Check(**number >= setting.least && **number <= setting.most, setting.flag,
                     setting.Range());
  }
}

}  // namespace

std::vector<Setting> SettingsOf(ServerOptions& options) {
  using enum Setting::When;
  using enum Setting::Unit;
  AccessOptions& access = options.access;
  return {
      {"--data-dir", &options.data_dir, kAtStart, kPlain,
       "folder of data sets, jobs and models; made when missing"},
      {"--listen", &options.listen, kAtStart, kPlain,
       "address and port; port 0 takes a free one. Beyond loopback it takes TLS and tokens"},
      {"--http", &options.http, kAtStart, kPlain,
       "the same for HTTP: the dashboard, the API as JSON; 'off': none. Not given: "
       "127.0.0.1:7380, and beside another --listen than the default one a free port"},
      {"--workers", &options.workers, kAtStart, kPlain,
       "trainings that run at the same time; 0: half of the processors that the server may use", 0,
       64},
      {"--threads", &options.threads, kAtStart, kPlain,
       "threads of a job that does not say; 0: those processors, shared by the workers", 0, 256},
      {"--memory-budget", &options.memory_budget_bytes, kAtStart, kBytes,
       "bytes for all running jobs together, as in 4GB; 0: half of the memory it may use"},
      {"--max-upload", &options.max_upload_bytes, kLive, kBytes,
       "bytes of the largest data set, also in memory; 0: the memory budget, at most 16GB"},
      {"--upload-space", &options.upload_space_bytes, kLive, kBytes,
       "bytes that all unfinished uploads together may take; 0: four times --max-upload"},
      {"--upload-space-per-caller", &options.upload_space_per_caller_bytes, kLive, kBytes,
       "of them, those of one caller, and as large a part of their number; 0: all without "
       "--tokens, else half, but at least --max-upload"},
      {"--upload-expiry", &options.upload_expiry, kLive, kPlain,
       "seconds after its last byte that an unfinished upload can be resumed", 1, kYear},
      {"--max-stored-bytes", &options.max_stored_bytes, kLive, kBytes,
       "bytes of all data sets together, equal ones counted once; 0: no limit"},
      {"--min-free-disk", &options.min_free_disk_bytes, kLive, kBytes,
       "bytes of the disk that stay free: below them uploads, backups and new jobs are refused; "
       "0: the smaller of 1GB and 2 % of the disk"},
      {"--collect-interval", &options.collect_interval, kAtStart, kPlain,
       "seconds between collections of stored files that nothing names", 1, kYear},
      {"--cache-mb", &options.cache_mb, kAtStart, kPlain,
       "MiB for models kept in memory, and as much for kernels of running jobs", 0, 1'000'000},
      {"--checkpoint-interval", &options.checkpoint_interval, kAtStart, kPlain,
       "seconds between checkpoints of a running job; 0: after every step", 0, 86'400},
      {"--max-lost-attempts", &options.max_lost_attempts, kLive, kPlain,
       "a job fails when the server died so often while it ran, or could not go on so often for "
       "want of disk or database, without a new checkpoint in between",
       1, 1'000'000},
      {"--job-retention", &options.job_retention, kLive, kAge,
       "a finished job is deleted with its events so long after its end, as in 90d, 12h or, in "
       "seconds, 3600; 0: never. Models stay",
       0, 1000 * kYear},
      {"--max-queued-jobs", &options.max_queued_jobs, kLive, kPlain,
       "jobs that may wait at the same time; further ones are refused; 0: any number"},
      {"--max-queued-jobs-per-caller", &options.max_queued_jobs_per_caller, kLive, kPlain,
       "of them, those of one caller; 0: any number"},
      {"--max-running-jobs-per-caller", &options.max_running_jobs_per_caller, kLive, kPlain,
       "jobs of one caller that run at the same time; others wait; 0: any number"},
      {"--log-level", &options.log_level, kLive, kPlain, "how much is logged to stderr"},
      {"--reproducible", &options.reproducible, kAtStart, kPlain,
       "keep to the instructions of every x86-64 processor, for the same bits on all; slower"},
      {"--tokens", &access.tokens, kAtStart, kPlain,
       "file of who may call, one line per token; 'mercer-server token' makes the lines"},
      {"--tls-cert", &access.tls.certificate, kAtStart, kPlain,
       "PEM file of the server's certificate, then those between it and the root"},
      {"--tls-key", &access.tls.key, kAtStart, kPlain, "PEM file of its private key"},
      {"--tls-client-ca", &access.tls.client_ca, kAtStart, kPlain,
       "PEM file of the authorities whose certificates clients must show"},
      {"--insecure", &access.insecure, kAtStart, kPlain,
       "listen beyond loopback even without TLS or without tokens"},
      {"--reflection", &access.reflection, kAtStart, kPlain,
       "offer gRPC's reflection where tokens are asked for, to callers without one too"},
      {"--channelz", &access.channelz, kAtStart, kPlain,
       "offer gRPC's channelz, to callers without a token too"},
      {"--metrics-open", &access.metrics_open, kAtStart, kPlain,
       "show /metrics to callers without a token too, where tokens are asked for"},
      {"--max-calls", &access.max_calls_per_caller, kLive, kPlain,
       "calls that one caller may have at a time, streams included; 0: any number"},
  };
}

std::string Setting::Text() const {
  return std::visit(
      [](const auto* field) {
        using T = std::decay_t<decltype(*field)>;
        if constexpr (std::is_same_v<T, absl::Duration>) {
          return absl::FormatDuration(*field);
        } else {
          return absl::StrCat(*field);
        }
      },
      value);
}

std::string Setting::Range() const {
  return most == std::numeric_limits<int64_t>::max()
             ? absl::StrCat("must be >= ", least)
             : absl::StrCat("must be in [", least, ", ", most, "]");
}

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
  for (const Setting& setting : SettingsOf(options)) {
    CheckNumber(setting, violations);
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const int processors = UsableProcessors();
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

absl::StatusOr<ReloadPlan> PlanReload(ServerOptions started_with, ServerOptions in_force,
                                      ServerOptions fresh) {
  MERCER_RETURN_IF_ERROR(ResolveOptions(fresh).status());
  ReloadPlan plan;
  plan.options = in_force;
  const std::vector<Setting> given = SettingsOf(fresh);
  const std::vector<Setting> next = SettingsOf(plan.options);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].when == Setting::kLive) {
      std::visit([&](auto* field) { *field = *std::get<decltype(field)>(given[i].value); },
                 next[i].value);
    }
  }
  // A limit of 0 may stand for a share of what was found at the start, which stays.
  MERCER_ASSIGN_OR_RETURN(plan.options, ResolveOptions(std::move(plan.options)));
  const std::vector<Setting> before = SettingsOf(in_force);
  const std::vector<Setting> at_start = SettingsOf(started_with);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].when == Setting::kAtStart && at_start[i].Text() != given[i].Text()) {
      plan.at_restart.emplace_back(given[i].flag);
    } else if (before[i].Text() != next[i].Text()) {
      plan.changes.push_back(
          absl::StrCat(next[i].flag, " ", before[i].Text(), " -> ", next[i].Text()));
    }
  }
  return plan;
}

}  // namespace mercer::server
