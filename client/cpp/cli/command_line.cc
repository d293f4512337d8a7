#include "client/cpp/cli/command_line.h"

namespace mercer::client {

void CommandLine::AddCommonFlags(CLI::App& command) {
  SessionOptions& options = session.options();
  command
      .add_option("--server", options.server,
                  "Address of the server; also MERCER_SERVER in the environment")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command.add_flag("--json", options.json, "One JSON object per line (protobuf's JSON mapping)");
  command.add_option("--timeout", options.timeout_seconds, "Seconds to wait for an answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace mercer::client
