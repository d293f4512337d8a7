#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/kernel_syntax.h"
#include "client/cpp/learner_options.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct LearnersFlags {
  std::string name;
};

// Lines of at most `width` cells, each after `indent` spaces.
std::string Paragraph(const std::string& text, int width, int indent) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  return absl::StrCat(margin, Wrap(text, width, indent), "\n");
}

std::string FormatOption(const v1::OptionDescription& option, int width) {
  std::string head = absl::StrCat("  --", option.name(), "  ", option.range());
  if (!option.default_path().empty()) {
    absl::StrAppend(&head, "  default the best of ", absl::StrJoin(option.default_path(), ", "),
                    "; of few rows ", option.default_value());
  } else if (!option.default_value().empty()) {
    absl::StrAppend(&head, "  default ", option.default_value());
  }
  if (!option.unit().empty()) {
    absl::StrAppend(&head, "  unit: ", option.unit());
  }
  std::string text = absl::StrCat(head, "\n", Paragraph(option.meaning(), width, 6));
  if (!option.source().empty()) {
    text += Paragraph(absl::StrCat("Default from: ", option.source()), width, 6);
  }
  return text;
}

std::string FormatLearner(const v1::LearnerDescription& learner, int width) {
  std::string text = absl::StrCat(learner.name(), ": ", learner.title(), "\n",
                                  Paragraph(learner.summary(), width, 2));
  absl::StrAppend(&text, "  learns ", learner.classification() ? "classes" : "",
                  learner.classification() && learner.regression() ? " and " : "",
                  learner.regression() ? "numbers (--regression)" : "",
                  learner.several_tasks() ? ", of several tasks too (--task, --with-task)" : "",
                  "\n\nOptions:\n");
  for (const v1::OptionDescription& option : learner.options()) {
    text += FormatOption(option, width);
  }
  if (learner.uses_kernels()) {
    absl::StrAppend(&text, "\n", KernelSyntaxHelp());
    if (!learner.default_kernels().empty()) {
      const std::string without =
          absl::StrCat("Without --kernel: ", learner.default_kernels(), ".");
      text += Paragraph(without, width, 2);
    }
  }
  return text;
}

absl::StatusOr<ExitCode> ShowLearners(Session& session, const LearnersFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(const v1::ListLearnersResponse learners, session.client().ListLearners());
  if (!flags.name.empty()) {
    MERCER_ASSIGN_OR_RETURN(const v1::LearnerDescription learner,
                            FindLearner(learners, flags.name));
    if (session.json()) {
      session.PrintJson(learner);
    } else {
      session.out() << FormatLearner(learner, std::min(session.terminal().width, 100));
    }
    return ExitCode::kOk;
  }
  Table table({"LEARNER", "WHAT", "OPTIONS"});
  for (const v1::LearnerDescription& learner : learners.learners()) {
    if (session.json()) {
      session.PrintJson(learner);
      continue;
    }
    std::string options;
    for (const v1::OptionDescription& option : learner.options()) {
      absl::StrAppend(&options, options.empty() ? "--" : " --", option.name());
    }
    table.AddRow({learner.name(), learner.title(), options});
  }
  if (!session.json()) {
    session.out() << table.ToString(TableWidth(session.terminal())) << "More: mercer learners NAME"
                  << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddLearnersCommand(CommandLine& line) {
  auto flags = std::make_shared<LearnersFlags>();
  CLI::App* command = line.Add(line.app, "learners", "What can be trained, and with which options",
                               flags, &ShowLearners);
  command->add_option("NAME", flags->name, "Documentation of this learner's options");
}

}  // namespace mercer::client
