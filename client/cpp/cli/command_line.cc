#include "client/cpp/cli/command_line.h"

#include <string>

#include "absl/strings/numbers.h"

namespace mercer::client {
namespace {

// CLI11's form of a check: what is wrong, or nothing.
std::string CheckAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  int number = 0;
  const bool is_port = absl::SimpleAtoi(port, &number) && number > 0 && number < 65536;
  return colon > 0 && is_port ? "" : "must be HOST:PORT, is '" + address + "'";
}

}  // namespace

void CommandLine::AddCommonFlags(CLI::App& command) {
  SessionOptions& options = session.options();
  command
      .add_option("--server", options.server,
                  "Address of the server; also MERCER_SERVER in the environment")
      ->type_name("HOST:PORT")
      ->check(CheckAddress)
      ->capture_default_str();
  command.add_flag("--json", options.json, "One JSON object per line (protobuf's JSON mapping)");
  command
      .add_option("--timeout", options.timeout_seconds,
                  "Seconds to wait for an answer; ten times that for a step of a stream")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace mercer::client
