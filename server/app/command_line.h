// Flags and configuration file of mercer-server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/app/server_options.h"

namespace mercer::server {

enum class ServerTask : uint8_t { kServe, kCheck, kRestore };

struct CommandLine {
  ServerOptions options;
  ServerTask task = ServerTask::kServe;
  bool repair = false;  // kCheck
  std::string archive;  // kRestore
  // Set when the program is to end at once: --help, --version, a mistake (explained on stderr), or a
  // command, which has been done.
  std::optional<int> exit_code;
};

CommandLine ParseCommandLine(int argc, const char* const* argv);

}  // namespace mercer::server
