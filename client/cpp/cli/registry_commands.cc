#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/model_text.h"
#include "client/cpp/cli/model_versions.h"
#include "client/cpp/cli/task_flags.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/cli/time_limit.h"
#include "client/cpp/cli/update_flags.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct RetentionFlags {
  std::string model;
  int keep = 0;
  bool dry_run = false;
  CLI::Option* has_keep = nullptr;
};

struct AssessFlags {
  std::string model;
  std::string dataset;
  TaskFlags tasks;
  std::string time_limit;
};

absl::StatusOr<ExitCode> UpdateModel(Session& session, const UpdateFlags& flags) {
  const std::string name = FullName("models", flags.name);
  if (!IsWholeModel(name)) {
    v1::UpdateModelVersionRequest request;
    MERCER_RETURN_IF_ERROR(ReadUpdateFlags(flags, name, *request.mutable_model_version(),
                                           *request.mutable_update_mask()));
    return PrintUpdated(session, session.client().UpdateModelVersion(request));
  }
  v1::UpdateModelRequest request;
  MERCER_RETURN_IF_ERROR(
      ReadUpdateFlags(flags, name, *request.mutable_model(), *request.mutable_update_mask()));
  return PrintUpdated(session, session.client().UpdateModel(request));
}

absl::StatusOr<ExitCode> Retain(Session& session, const RetentionFlags& flags) {
  const std::string name = FullName("models", flags.model);
  v1::Retention retention;
  if (flags.has_keep->count() == 0) {
    MERCER_ASSIGN_OR_RETURN(const v1::Model model, session.client().GetModel(name));
    retention.set_name(model.name());
    retention.set_keep_newest(model.keep_newest());
  } else {
    v1::SetRetentionRequest request;
    request.set_name(name);
    request.set_keep_newest(flags.keep);
    request.set_validate_only(flags.dry_run);
    MERCER_ASSIGN_OR_RETURN(retention, session.client().SetRetention(request));
  }
  if (session.json()) {
    session.PrintJson(retention);
    return ExitCode::kOk;
  }
  session.out() << retention.name() << "  keeps "
                << (retention.keep_newest() == 0
                        ? std::string("all versions")
                        : absl::StrCat("the newest ", retention.keep_newest(),
                                       " versions and those with an alias"))
                << "\n";
  for (const std::string& version : retention.deleted()) {
    session.out() << (flags.dry_run ? "would be deleted: " : "deleted: ") << version << "\n";
  }
  session.out() << std::flush;
  return ExitCode::kOk;
}

// A long call that Ctrl-C has ended.
template <typename Response>
bool Interrupted(Session& session, const absl::StatusOr<Response>& response,
                 const std::stop_token& interrupt) {
  if (response.ok() || !interrupt.stop_requested()) {
    return false;
  }
  session.PrintNote("interrupted");
  return true;
}

absl::StatusOr<ExitCode> Evaluate(Session& session, const AssessFlags& flags) {
  v1::EvaluateModelRequest request;
  request.set_name(FullName("models", flags.model));
  request.set_dataset(FullName("datasets", flags.dataset));
  request.set_task(flags.tasks.task);
  request.set_task_rule(RuleOf(flags.tasks));
  MERCER_RETURN_IF_ERROR(SetTimeLimit(flags.time_limit, request));
  const std::stop_token interrupt = session.CatchInterrupts();
  const absl::StatusOr<v1::EvaluateModelResponse> response =
      session.client().EvaluateModel(request, interrupt);
  if (Interrupted(session, response, interrupt)) {
    return ExitCode::kInterrupted;
  }
  MERCER_RETURN_IF_ERROR(response.status());
  if (session.json()) {
    session.PrintJson(*response);
    return ExitCode::kOk;
  }
  session.out() << response->model() << "  on " << response->rows() << " rows of "
                << request.dataset();
  if (response->skipped_rows() > 0) {
    session.out() << ", " << response->skipped_rows() << " without target or weight left out";
  }
  if (response->unknown_label_rows() > 0) {
    session.out() << ", " << response->unknown_label_rows() << " with labels unknown to the model";
  }
  if (response->rows_by_mean() > 0) {
    session.out() << ", " << response->rows_by_mean() << " predicted by the mean over all tasks";
  }
  if (!response->weight_column().empty()) {
    session.out() << ", weighted by " << response->weight_column();
  }
  session.out() << "\n" << FormatMetrics(response->metrics());
  if (IsTrainedOn(session, response->model(), request.dataset())) {
    session.out() << "the model was trained on these rows: this is how well it fits them, not how "
                     "well it predicts others, which\n--hold-out and --folds of 'mercer train' "
                     "measure\n";
  }
  session.out() << std::flush;
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Verify(Session& session, const AssessFlags& flags) {
  v1::VerifyModelRequest request;
  request.set_name(FullName("models", flags.model));
  MERCER_RETURN_IF_ERROR(SetTimeLimit(flags.time_limit, request));
  const std::stop_token interrupt = session.CatchInterrupts();
  const absl::StatusOr<v1::VerifyModelResponse> response =
      session.client().VerifyModel(request, interrupt);
  if (Interrupted(session, response, interrupt)) {
    return ExitCode::kInterrupted;
  }
  MERCER_RETURN_IF_ERROR(response.status());
  if (session.json()) {
    session.PrintJson(*response);
  } else {
    session.out() << response->model() << "  "
                  << (response->matches() ? "the certificate is confirmed"
                                          : "THE CERTIFICATE IS NOT THE STORED ONE")
                  << "\nrecomputed:\n"
                  << FormatCertificate(response->certificate());
    if (!response->matches()) {
      session.out() << "stored:\n" << FormatCertificate(response->stored_certificate());
    }
    session.out() << std::flush;
  }
  return response->matches() ? ExitCode::kOk : ExitCode::kFailed;
}

void AddUpdate(CommandLine& line) {
  auto flags = std::make_shared<UpdateFlags>();
  CLI::App* command =
      line.Add(line.app, "update", "Change labels and texts of a model, or of one of its versions",
               flags, &UpdateModel);
  command
      ->add_option("MODEL", flags->name,
                   "NAME for the model itself; NAME/versions/N or NAME@ALIAS for a version")
      ->required();
  AddUpdateFlags(*command, *flags);
  flags->has_display_name->description("Of a whole model: what people call it, at most 200 bytes");
  flags->has_description =
      command->add_option("--description", flags->description, "What it is, at most 4096 bytes");
}

void AddRetention(CommandLine& line) {
  auto flags = std::make_shared<RetentionFlags>();
  CLI::App* command =
      line.Add(line.app, "retention", "How many versions of a model are kept", flags, &Retain);
  command->add_option("MODEL", flags->model, "Name of the model")->required();
  flags->has_keep =
      command
          ->add_option("--keep", flags->keep,
                       "Keep the newest so many and those with an alias, delete the others; 0: all")
          ->check(CLI::Range(0, 1'000'000'000));
  command->add_flag("--dry-run", flags->dry_run, "Only say what would be deleted")
      ->needs(flags->has_keep);
}

}  // namespace

void AddRegistryCommands(CommandLine& line) {
  AddUpdate(line);
  AddRetention(line);
  auto evaluated = std::make_shared<AssessFlags>();
  CLI::App* evaluate = line.Add(line.app, "evaluate", "Metrics of a model on a stored data set",
                                evaluated, &Evaluate);
  evaluate->add_option("MODEL", evaluated->model, "NAME, NAME/versions/N or NAME@ALIAS")
      ->required();
  evaluate->add_option("DATA", evaluated->dataset, "Name of the data set")->required();
  AddTaskFlags(*evaluate, evaluated->tasks);
  evaluate->add_option("--time-limit", evaluated->time_limit, kTimeLimitHelp);
  auto verified = std::make_shared<AssessFlags>();
  CLI::App* verify =
      line.Add(line.app, "verify", "Recompute the certificate of a model from data and witness",
               verified, &Verify);
  verify->add_option("MODEL", verified->model, "NAME, NAME/versions/N or NAME@ALIAS")->required();
  verify->add_option("--time-limit", verified->time_limit, kTimeLimitHelp);
}

}  // namespace mercer::client
