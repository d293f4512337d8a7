#include "client/cpp/cli/commands.h"

namespace mercer::client {
namespace {

constexpr char kVersion[] = "0.1.0";

struct VersionFlags {};

absl::StatusOr<ExitCode> ShowVersion(Session& session, const VersionFlags&) {
  if (session.json()) {
    session.out() << "{\"version\":\"" << kVersion << "\"}" << std::endl;
  } else {
    session.out() << "mercer " << kVersion << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddVersionCommand(CommandLine& line) {
  line.app.set_version_flag("--version", std::string("mercer ") + kVersion,
                            "Print the version of this program");
  line.Add(line.app, "version", "Print the version of this program",
           std::make_shared<VersionFlags>(), &ShowVersion);
}

}  // namespace mercer::client
