#include "client/cpp/cli/completion.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/field_text.h"
#include "client/cpp/learner_options.h"

namespace mercer::client {
namespace {

constexpr int kMostNames = 500;

// Where the words before the one to be completed have led to.
struct Place {
  const CLI::App* command = nullptr;
  std::vector<std::string> positionals = {};  // of the command
  std::string value_of = {};  // the flag whose value comes next, "--kernel"; empty: none
};

Place FindPlace(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{&app};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (!place.value_of.empty()) {
      place.value_of.clear();
      continue;
    }
    if (absl::StartsWith(word, "-") && word != "-") {
      const CLI::Option* option = place.command->get_option_no_throw(word);
      const bool learners = option == nullptr && place.command->get_name() == "train";
      if (!absl::StrContains(word, "=") &&
          (learners || (option != nullptr && option->get_expected_max() > 0))) {
        place.value_of = word;
      }
      continue;
    }
    const auto commands = place.command->get_subcommands(
        [&word](const CLI::App* command) { return command->get_name() == word; });
    if (place.positionals.empty() && !commands.empty()) {
      place.command = commands.front();
    } else {
      place.positionals.push_back(word);
    }
  }
  return place;
}

// "models/spam/versions/1" is "spam".
template <typename Items>
std::vector<std::string> IdsOf(const absl::StatusOr<Items>& items) {
  std::vector<std::string> names;
  if (items.ok()) {
    for (const auto& item : *items) {
      const size_t begin = item.name().find('/') + 1;
      names.push_back(item.name().substr(begin, item.name().find('/', begin) - begin));
    }
  }
  return names;
}

v1::ListLearnersResponse Learners(Session* session) {
  if (session == nullptr) {
    return {};
  }
  return session->client().ListLearners().value_or(v1::ListLearnersResponse());
}

std::vector<std::string> LearnerNames(Session* session) {
  const v1::ListLearnersResponse learners = Learners(session);
  std::vector<std::string> names;
  for (const v1::LearnerDescription& learner : learners.learners()) {
    names.push_back(learner.name());
  }
  return names;
}

std::vector<std::string> LearnerFlags(Session* session, const std::string& name) {
  const absl::StatusOr<v1::LearnerDescription> learner = FindLearner(Learners(session), name);
  std::vector<std::string> flags;
  if (learner.ok()) {
    for (const v1::OptionDescription& option : learner->options()) {
      flags.push_back("--" + option.name());
    }
  }
  return flags;
}

// By what a positional, or the value of a flag, is called in help texts.
std::vector<std::string> Names(Session* session, const std::string& kind) {
  if (kind == "SHELL") {
    return {"bash", "zsh", "fish"};
  }
  if (session == nullptr) {
    return {};
  }
  if (kind == "MODEL") {
    return IdsOf(session->client().ListModels({}, kMostNames));
  }
  if (kind == "DATA") {
    return IdsOf(session->client().ListDatasets(kMostNames));
  }
  if (kind == "JOB") {
    return IdsOf(session->client().ListJobs({}, kMostNames));
  }
  if (kind == "LEARNER") {
    return LearnerNames(session);
  }
  return {};
}

std::vector<std::string> Values(Session* session, const std::string& flag) {
  static const auto& fixed = *new std::map<std::string, std::vector<std::string>>{
      {"--kernel", EnumWords(*v1::KernelType_descriptor())},
      {"--scaling", EnumWords(*v1::Scaling_descriptor())},
      {"--target-scaling", EnumWords(*v1::TargetScaling_descriptor())},
      {"--square-repair", EnumWords(*v1::SquareRepair_descriptor())},
      {"--state", EnumWords(*v1::JobState_descriptor())},
      {"--kind", EnumWords(*v1::JobKind_descriptor())},
      {"--class-weights", {"balanced", "none"}},
      {"--format", {"csv", "svmlight"}},
      {"--sort", {"name", "created", "gap", "quality"}},
      {"--delimiter", {"guess", "tab"}}};
  const auto found = fixed.find(flag);
  if (found != fixed.end()) {
    return found->second;
  }
  static const auto& kinds = *new std::map<std::string, std::string>{
      {"--learner", "LEARNER"}, {"--model", "MODEL"}, {"--with-task", "DATA"}};
  const auto kind = kinds.find(flag);
  return kind == kinds.end() ? std::vector<std::string>() : Names(session, kind->second);
}

std::vector<std::string> Flags(const Place& place, Session* session) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : place.command->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  if (place.command->get_name() == "train" && place.positionals.size() > 1) {
    const std::vector<std::string> more = LearnerFlags(session, place.positionals[1]);
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

std::vector<std::string> CommandsAndNames(const Place& place, Session* session) {
  std::vector<std::string> words;
  if (place.positionals.empty()) {
    for (const CLI::App* command :
         place.command->get_subcommands([](const CLI::App*) { return true; })) {
      words.push_back(command->get_name());
    }
  }
  size_t number = place.positionals.size();
  for (const CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) {
      continue;
    }
    if (number == 0 || option->get_expected_max() > 1) {
      const bool is_learner =
          option->get_single_name() == "NAME" && place.command->get_name() == "learners";
      const std::vector<std::string> names =
          Names(session, is_learner ? "LEARNER" : option->get_single_name());
      words.insert(words.end(), names.begin(), names.end());
      break;
    }
    --number;
  }
  return words;
}

// Whether a shell takes `word` as it is. Words of the program and names that servers give are so;
// anything else, which a faulty server might send, could be expanded or run on the next Enter.
bool IsPlain(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_.@/", c);
  });
}

}  // namespace

void TakeServerFlags(const std::vector<std::string>& words, SessionOptions& options) {
  SecurityFiles& files = options.security;
  const std::map<std::string, std::string*> flags = {
      {"--server", &options.server}, {"--token-file", &files.token_file},
      {"--ca", &files.authorities},  {"--cert", &files.certificate},
      {"--key", &files.key},         {"--server-name", &files.server_name}};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const auto flag = flags.find(words[i].substr(0, equals));
    if (flag != flags.end() && equals != std::string::npos) {
      *flag->second = words[i].substr(equals + 1);
    } else if (flag != flags.end() && i + 2 < words.size()) {
      *flag->second = words[++i];
    }
    files.tls = files.tls || words[i] == "--tls";
  }
}

std::vector<std::string> CompleteWord(const CLI::App& app, Session* session,
                                      const std::vector<std::string>& words) {
  const std::string current = words.empty() ? "" : words.back();
  const Place place = FindPlace(app, words);
  std::vector<std::string> found;
  if (!place.value_of.empty()) {
    found = Values(session, place.value_of);
  } else if (absl::StartsWith(current, "-")) {
    found = Flags(place, session);
  } else {
    found = CommandsAndNames(place, session);
  }
  std::erase_if(found, [&](const std::string& word) {
    return !absl::StartsWith(word, current) || !IsPlain(word);
  });
  return found;
}

}  // namespace mercer::client
