#include "client/cpp/cli/run.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/suggestions.h"
#include "core/base/status/near_names.h"

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
  AddAliasCommands(line);
  AddRegistryCommands(line);
  AddLearnersCommand(line);
  AddAdminCommands(line);
  AddServerCommand(line);
  AddHealthCommand(line);
  AddVersionCommand(line);
  AddCompletionCommand(line);
}

// Names an option that the command `last` does not have.
std::string ExplainUnknownOption(const CLI::App& last, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : last.get_options()) {
    for (const std::string& known : option->get_lnames()) {
      names.push_back("--" + known);
    }
  }
  return absl::StrCat("there is no option ", name, " of '", last.get_display_name(),
                      "'; see --help", DidYouMean(name, names));
}

// Names a word that stands where a command or an option should; empty when something else is wrong.
std::string ExplainUnknownWord(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) {
    last = last->get_subcommands().front();
  }
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (is_extra && !unknown.empty() && absl::StartsWith(unknown.front(), "--")) {
    return ExplainUnknownOption(*last, unknown.front());
  }
  if (last->get_require_subcommand_min() == 0 || unknown.empty() || unknown.front()[0] == '-') {
    return "";
  }
  std::vector<std::string> names;
  for (const CLI::App* command : last->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return absl::StrCat("there is no command '", unknown.front(), "'; there are ",
                      absl::StrJoin(names, ", "), DidYouMean(unknown.front(), names));
}

// 0 for help texts, kUsage for mistakes.
int ExplainParse(const CLI::App& app, const CLI::ParseError& error, bool json, Session& session) {
  if (error.get_exit_code() == 0) {
    return app.exit(error, session.out(), session.err());
  }
  const std::string unknown = ExplainUnknownWord(app, error);
  if (unknown.empty() && !json) {
    app.exit(error, session.out(), session.err());
    return static_cast<int>(ExitCode::kUsage);
  }
  session.options().json = json;
  session.PrintError(absl::InvalidArgumentError(unknown.empty() ? error.what() : unknown));
  return static_cast<int>(ExitCode::kUsage);
}

// What the command did, told to the user and to the shell.
int Report(Session& session, const absl::StatusOr<ExitCode>& result) {
  if (!result.ok()) {
    const std::string hint = Suggest(session, result.status());
    session.PrintError(result.status());
    if (!hint.empty()) {
      session.PrintNote(hint);
    }
    return static_cast<int>(ExitCodeOf(result.status()));
  }
  session.out().flush();
  if (!session.out()) {
    session.PrintError(absl::DataLossError("the output could not be written"));
    return static_cast<int>(ExitCode::kFailed);
  }
  return static_cast<int>(*result);
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
  if (const char* const token = std::getenv("MERCER_TOKEN"); token != nullptr) {
    session.options().security.token = token;
  }
  CLI::App app(kDescription, "mercer");
  CommandLine line{app, session, {}};
  AddCommands(line);
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  TakeLearnerOptions(line, arguments);
  std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 takes a vector in
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return ExplainParse(app, error, json, session);
  }
  if (const absl::Status loaded = session.LoadFiles();
      !loaded.ok() && !app.got_subcommand("version")) {
    return Report(session, loaded);
  }
  return Report(session, line.action(session));
}

}  // namespace mercer::client
