#include "server/app/maintenance_commands.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/maintenance/folder_check.h"
#include "server/maintenance/restore.h"

namespace mercer::server {
namespace {

void PrintFinding(const Finding& finding, std::ostream& out) {
  out << (finding.severity == Severity::kError ? "error " : "note  ") << finding.reason << " "
      << finding.subject << ": " << finding.meaning << ". To do: " << finding.action << "\n";
}

int PrintError(const absl::Status& status, std::ostream& err) {
  err << "mercer-server: " << status.message() << std::endl;
  return 1;
}

}  // namespace

int RunCheck(const std::string& data_dir, bool repair, std::ostream& out, std::ostream& err) {
  FolderCheckOptions options;
  options.data_dir = data_dir;
  options.repair = repair;
  const absl::StatusOr<FolderReport> report =
      CheckFolder(options, [&out](const Finding& finding) { PrintFinding(finding, out); });
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

int RunRestore(const std::string& archive, const std::string& data_dir, std::ostream& out,
               std::ostream& err) {
  RestoreOptions options;
  options.archive = archive;
  options.data_dir = data_dir;
  const absl::StatusOr<BackupManifest> restored = RestoreBackup(options);
  if (!restored.ok()) {
    return PrintError(restored.status(), err);
  }
  out << data_dir << ": restored as of "
      << absl::FormatTime(absl::RFC3339_sec, restored->time, absl::UTCTimeZone()) << ", "
      << restored->num_blobs << " files, " << restored->blob_bytes << " bytes" << std::endl;
  return 0;
}

}  // namespace mercer::server
