// Configuration files of the server. With a first byte that is odd the lines are arguments instead.
#include <iostream>
#include <string>

#include "core/base/status/errors.h"
#include "server/app/command_line.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/scratch_folder.h"

namespace mercer::fuzz {
namespace {

// Explanations go to the standard streams: they are not for whoever reads the log of this run.
class Silence {
 public:
  Silence() : out_(std::cout.rdbuf(nullptr)), error_(std::cerr.rdbuf(nullptr)) {}
  ~Silence() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(error_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::streambuf* const out_;
  std::streambuf* const error_;
};

std::vector<std::string> Arguments(Input& input) {
  static const ScratchFolder folder("server_config");
  if (input.Byte() % 2 == 0) {
    return {"mercer-server", "--config", folder.Write("mercer.toml", input.rest())};
  }
  std::vector<std::string> arguments = {"mercer-server"};
  while (!input.empty()) {
    // A file that an argument names would be another input, or be written.
    std::string argument(input.Line());
    if (argument.find("--c") == std::string::npos &&
        argument.find("--token-out") == std::string::npos) {
      arguments.push_back(std::move(argument));
    }
  }
  return arguments;
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const std::vector<std::string> arguments = Arguments(input);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(argument.c_str());
  }
  const Silence silence;
  const server::CommandLine line =
      server::ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
  if (line.exit_code.has_value()) {
    return;
  }
  const absl::StatusOr<server::ServerOptions> options = server::ResolveOptions(line.options);
  if (!options.ok()) {
    RequireRefusal(options.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition},
                   absl::IsFailedPrecondition(options.status()));
    return;
  }
  Require(options->workers >= 1 && options->threads >= 1 && options->memory_budget_bytes > 0 &&
              options->max_upload_bytes > 0 && options->cache_mb >= 0,
          "what is accepted can be worked with");
  Require(server::CheckListenAddress("--listen", options->listen, options->access).ok(),
          "the address was checked");
}

std::vector<std::string> Seeds() {
  using namespace std::string_literals;
  return {
      "\x00"s + "workers = 2\nmemory-budget = \"4GB\"\nlisten=127.0.0.1:0\n# comment\n",
      "\x00"s + "cache-mb=64\nlog-level='debug'\ncheckpoint-interval=0.5\n[section]\na=[1,2]\n",
      "\x01"s + "--threads=4\n--max-upload\n10KiB\n--data-dir\nfolder\n--version",
  };
}

}  // namespace mercer::fuzz
