// The command line under construction: commands with their flags and what they do.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "client/cpp/cli/exit_code.h"
#include "client/cpp/cli/session.h"
#include "client/cpp/learner_options.h"

namespace mercer::client {

// Does the work of a command after its flags are parsed.
using Action = std::function<absl::StatusOr<ExitCode>(Session&)>;

// The command line under construction. `action` is set by the callback of the chosen command.
struct CommandLine {
  CLI::App& app;
  Session& session;
  Action action = {};
  OptionTexts learner_options = {};  // of "train"

  // A command `name` below `parent` with the flags that every command has. It runs `run` with what
  // its flags have stored in `flags`, which lives as long as the command line.
  template <typename Flags>
  CLI::App* Add(CLI::App& parent, const std::string& name, const std::string& description,
                std::shared_ptr<Flags> flags,
                absl::StatusOr<ExitCode> (*run)(Session&, const Flags&)) {
    CLI::App* command = parent.add_subcommand(name, description);
    AddCommonFlags(*command);
    command->callback([this, command, flags, run] {
      if (command->get_subcommands().empty()) {  // else that one has said what is to be done
        action = [flags, run](Session& used) { return run(used, *flags); };
      }
    });
    return command;
  }

  void AddCommonFlags(CLI::App& command);
};

}  // namespace mercer::client
