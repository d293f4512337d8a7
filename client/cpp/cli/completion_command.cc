#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/completion.h"

namespace mercer::client {
namespace {

// What asks the program itself for words, so that a shell knows every command that the program has.
constexpr char kAskForWords[] = "words";

constexpr char kBash[] = R"(_mercer_completion() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mercer_completion mercer
)";

constexpr char kZsh[] = R"(_mercer() {
  local -a found
  found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    compadd -a found
  else
    _files
  fi
}
compdef _mercer mercer
)";

constexpr char kFish[] = R"(function __mercer_words
  set -l before (commandline -opc)
  set -e before[1]
  set -l current (commandline -ct)
  mercer completion words -- $before "$current" 2>/dev/null
end
complete -c mercer -a '(__mercer_words)'
)";

constexpr char kHowTo[] =
    "Put one of these into the file that your shell reads when it starts:\n"
    "  bash  source <(mercer completion bash)\n"
    "  zsh   source <(mercer completion zsh)      (behind compinit)\n"
    "  fish  mercer completion fish | source\n";

struct CompletionFlags {
  const CLI::App* app = nullptr;  // outlives the command
  std::string shell;
  std::vector<std::string> words;
};

absl::StatusOr<ExitCode> Complete(Session& session, const CompletionFlags& flags) {
  if (flags.shell == kAskForWords) {
    session.options().timeout_seconds = 1.0;  // somebody waits for the next key
    session.options().max_attempts = 1;
    TakeServerFlags(flags.words, session.options());
    // With certificates or a token that cannot be used no server is asked; the command itself will say what is wrong.
    Session* const server = session.LoadFiles().ok() ? &session : nullptr;
    for (const std::string& word : CompleteWord(*flags.app, server, flags.words)) {
      session.out() << word << "\n";
    }
    session.out() << std::flush;
    return ExitCode::kOk;
  }
  session.out() << (flags.shell == "bash"  ? kBash
                    : flags.shell == "zsh" ? kZsh
                                           : kFish)
                << std::flush;
  return ExitCode::kOk;
}

}  // namespace

void AddCompletionCommand(CommandLine& line) {
  auto flags = std::make_shared<CompletionFlags>();
  flags->app = &line.app;
  CLI::App* command =
      line.Add(line.app, "completion",
               "Print what makes a shell complete commands, flags and names", flags, &Complete);
  command->add_option("SHELL", flags->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", kAskForWords}));
  command->add_option("WORDS", flags->words, "")->group("");
  command->footer(kHowTo);
}

}  // namespace mercer::client
