#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct BackupFlags {
  std::string file;
};

absl::StatusOr<ExitCode> WriteBackup(Session& session, const BackupFlags& flags) {
  const std::stop_token interrupt = session.CatchInterrupts();
  const absl::StatusOr<int64_t> bytes = session.client().Backup(flags.file, interrupt);
  if (!bytes.ok() && interrupt.stop_requested()) {
    session.PrintNote("interrupted");
    return ExitCode::kInterrupted;
  }
  MERCER_RETURN_IF_ERROR(bytes.status());
  std::ostream& out = session.BesideFile(flags.file);
  if (session.json()) {
    out << "{\"sizeBytes\":\"" << *bytes << "\"}" << std::endl;
  } else {
    out << "backup written to " << flags.file << "  " << FormatBytes(*bytes) << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddAdminCommands(CommandLine& line) {
  CLI::App* admin = line.app.add_subcommand("admin", "What operators do with a running server");
  admin->require_subcommand(1);
  auto flags = std::make_shared<BackupFlags>();
  line.Add(*admin, "backup", "Write a copy of everything that the server stores, while it works",
           flags, &WriteBackup)
      ->add_option("--output", flags->file,
                   "Archive to write; 'mercer-server restore' makes a data folder of it")
      ->required();
}

}  // namespace mercer::client
