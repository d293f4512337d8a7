#include "server/app/commands.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/status_macros.h"
#include "server/access/token_table.h"
#include "server/maintenance/folder_check.h"
#include "server/maintenance/restore.h"

namespace mercer::server {
namespace {

struct TokenFlags {
  std::string name;
  std::string scopes;
  std::string groups;
  std::string expires;
  int days = 0;
  std::string token_out;
};

absl::StatusOr<absl::Time> ReadExpiry(const TokenFlags& flags, absl::Time now) {
  if (flags.days > 0) {
    return now + flags.days * absl::Hours(24);
  }
  absl::Time expires = absl::InfiniteFuture();
  std::string why;
  if (!flags.expires.empty() &&
      !absl::ParseTime(absl::RFC3339_full, flags.expires, &expires, &why)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--expires: must look like 2027-01-31T00:00:00Z: ", why));
  }
  if (expires <= now) {
    return absl::InvalidArgumentError("--expires: is in the past");
  }
  return expires;
}

// A new file that only its owner can read.
absl::Status WriteSecret(const std::string& path, const std::string& token) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("--token-out: '", path, "' cannot be made: ", std::strerror(errno)));
  }
  const std::string text = token + "\n";
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = close(file) == 0;
  if (!written || !closed) {
    unlink(path.c_str());
    return absl::DataLossError(absl::StrCat("--token-out: '", path, "' cannot be written"));
  }
  return absl::OkStatus();
}

absl::Status MakeLine(const TokenFlags& flags, std::ostream& out, std::ostream& err) {
  MERCER_ASSIGN_OR_RETURN(const absl::Time expires, ReadExpiry(flags, absl::Now()));
  MERCER_ASSIGN_OR_RETURN(const ScopeSet scopes, ParseScopes(flags.scopes));
  MERCER_ASSIGN_OR_RETURN(const std::string token, MakeToken());
  MERCER_ASSIGN_OR_RETURN(const std::string line,
                          TokenLine(flags.name, scopes, token, expires, flags.groups));
  if (flags.token_out.empty()) {
    err << "The token of " << flags.name << ", shown this once:\n" << token << std::endl;
  } else {
    MERCER_RETURN_IF_ERROR(WriteSecret(flags.token_out, token));
  }
  out << line << std::endl;
  return out ? absl::OkStatus() : absl::DataLossError("the line could not be written");
}

void PrintFinding(const Finding& finding, std::ostream& out) {
  out << (finding.severity == Severity::kError ? "error " : "note  ") << finding.reason << " "
      << finding.subject << ": " << finding.meaning << ". To do: " << finding.action << "\n";
}

int PrintError(const absl::Status& status, std::ostream& err) {
  err << "mercer-server: " << status.message() << std::endl;
  return 1;
}

int RunRestore(const std::string& archive, const std::string& data_dir, std::ostream& out,
               std::ostream& err) {
  const absl::StatusOr<BackupManifest> restored =
      RestoreBackup({.archive = archive, .data_dir = data_dir});
  if (!restored.ok()) {
    return PrintError(restored.status(), err);
  }
  out << data_dir << ": restored as of "
      << absl::FormatTime(absl::RFC3339_sec, restored->time, absl::UTCTimeZone()) << ", "
      << restored->num_blobs << " files, " << restored->blob_bytes << " bytes" << std::endl;
  return 0;
}

void AddTokenCommand(CLI::App& app, Command& command) {
  const auto flags = std::make_shared<TokenFlags>();
  CLI::App* token = app.add_subcommand(
      "token", "Make a token: its line for the file of --tokens on stdout, the token on stderr");
  token->add_option("--name", flags->name, "who holds it; stands in the log")->required();
  token->add_option("--scopes", flags->scopes, "of read, predict, train and admin, with commas")
      ->required();
  token->add_option("--group", flags->groups,
                    "whose members may change what others of it have made; several with commas");
  CLI::Option* expires =
      token->add_option("--expires", flags->expires, "when it ends, as 2027-01-31T00:00:00Z");
  token->add_option("--days", flags->days, "when it ends, from now")
      ->check(CLI::Range(1, 36'500))
      ->excludes(expires);
  token->add_option("--token-out", flags->token_out, "a new file for the token, instead of stderr");
  token->callback([flags, &command] {
    command = [flags](const std::string&, std::ostream& out, std::ostream& err) {
      const absl::Status status = MakeLine(*flags, out, err);
      if (!status.ok()) {
        err << "mercer-server token: " << std::string(status.message()) << std::endl;
      }
      return status.ok() ? 0 : 2;
    };
  });
}

}  // namespace

int RunCheck(const std::string& data_dir, bool repair, std::ostream& out, std::ostream& err) {
  const absl::StatusOr<FolderReport> report =
      CheckFolder({.data_dir = data_dir, .repair = repair},
                  [&out](const Finding& finding) { PrintFinding(finding, out); });
  if (!report.ok()) {
    return PrintError(report.status(), err);
  }
  out << data_dir << ": " << report->num_errors << " errors, " << report->num_notes << " notes; "
      << report->num_blobs << " files sound, " << report->blob_bytes << " bytes\n";
  if (repair) {
    out << "repaired: " << report->num_removed << " files removed, " << report->num_marked
        << " data sets and versions marked as lost, " << report->num_unmarked << " found again\n";
  }
  out << std::flush;
  return report->num_errors == 0 ? 0 : 1;
}

void AddCommands(CLI::App& app, Command& command) {
  app.require_subcommand(0, 1);
  AddTokenCommand(app, command);
  CLI::App* const check = app.add_subcommand(
      "check", "inspects the data folder that no server uses, and ends; 1 when something is wrong");
  check->fallthrough();
  const CLI::Option* const check_flag =
      app.add_flag("--check")->description("the same as the word 'check'");
  const CLI::Option* const repair = app.add_flag("--repair")
                                        ->description(
                                            "with 'check': removes files that nothing names, marks "
                                            "data sets and models whose files "
                                            "are lost");
  app.final_callback([check, check_flag, repair, &command] {
    const auto is_set = [](const CLI::Option& flag) { return !flag.empty() && flag.as<bool>(); };
    if (check->parsed() || is_set(*check_flag)) {
      command = [repairs = is_set(*repair)](const std::string& data_dir, std::ostream& out,
                                            std::ostream& err) {
        return RunCheck(data_dir, repairs, out, err);
      };
    } else if (is_set(*repair)) {
      throw CLI::RequiresError("--repair", "check");
    }
  });
  CLI::App* const restore = app.add_subcommand(
      "restore", "makes a data folder of a backup ('mercer admin backup'), and ends");
  restore->fallthrough();
  const CLI::Option* const archive = restore->add_option("--archive", "the backup")->required();
  restore->callback([archive, &command] {
    command = [path = archive->as<std::string>()](const std::string& data_dir, std::ostream& out,
                                                  std::ostream& err) {
      return RunRestore(path, data_dir, out, err);
    };
  });
}

}  // namespace mercer::server
