// Flags and configuration file of mercer-server.
#pragma once

#include <optional>
#include <string>

#include "server/app/server_options.h"

namespace mercer::server {

struct CommandLine {
  ServerOptions options;
  // Set when the program is to end at once: --help, --version, a mistake (explained on stderr), or a
  // command, which has been done.
  std::optional<int> exit_code;
};

CommandLine ParseCommandLine(int argc, const char* const* argv);

}  // namespace mercer::server
