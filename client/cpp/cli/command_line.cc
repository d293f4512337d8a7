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

void AddSecurityFlags(CLI::App& command, SecurityFiles& files) {
  const std::string group = "Access";
  command
      .add_option("--token-file", files.token_file,
                  "File of the token that the server wants; also MERCER_TOKEN, the token itself")
      ->group(group);
  command.add_flag("--tls", files.tls, "Use TLS, with the system's authorities")->group(group);
  command
      .add_option("--ca", files.authorities,
                  "Use TLS; PEM file of the authorities of the server's certificate")
      ->group(group);
  command.add_option("--cert", files.certificate, "Use TLS; PEM file of this client's certificate")
      ->group(group);
  command.add_option("--key", files.key, "PEM file of its private key")->group(group);
  command
      .add_option("--server-name", files.server_name,
                  "Name in the server's certificate, where it is not that of the address")
      ->group(group);
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
      .add_option(
          "--timeout", options.timeout_seconds,
          "Seconds to wait for an answer; ten times that for a step of a stream; evaluate and "
          "verify take as long as they take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddSecurityFlags(command, options.security);
}

}  // namespace mercer::client
