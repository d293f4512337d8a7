// Flags and configuration file of mercer-server.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "server/app/commands.h"
#include "server/app/server_options.h"

namespace mercer::server {

struct CommandLine {
  ServerOptions options;
  Command command;        // to do instead of serving; empty: none
  bool has_file = false;  // a configuration file was given
  // Set when the program is to end at once: --help, --version, or a mistake (explained on stderr).
  std::optional<int> exit_code;
};

CommandLine ParseCommandLine(int argc, const char* const* argv);

// What the same command line means now that its file may be another one; prints nothing and does no command. Errors:
// kInvalidArgument that names the file, the line where it is known, and the option.
absl::StatusOr<ServerOptions> ReadOptionsAgain(int argc, const char* const* argv);

}  // namespace mercer::server
