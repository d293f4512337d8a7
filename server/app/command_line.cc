#include "server/app/command_line.h"

#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "server/app/access_flags.h"
#include "server/app/token_command.h"

namespace mercer::server {
namespace {

// The line of `text` (from 1) that begins with `name`, 0 without one.
int LineOf(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t[\"'");
    if (begin == std::string::npos || line.compare(begin, name.size(), name) != 0) {
      continue;
    }
    const size_t end = begin + name.size();
    if (end == line.size() ||
        std::string_view(" \t=:]\"'\r").find(line[end]) != std::string_view::npos) {
      return number;
    }
  }
  return 0;
}

// The library's reader of configuration files, except that a name which no option has is refused, with
// its place, and not ignored.
class StrictConfig final : public CLI::ConfigTOML {
 public:
  explicit StrictConfig(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::stringstream text;
    text << input.rdbuf();
    std::vector<CLI::ConfigItem> settings = CLI::ConfigTOML::from_config(text);
    for (const CLI::ConfigItem& item : settings) {
      const bool known =
          item.parents.empty() && app_.get_option_no_throw("--" + item.name) != nullptr;
      if (!known) {
        const std::string& name = item.parents.empty() ? item.name : item.parents[0];
        throw CLI::ConfigError(app_.get_config_ptr()->as<std::string>() + ":" +
                               std::to_string(LineOf(text.str(), name)) + ": there is no option '" +
                               name + "'");
      }
    }
    return settings;
  }

 private:
  const CLI::App& app_;
};

// The options whose flags have units of their own.
struct FlagUnits {
  explicit FlagUnits(const ServerOptions& options)
      : cache_megabytes(options.cache_bytes >> 20),
        checkpoint_seconds(absl::ToDoubleSeconds(options.checkpoint_interval)),
        upload_expiry_seconds(absl::ToDoubleSeconds(options.upload_expiry)),
        collect_seconds(absl::ToDoubleSeconds(options.collect_interval)) {}

  void Store(ServerOptions& options) const {
    options.cache_bytes = cache_megabytes << 20;
    options.checkpoint_interval = absl::Seconds(checkpoint_seconds);
    options.upload_expiry = absl::Seconds(upload_expiry_seconds);
    options.collect_interval = absl::Seconds(collect_seconds);
  }

  int64_t cache_megabytes;
  double checkpoint_seconds;
  double upload_expiry_seconds;
  double collect_seconds;
};

void AddBaseFlags(CLI::App& app, ServerOptions& options) {
  app.add_option("--data-dir", options.data_dir,
                 "folder of data sets, jobs and models; made when missing")
      ->capture_default_str();
  app.add_option(
         "--listen", options.listen,
         "address and port; port 0 takes a free one. Beyond loopback it takes TLS and tokens")
      ->capture_default_str();
  app.add_option("--workers", options.workers,
                 "jobs that run at the same time; 0: half of the processor's threads")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "threads of a job that does not say; 0: the processor's, shared by the workers")
      ->capture_default_str();
  app.add_option("--memory-budget", options.memory_budget_bytes,
                 "bytes for all running jobs together, as in 4GB; 0: half of the memory it may use")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

void AddStorageFlags(CLI::App& app, ServerOptions& options, FlagUnits& units) {
  app.add_option(
         "--max-upload", options.max_upload_bytes,
         "bytes of the largest data set, also in memory; 0: the memory budget, at most 16GB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--upload-space", options.upload_space_bytes,
                 "bytes that all unfinished uploads together may take; 0: four times --max-upload")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option(
         "--upload-space-per-caller", options.upload_space_per_caller_bytes,
         "of them, those of one caller, and as large a part of their number; 0: all without "
         "--tokens, else half, but at least --max-upload")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--upload-expiry", units.upload_expiry_seconds,
                 "seconds after its last byte that an unfinished upload can be resumed")
      ->check(CLI::Range(1.0, 31'536'000.0))
      ->capture_default_str();
  app.add_option("--max-stored-bytes", options.max_stored_bytes,
                 "bytes of all data sets together, equal ones counted once; 0: no limit")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--min-free-disk", options.min_free_disk_bytes,
                 "bytes of the disk that stay free: below them uploads, backups and new jobs are "
                 "refused; 0: "
                 "the smaller of 1GB and 2 % of the disk")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--collect-interval", units.collect_seconds,
                 "seconds between collections of stored files that nothing names")
      ->check(CLI::Range(1.0, 31'536'000.0))
      ->capture_default_str();
}

void AddJobFlags(CLI::App& app, ServerOptions& options, FlagUnits& units) {
  app.add_option("--cache-mb", units.cache_megabytes,
                 "MiB for models kept in memory, and as much for kernels of running jobs")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--checkpoint-interval", units.checkpoint_seconds,
                 "seconds between checkpoints of a running job; 0: after every step")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  app.add_option("--max-lost-attempts", options.max_lost_attempts,
                 "a job fails when the server died so often while it ran, or could not go on so "
                 "often for want of disk or database, without a new checkpoint in between")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--max-queued-jobs", options.max_queued_jobs,
                 "jobs that may wait at the same time; further ones are refused; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-queued-jobs-per-caller", options.max_queued_jobs_per_caller,
                 "of them, those of one caller; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-running-jobs-per-caller", options.max_running_jobs_per_caller,
                 "jobs of one caller that run at the same time; others wait; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

// What the program does instead of serving. Flags of the server are taken behind these words too.
void AddTasks(CLI::App& app, CommandLine& result) {
  app.require_subcommand(0, 1);
  CLI::App* check = app.add_subcommand(
      "check", "inspects the data folder that no server uses, and ends; 1 when something is wrong");
  check->fallthrough();
  check->callback([&result] { result.task = ServerTask::kCheck; });
  app.add_flag_callback(
      "--check", [&result] { result.task = ServerTask::kCheck; }, "the same as the word 'check'");
  app.add_flag("--repair", result.repair,
               "with 'check': removes files that nothing names, marks data sets and models whose "
               "files are lost");
  CLI::App* restore = app.add_subcommand(
      "restore", "makes a data folder of a backup ('mercer admin backup'), and ends");
  restore->fallthrough();
  restore->add_option("--archive", result.archive, "the backup")->required();
  restore->callback([&result] { result.task = ServerTask::kRestore; });
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine result;
  ServerOptions& options = result.options;
  FlagUnits units(options);
  CLI::App app("mercer-server: trains kernel machines, keeps the models, predicts",
               "mercer-server");
  app.set_version_flag("--version", kCodeVersion);
  app.set_config("--config", "",
                 "a file with these options, one NAME=VALUE per line; flags go first");
  app.config_formatter(std::make_shared<StrictConfig>(app));
  AddBaseFlags(app, options);
  AddStorageFlags(app, options, units);
  AddJobFlags(app, options, units);
  app.add_option("--log-level", options.log_level, "how much is logged to stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical", "off"}))
      ->capture_default_str();
  app.add_flag(
      "--reproducible", options.reproducible,
      "keep to the instructions of every x86-64 processor, for the same bits on all; slower");
  AddAccessFlags(app, options.access);
  std::function<int(std::ostream&, std::ostream&)> run_command;
  AddTokenCommand(app, &run_command);
  AddTasks(app, result);
  try {
    app.parse(argc, argv);
    if (result.repair && result.task != ServerTask::kCheck) {
      throw CLI::RequiresError("--repair", "check");
    }
    if (run_command) {
      result.exit_code = run_command(std::cout, std::cerr);
    }
  } catch (const CLI::ParseError& error) {
    result.exit_code = app.exit(error);
  }
  units.Store(options);
  return result;
}

}  // namespace mercer::server
