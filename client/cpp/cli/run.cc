#include "client/cpp/cli/run.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"

namespace mercer::client {
namespace {

constexpr char kDescription[] =
    "Trains kernel machines on a Mercer server, watches them learn, shows what they found, "
    "predicts.";

void AddCommands(CommandLine& line) {
  line.app.require_subcommand(1);
  line.app.footer(kExitCodeHelp);
  line.app.get_formatter()->column_width(34);
  line.AddCommonFlags(line.app);
  AddDataCommands(line);
  AddTrainCommand(line);
  AddJobCommands(line);
  AddPredictCommand(line);
  AddModelCommands(line);
  AddLearnersCommand(line);
  AddVersionCommand(line);
}

// 0 for help texts, kUsage for mistakes.
int ExplainParse(const CLI::App& app, const CLI::ParseError& error, std::ostream& out,
                 std::ostream& err) {
  const int code = app.exit(error, out, err);
  return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
}

}  // namespace

int RunCommandLine(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                   const Terminal& terminal) {
  InterruptGuard interrupts;  // first of all: threads that gRPC starts must inherit its mask
  Session session(out, err);
  session.set_interrupts(&interrupts);
  session.set_terminal(terminal);
  if (const char* const server = std::getenv("MERCER_SERVER"); server != nullptr && *server != 0) {
    session.options().server = server;
  }
  CLI::App app(kDescription, "mercer");
  CommandLine line{app, session, {}};
  AddCommands(line);
  TakeLearnerOptions(line, arguments);
  std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 takes a vector in
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return ExplainParse(app, error, out, err);
  }
  const absl::StatusOr<ExitCode> result = line.action(session);
  if (!result.ok()) {
    session.PrintError(result.status());
    return static_cast<int>(ExitCodeOf(result.status()));
  }
  return static_cast<int>(*result);
}

}  // namespace mercer::client
