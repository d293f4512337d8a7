#include "server/app/reload.h"

#include <cstdint>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

struct Setting {
  const char* flag;
  std::string (*text)(const ServerOptions& options);
  void (*copy)(const ServerOptions& from, ServerOptions& to);
};

template <typename T>
std::string TextOf(const T& value) {
  if constexpr (std::is_same_v<T, absl::Duration>) {
    return absl::FormatDuration(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "on" : "off";
  } else {
    return absl::StrCat(value);
  }
}

// The part of the options whose fields are those of `Owner`.
template <typename Owner, typename Options>
auto& PartOf(Options& options) {
  if constexpr (std::is_same_v<Owner, AccessOptions>) {
    return options.access;
  } else if constexpr (std::is_same_v<Owner, TlsFiles>) {
    return options.access.tls;
  } else {
    return options;
  }
}

template <typename Owner, typename T>
Owner OwnerOf(T Owner::*);

template <auto kField>
Setting MakeSetting(const char* flag) {
  using Owner = decltype(OwnerOf(kField));
  return {flag, [](const ServerOptions& options) { return TextOf(PartOf<Owner>(options).*kField); },
          [](const ServerOptions& from, ServerOptions& to) {
            PartOf<Owner>(to).*kField = PartOf<Owner>(from).*kField;
          }};
}

// Those that take effect while the server runs.
std::vector<Setting> LiveSettings() {
  return {
      MakeSetting<&ServerOptions::log_level>("--log-level"),
      MakeSetting<&AccessOptions::max_calls_per_caller>("--max-calls"),
      MakeSetting<&ServerOptions::max_queued_jobs>("--max-queued-jobs"),
      MakeSetting<&ServerOptions::max_queued_jobs_per_caller>("--max-queued-jobs-per-caller"),
      MakeSetting<&ServerOptions::max_running_jobs_per_caller>("--max-running-jobs-per-caller"),
      MakeSetting<&ServerOptions::max_lost_attempts>("--max-lost-attempts"),
      MakeSetting<&ServerOptions::job_retention>("--job-retention"),
      MakeSetting<&ServerOptions::max_upload_bytes>("--max-upload"),
      MakeSetting<&ServerOptions::upload_space_bytes>("--upload-space"),
      MakeSetting<&ServerOptions::upload_space_per_caller_bytes>("--upload-space-per-caller"),
      MakeSetting<&ServerOptions::upload_expiry>("--upload-expiry"),
      MakeSetting<&ServerOptions::max_stored_bytes>("--max-stored-bytes"),
      MakeSetting<&ServerOptions::min_free_disk_bytes>("--min-free-disk"),
  };
}

// Those that wait for a start.
std::vector<Setting> StartSettings() {
  return {
      MakeSetting<&ServerOptions::data_dir>("--data-dir"),
      MakeSetting<&ServerOptions::listen>("--listen"),
      MakeSetting<&ServerOptions::http>("--http"),
      MakeSetting<&ServerOptions::threads>("--threads"),
      MakeSetting<&ServerOptions::workers>("--workers"),
      MakeSetting<&ServerOptions::memory_budget_bytes>("--memory-budget"),
      MakeSetting<&ServerOptions::cache_bytes>("--cache-mb"),
      MakeSetting<&ServerOptions::collect_interval>("--collect-interval"),
      MakeSetting<&ServerOptions::checkpoint_interval>("--checkpoint-interval"),
      MakeSetting<&ServerOptions::reproducible>("--reproducible"),
      MakeSetting<&AccessOptions::tokens>("--tokens"),
      MakeSetting<&TlsFiles::certificate>("--tls-cert"),
      MakeSetting<&TlsFiles::key>("--tls-key"),
      MakeSetting<&TlsFiles::client_ca>("--tls-client-ca"),
      MakeSetting<&AccessOptions::insecure>("--insecure"),
      MakeSetting<&AccessOptions::reflection>("--reflection"),
      MakeSetting<&AccessOptions::channelz>("--channelz"),
      MakeSetting<&AccessOptions::metrics_open>("--metrics-open"),
  };
}

std::vector<std::string> FlagsOf(const std::vector<Setting>& settings) {
  std::vector<std::string> flags;
  for (const Setting& setting : settings) {
    flags.emplace_back(setting.flag);
  }
  return flags;
}

}  // namespace

absl::StatusOr<ReloadPlan> PlanReload(const ServerOptions& started_with,
                                      const ServerOptions& in_force, const ServerOptions& fresh) {
  MERCER_RETURN_IF_ERROR(ResolveOptions(fresh).status());
  ServerOptions next = in_force;
  for (const Setting& setting : LiveSettings()) {
    setting.copy(fresh, next);
  }
  // A limit of 0 may stand for a share of what was found at the start, which stays.
  MERCER_ASSIGN_OR_RETURN(next, ResolveOptions(std::move(next)));
  ReloadPlan plan;
  for (const Setting& setting : LiveSettings()) {
    const std::string before = setting.text(in_force);
    const std::string after = setting.text(next);
    if (before != after) {
      plan.changes.push_back(absl::StrCat(setting.flag, " ", before, " -> ", after));
    }
  }
  for (const Setting& setting : StartSettings()) {
    if (setting.text(started_with) != setting.text(fresh)) {
      plan.at_restart.emplace_back(setting.flag);
    }
  }
  plan.options = std::move(next);
  return plan;
}

std::vector<std::string> LiveFlags() { return FlagsOf(LiveSettings()); }

std::vector<std::string> StartFlags() { return FlagsOf(StartSettings()); }

}  // namespace mercer::server
