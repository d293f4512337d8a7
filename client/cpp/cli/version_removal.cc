#include <algorithm>
#include <fnmatch.h>
#include <iostream>
#include <string>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include <google/protobuf/util/time_util.h>

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/model_versions.h"
#include "client/cpp/cli/text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct RemovalFlags {
  std::vector<std::string> patterns;
  std::vector<std::string> labels;
  std::string learner;
  std::string older_than;
  bool dry_run = false;
  bool yes = false;
};

// "30d", "2w", "12h", "1h30m"
absl::StatusOr<absl::Duration> ParseAge(const std::string& text) {
  constexpr double kHoursPerDay = 24.0;
  constexpr double kDaysPerWeek = 7.0;
  absl::Duration age;
  double number = 0.0;
  const char unit = text.empty() ? ' ' : text.back();
  if ((unit == 'd' || unit == 'w') && absl::SimpleAtod(text.substr(0, text.size() - 1), &number)) {
    age = absl::Hours(number * kHoursPerDay * (unit == 'w' ? kDaysPerWeek : 1.0));
  } else if (!absl::ParseDuration(text, &age)) {
    age = -absl::InfiniteDuration();
  }
  if (age < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--older-than: must be a time like 30d, 2w or 12h, is '", text, "'"));
  }
  return age;
}

// Whether `name`, "models/spam/versions/1", is of a model that one of the patterns means. No pattern means all.
bool IsMeant(const std::string& name, const std::vector<std::string>& patterns) {
  const std::string model = name.substr(0, name.find("/versions/"));
  for (const std::string& pattern : patterns) {
    const std::string full = FullName("models", pattern);
    if (fnmatch(full.c_str(), model.c_str(), 0) == 0 || full == name) {
      return true;
    }
  }
  return patterns.empty();
}

absl::StatusOr<std::vector<v1::ModelVersion>> Choose(Session& session, const RemovalFlags& flags) {
  v1::ListModelVersionsRequest filter;
  filter.set_learner(flags.learner);
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    (*filter.mutable_labels())[label.first] = label.second;
  }
  absl::Time before = absl::InfiniteFuture();
  if (!flags.older_than.empty()) {
    MERCER_ASSIGN_OR_RETURN(const absl::Duration age, ParseAge(flags.older_than));
    before = absl::Now() - age;
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::ModelVersion> models, ListAllVersions(session, filter));
  std::erase_if(models, [&](const v1::ModelVersion& model) {
    const absl::Time created = absl::FromUnixNanos(
        google::protobuf::util::TimeUtil::TimestampToNanoseconds(model.create_time()));
    return !IsMeant(model.name(), flags.patterns) || created >= before;
  });
  return models;
}

// What an alias points to stays: it is in use under another name.
std::vector<v1::ModelVersion> TakeAliased(std::vector<v1::ModelVersion>& models) {
  const auto kept =
      std::stable_partition(models.begin(), models.end(),
                            [](const v1::ModelVersion& model) { return model.aliases().empty(); });
  std::vector<v1::ModelVersion> aliased(kept, models.end());
  models.erase(kept, models.end());
  return aliased;
}

void PrintChoice(Session& session, const std::vector<v1::ModelVersion>& models,
                 const std::vector<v1::ModelVersion>& aliased) {
  Table table({"MODEL", "LEARNER", "TARGET", "CREATED", "SIZE"});
  for (const v1::ModelVersion& model : models) {
    table.AddRow({model.name(), model.learner(), model.target(), FormatTime(model.create_time()),
                  FormatBytes(model.size_bytes())});
  }
  session.PrintTable(table, "no such versions");
  for (const v1::ModelVersion& model : aliased) {
    session.out() << model.name() << " stays: " << absl::StrJoin(model.aliases(), ", ")
                  << (model.aliases_size() == 1 ? " points" : " point") << " to it\n";
  }
  session.out() << std::flush;
}

// NOT_FOUND if a name without wildcards, of which nothing is among the chosen `models`, is not known
// to the server at all. One that only the other conditions left out is no error.
absl::Status CheckNamesExist(Session& session, const std::vector<std::string>& patterns,
                             const std::vector<v1::ModelVersion>& models) {
  for (const std::string& pattern : patterns) {
    const bool chosen = std::any_of(
        models.begin(), models.end(),
        [&](const v1::ModelVersion& model) { return IsMeant(model.name(), {pattern}); });
    if (!chosen && pattern.find_first_of("*?[\\") == std::string::npos) {
      MERCER_RETURN_IF_ERROR(
          session.client()
              .GetModelVersion(FullName("models", pattern), v1::MODEL_VERSION_VIEW_BASIC)
              .status());
    }
  }
  return absl::OkStatus();
}

std::string CountText(size_t count) {
  return absl::StrCat(count, count == 1 ? " version" : " versions");
}

// Whether the person at the terminal agrees.
absl::StatusOr<bool> Ask(Session& session, size_t count) {
  if (!session.terminal().interactive || session.json() || isatty(STDIN_FILENO) == 0) {
    return absl::InvalidArgumentError(
        "nothing was deleted, for there is nobody to ask: give --yes, or --dry-run to see what "
        "would be");
  }
  session.out() << "Delete " << (count == 1 ? "this " : "these ") << CountText(count) << "? [y/N] "
                << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

absl::StatusOr<ExitCode> Remove(Session& session, const RemovalFlags& flags) {
  if (flags.patterns.empty() && flags.labels.empty() && flags.learner.empty() &&
      flags.older_than.empty()) {
    return absl::InvalidArgumentError(
        "which models? Give names (with * for any letters), --label, --learner or --older-than");
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::ModelVersion> models, Choose(session, flags));
  MERCER_RETURN_IF_ERROR(CheckNamesExist(session, flags.patterns, models));
  const std::vector<v1::ModelVersion> aliased = TakeAliased(models);
  if (!session.json()) {
    PrintChoice(session, models, aliased);
  }
  if (flags.dry_run || models.empty()) {
    if (session.json()) {
      for (const v1::ModelVersion& model : models) {
        session.PrintJson(model);
      }
    } else if (!models.empty()) {
      session.out() << CountText(models.size()) << " would be deleted" << std::endl;
    }
    return ExitCode::kOk;
  }
  if (!flags.yes) {
    MERCER_ASSIGN_OR_RETURN(const bool agreed, Ask(session, models.size()));
    if (!agreed) {
      session.out() << "nothing was deleted" << std::endl;
      return ExitCode::kOk;
    }
  }
  for (const v1::ModelVersion& model : models) {
    MERCER_RETURN_IF_ERROR(session.client().DeleteModelVersion(model.name()));
    session.PrintDeleted(model.name());
  }
  return ExitCode::kOk;
}

}  // namespace

void AddVersionRemoval(CommandLine& line, CLI::App& versions) {
  // An empty value, such as a variable of a script that is not set, must not mean "no condition".
  const CLI::Validator not_empty(
      [](const std::string& text) { return text.empty() ? "must not be empty" : std::string(); },
      "");
  auto flags = std::make_shared<RemovalFlags>();
  CLI::App* command = line.Add(
      versions, "rm", "Delete all versions that match every condition, after a look and a question",
      flags, &Remove);
  command
      ->add_option("MODEL", flags->patterns,
                   "Names of models, where * stands for any letters, or NAME/versions/N")
      ->check(not_empty);
  command->add_option("--label", flags->labels, "Only with this label, NAME=VALUE (repeatable)")
      ->allow_extra_args(false)
      ->check(not_empty);
  command->add_option("--learner", flags->learner, "Only of this learner")->check(not_empty);
  command->add_option("--older-than", flags->older_than, "Only made longer ago: 30d, 2w, 12h")
      ->check(not_empty);
  CLI::Option* dry_run =
      command->add_flag("--dry-run", flags->dry_run, "Only list what would be deleted");
  command->add_flag("--yes", flags->yes, "Do not ask")->excludes(dry_run);
  // What stands before "rm" narrows the list alone; dropped silently, it would delete too much.
  for (const char* of_list : {"MODEL", "--label", "--learner", "--filter", "--order-by", "--search",
                              "--sort", "--limit"}) {
    command->excludes(versions.get_option(of_list));
  }
}

}  // namespace mercer::client
