#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/model_text.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/cli/train_request.h"
#include "client/cpp/kernel_syntax.h"
#include "client/cpp/learner_options.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr char kName[] = "train";
constexpr int kAdviceIndent = 8;  // of the values of a cost

constexpr char kLearnerHelp[] =
    "Options of the learner: --NAME VALUE or --NAME=VALUE, as 'mercer learners LEARNER' lists "
    "them,\n"
    "for example --p 1.2 --C 10.\n\n";

// What the training would cost, on a server that has nothing else to do.
absl::StatusOr<ExitCode> ReportCost(Session& session, v1::TrainRequest request) {
  MERCER_ASSIGN_OR_RETURN(const v1::EstimateCostResponse cost,
                          session.client().EstimateCost(std::move(request)));
  if (session.json()) {
    session.PrintJson(cost);
    return ExitCode::kOk;
  }
  session.out() << "time    about " << FormatElapsed(ToDuration(cost.time())) << "\n"
                << "memory  at most " << FormatBytes(cost.memory_bytes()) << " of "
                << FormatBytes(cost.memory_budget_bytes())
                << (cost.fits()
                        ? ""
                        : ": too much for this server, which would refuse the job;\n        " +
                              Wrap(Printable(cost.advice()), session.terminal().width,
                                   kAdviceIndent))
                << "\n"
                << FormatWarnings(cost.decisions(), session.terminal()) << std::flush;
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Train(Session& session, const TrainFlags& flags,
                               const OptionTexts& learner_options,
                               const std::vector<std::string>& flag_names) {
  MERCER_ASSIGN_OR_RETURN(v1::TrainRequest request, MakeTrainRequest(flags));
  MERCER_ASSIGN_OR_RETURN(const v1::ListLearnersResponse learners, session.client().ListLearners());
  MERCER_ASSIGN_OR_RETURN(const v1::LearnerDescription description,
                          FindLearner(learners, flags.learner));
  MERCER_ASSIGN_OR_RETURN(*request.mutable_learner(),
                          MakeLearner(description, learner_options, flags.kernels, flag_names));
  if (flags.dry_run) {
    return ReportCost(session, std::move(request));
  }
  MERCER_ASSIGN_OR_RETURN(const v1::Job job, session.client().Train(std::move(request)));
  if (session.json()) {
    session.PrintJson(job);
  } else {
    session.out() << job.name() << " queued\n"
                  << FormatWarnings(job.request().decisions(), session.terminal()) << std::flush;
  }
  if (flags.watch) {
    return WatchToTheEnd(session, job.name(), job.request().decisions_size());
  }
  if (!session.json()) {
    session.out() << "Watch it: mercer watch " << job.name() << std::endl;
  }
  return ExitCode::kOk;
}

void AddDataFlags(CLI::App& command, TrainFlags& flags) {
  command.add_option("DATA", flags.data, "Name of the data set")->required();
  command.add_option("LEARNER", flags.learner, "What to train; 'mercer learners' lists them")
      ->required();
  command
      .add_option("--kernel", flags.kernels,
                  "A kernel or a family of kernels (repeatable; see below)")
      ->allow_extra_args(false);
  command.add_option("--target", flags.target,
                     "Column to be predicted; default: the one uploaded as target");
  CLI::Option* regression =
      command.add_flag("--regression", flags.regression, "The target is a number, not a class");
  command
      .add_flag("--classes", flags.classes,
                "The values of the target are classes, even if they are numbers; default: a column "
                "of more than 20 different numbers, or of more than two that are not all whole, is "
                "a number")
      ->excludes(regression);
  command.add_option("--target-scaling", flags.target_scaling,
                     "Regression: standardize (default; C, epsilon and lambda then do not depend "
                     "on the unit of the target), none");
  command.add_flag("--one-vs-one", flags.one_vs_one,
                   "More than two classes: one output per pair, not per class");
  command.add_option("--scaling", flags.scaling, "none, standardize (default), min_max, unit_norm");
  command.add_flag("--impute", flags.impute,
                   "Fill in missing values: mean, or most frequent category");
  command.add_flag("--unseen-zeros", flags.unseen_zeros,
                   "Predict rows with categories that training did not know");
  command.add_option("--square-repair", flags.square_repair,
                     "Precomputed kernels with negative eigenvalues: none (default), check (an "
                     "error says how large), shift, clip, flip");
  command.add_option("--block", flags.blocks, "Use only this feature block (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--class-weights", flags.class_weights, "balanced, none, or CLASS=FACTOR,...");
}

void AddTaskFlags(CLI::App& command, TrainFlags& flags) {
  CLI::Option* task = command.add_option("--task", flags.task,
                                         "Learners of several tasks: the column that says which "
                                         "task a row is of; default: the one uploaded as task");
  CLI::Option* one_task =
      command.add_flag("--one-task", flags.one_task, "All rows are of one task")->excludes(task);
  command
      .add_option("--with-task", flags.further_tasks,
                  "A further data set; it and DATA are tasks, named after them (repeatable)")
      ->allow_extra_args(false)
      ->excludes(task)
      ->excludes(one_task);
}

void AddRunFlags(CLI::App& command, TrainFlags& flags) {
  CLI::Option* hold_out = command.add_option(
      "--hold-out", flags.hold_out,
      "Share of the rows to measure on, in (0, 1); split: those that the column of that role says");
  command
      .add_option("--folds", flags.folds,
                  "Measure by cross-validation with this many folds; split: with those of the "
                  "column of that role")
      ->excludes(hold_out);
  CLI::Option* path = command.add_option(
      "--path", flags.path,
      "Train for each of these values of an option, each from the solution before, and "
      "keep the best by --hold-out or --folds: lambda=0.1,0.03,0.01, or "
      "lambda=0.1:0.001:10, ten values at equal ratios");
  command
      .add_flag("--keep-path", flags.keep_path,
                "Keep the models of all values of --path, each as a version with the label "
                "path.value; the best is the last")
      ->needs(path);
  command.add_option("--stability", flags.stability,
                     "Then train so many times on random halves of the rows, and tell how many of "
                     "these trainings select each kernel");
  command.add_option(
      "--test-ranking", flags.test_ranking,
      "Test the ranking of columns that the learner makes, by --hold-out or --folds: "
      "linear machines on so many of its first columns, 1,2,4; auto: 1, 2, 4 and so "
      "on, and all");
  command.add_option("--seed", flags.seed, "Of everything random")->capture_default_str();
  command.add_option("--gap", flags.gap, "Relative duality gap to reach; default: 0.001");
  command.add_option("--max-iterations", flags.max_iterations, "Steps of the learner at most");
  command.add_option("--time-limit", flags.time_limit, "Seconds, or 90s, 10m, 1h30m");
  command.add_option("--threads", flags.threads, "Of this job; does not change the result");
  command.add_option("--priority", flags.priority, "-100 .. 100; larger ones start first");
  command.add_option("--model", flags.model,
                     "Make a new version of this model; default: named after the job");
  command.add_option("--display-name", flags.display_name, "For people");
  command.add_option("--label", flags.labels, "NAME=VALUE, of job and model (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--request-id", flags.request_id,
                     "The same id and request give the same job again");
  CLI::Option* watch = command.add_flag("--watch", flags.watch,
                                        "Watch it to its end; Ctrl-C detaches, the job goes on");
  command
      .add_flag("--dry-run", flags.dry_run,
                "Queue nothing: check the request and say what time and memory it would take")
      ->excludes(watch);
}

std::set<std::string> FlagNames(const CLI::App& command) {
  std::set<std::string> names = {"help"};
  for (const CLI::Option* option : command.get_options()) {
    names.insert(option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

// The command: the first word that is neither a flag of the program nor the value of one.
std::vector<std::string>::iterator FindCommand(const CLI::App& app,
                                               std::vector<std::string>& arguments) {
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (!absl::StartsWith(*word, "-")) {
      return word;
    }
    const CLI::Option* option = app.get_option_no_throw(*word);
    if (option != nullptr && option->get_expected_max() > 0 && word + 1 != arguments.end()) {
      ++word;
    }
  }
  return arguments.end();
}

}  // namespace

void AddTrainCommand(CommandLine& line) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = line.app.add_subcommand(kName, "Queue a training");
  line.AddCommonFlags(*command);
  AddDataFlags(*command, *flags);
  AddTaskFlags(*command, *flags);
  AddRunFlags(*command, *flags);
  command->footer(absl::StrCat(kLearnerHelp, KernelSyntaxHelp()));
  const std::set<std::string> names = FlagNames(*command);
  command->callback([&line, flags, names = std::vector<std::string>(names.begin(), names.end())] {
    line.action = [flags, names, options = line.learner_options](Session& session) {
      return Train(session, *flags, options, names);
    };
  });
}

void TakeLearnerOptions(CommandLine& line, std::vector<std::string>& arguments) {
  const auto train = FindCommand(line.app, arguments);
  if (train == arguments.end() || *train != kName) {
    return;
  }
  const std::set<std::string> known = FlagNames(*line.app.get_subcommand(kName));
  std::vector<std::string> kept(arguments.begin(), train + 1);
  for (auto word = train + 1; word != arguments.end(); ++word) {
    const size_t equals = word->find('=');
    const std::string name = absl::StartsWith(*word, "--") ? word->substr(2, equals - 2) : "";
    if (name.empty() || known.count(name) > 0) {
      kept.push_back(*word);
      // A value of a known flag may begin with a dash: the parser knows which flags have one.
      continue;
    }
    std::string value = equals == std::string::npos ? "" : word->substr(equals + 1);
    if (equals == std::string::npos && word + 1 != arguments.end() &&
        !absl::StartsWith(*(word + 1), "--")) {
      value = *++word;
    }
    line.learner_options.emplace_back(name, value);
  }
  arguments = std::move(kept);
}

}  // namespace mercer::client
