#include "server/app/command_line.h"

#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <CLI/CLI.hpp>

#include "server/app/access/access_flags.h"
#include "server/app/access/token_command.h"

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
        collect_seconds(absl::ToDoubleSeconds(options.collect_interval)),
        job_retention_seconds(absl::ToDoubleSeconds(options.job_retention)) {}

  void Store(ServerOptions& options) const {
    options.cache_bytes = cache_megabytes << 20;
    options.checkpoint_interval = absl::Seconds(checkpoint_seconds);
    options.upload_expiry = absl::Seconds(upload_expiry_seconds);
    options.collect_interval = absl::Seconds(collect_seconds);
    options.job_retention = absl::Seconds(job_retention_seconds);
  }

  int64_t cache_megabytes;
  double checkpoint_seconds;
  double upload_expiry_seconds;
  double collect_seconds;
  double job_retention_seconds;
};

void AddBaseFlags(CLI::App& app, ServerOptions& options) {
  app.add_option("--data-dir", options.data_dir,
                 "folder of data sets, jobs and models; made when missing")
      ->capture_default_str();
  app.add_option(
         "--listen", options.listen,
         "address and port; port 0 takes a free one. Beyond loopback it takes TLS and tokens")
      ->capture_default_str();
  app.add_option("--http", options.http,
                 "the same for HTTP: the dashboard, the API as JSON; 'off': none. Not given: "
                 "127.0.0.1:7380, and "
                 "beside another --listen than the default one a free port");
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
  app.add_option("--job-retention", units.job_retention_seconds,
                 "a finished job is deleted with its events so long after its end, as in 90d, 12h "
                 "or, in seconds, 3600; 0: never. Models stay")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}}))
      ->check(CLI::Range(0.0, 31'536'000'000.0))
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

// One reading of a command line and of its file.
class Reading {
 public:
  explicit Reading(CommandLine& result)
      : units_(result.options),
        app_("mercer-server: trains kernel machines, keeps the models, predicts", "mercer-server") {
    ServerOptions& options = result.options;
    app_.set_version_flag("--version", kCodeVersion);
    app_.set_config("--config", "",
                    "a file with these options, one NAME=VALUE per line; flags go first. SIGHUP "
                    "reads it again");
    app_.config_formatter(std::make_shared<StrictConfig>(app_));
    AddBaseFlags(app_, options);
    AddStorageFlags(app_, options, units_);
    AddJobFlags(app_, options, units_);
    app_.add_option("--log-level", options.log_level, "how much is logged to stderr")
        ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical", "off"}))
        ->capture_default_str();
    app_.add_flag(
        "--reproducible", options.reproducible,
        "keep to the instructions of every x86-64 processor, for the same bits on all; slower");
    AddAccessFlags(app_, options.access);
    AddTokenCommand(app_, &run_command_);
    AddTasks(app_, result);
  }

  // Throws CLI::ParseError.
  void Read(int argc, const char* const* argv, CommandLine& result) {
    app_.parse(argc, argv);
    if (result.repair && result.task != ServerTask::kCheck) {
      throw CLI::RequiresError("--repair", "check");
    }
    result.has_file = !File().empty();
    units_.Store(result.options);
  }

  CLI::App& app() { return app_; }
  const std::function<int(std::ostream&, std::ostream&)>& command() const { return run_command_; }
  std::string File() const { return app_.get_config_ptr()->as<std::string>(); }

 private:
  FlagUnits units_;
  CLI::App app_;
  std::function<int(std::ostream&, std::ostream&)> run_command_;  // empty: none was given
};

// The option that a message is about: its first word that begins with "--", without that; empty: none.
std::string OptionIn(const std::string& message) {
  const size_t begin = message.find("--");
  if (begin == std::string::npos) {
    return "";
  }
  const size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);
  return message.substr(begin + 2, end == std::string::npos ? end : end - begin - 2);
}

// Flags were good at the start, so a mistake is one of the file.
std::string WithPlace(const std::string& file, const std::string& message) {
  if (message.find(file) != std::string::npos) {
    return message;
  }
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string option = OptionIn(message);
  const int line = option.empty() ? 0 : LineOf(text.str(), option);
  return absl::StrCat(file, line > 0 ? absl::StrCat(":", line) : "", ": ", message);
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine result;
  Reading reading(result);
  try {
    reading.Read(argc, argv, result);
    if (reading.command()) {
      result.exit_code = reading.command()(std::cout, std::cerr);
    }
  } catch (const CLI::ParseError& error) {
    result.exit_code = reading.app().exit(error);
  }
  return result;
}

absl::StatusOr<ServerOptions> ReadOptionsAgain(int argc, const char* const* argv) {
  CommandLine result;
  Reading reading(result);
  try {
    reading.Read(argc, argv, result);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(WithPlace(reading.File(), error.what()));
  }
  if (const absl::Status status = ResolveOptions(result.options).status(); !status.ok()) {
    return absl::InvalidArgumentError(WithPlace(reading.File(), std::string(status.message())));
  }
  return std::move(result.options);
}

}  // namespace mercer::server
